import FileStorage
import FileStores
import Foundation
import JSON
import Logging
import TestSupport
import Testing

/// Faults that real stores don't have on demand.
@Suite("Store faults")
struct S3FaultTests {
    static let part = S3Upload.partSize

    /// Handles a multipart upload, except for the responses that `fault` returns.
    static func store(
        _ fault: @escaping @Sendable (StoreStandIn.Call, Int) -> StoreStandIn.Answer? = { _, _ in nil }
    ) -> StoreStandIn.Behaviour {
        { call, number in
            if let answer = fault(call, number) { return answer }
            switch call.method {
            case "POST" where call.has("uploads="):
                return .reply(200, body: "<R><UploadId>u/1</UploadId></R>")
            case "POST":
                return .reply(
                    200, body: "<CompleteMultipartUploadResult><ETag>\"x\"</ETag></CompleteMultipartUploadResult>")
            case "PUT": return .reply(200, headers: [("ETag", "\"t\"")])
            case "DELETE": return .reply(204)
            default: return .reply(200, headers: [("ETag", "\"a\"")])
            }
        }
    }

    static func upload(
        _ size: Int, _ fault: @escaping @Sendable (StoreStandIn.Call, Int) -> StoreStandIn.Answer?
    ) async throws -> (error: FileStorageError?, calls: [StoreStandIn.Call]) {
        try await StoreStandIn.run(store(fault)) { store in
            try await BucketServer.withStorage(endpointPort: store.port) { storage in
                do {
                    try await storage.write(name: "a.bin", details: FileDetails(), contents: Chunks(size: size))
                    return (nil, store.calls)
                } catch let error as FileStorageError {
                    return (error, store.calls)
                }
            }
        }
    }

    @Test("Retries a part that fails once")
    func onceMore() async throws {
        let (error, calls) = try await Self.upload(2 * Self.part) { call, number in
            number == 3 ? .close : nil
        }
        #expect(error == nil)
        #expect(calls.filter { $0.has("partNumber") }.count == 3)
        let complete = try #require(calls.last)
        #expect(String(decoding: complete.body, as: UTF8.self).contains("<ETag>&quot;t&quot;</ETag>"))
        #expect(complete.target.contains("uploadId=u%2F1"))
    }

    @Test("Aborts the upload if a part keeps failing")
    func always() async throws {
        let (error, calls) = try await Self.upload(2 * Self.part) { call, _ in
            call.has("partNumber=2") ? .error(500, "InternalError") : nil
        }
        #expect(error == .unavailable(retryAfter: 1))
        #expect(calls.last?.method == "DELETE")
        #expect(!calls.contains { $0.method == "POST" && $0.has("uploadId") })
    }

    @Test("Treats an error in the body of a 200 response as a failure")
    func completeErrs() async throws {
        let (error, calls) = try await Self.upload(Self.part + 1) { call, _ in
            guard call.method == "POST", call.has("uploadId") else { return nil }
            return .reply(200, body: "   \n<Error><Code>InternalError</Code></Error>")
        }
        #expect(error == .unavailable(retryAfter: 1))
        #expect(calls.last?.method == "DELETE")
    }

    @Test("An upload succeeds if its final response is lost but the object exists")
    func completeLost() async throws {
        let (error, calls) = try await Self.upload(Self.part + 1) { call, _ in
            if call.method == "POST", call.has("uploadId") { return .close }
            guard call.method == "HEAD" else { return nil }
            return .reply(200, headers: [("ETag", "\"a\"")], body: String(repeating: "x", count: Self.part + 1))
        }
        #expect(error == nil)
        #expect(!calls.contains { $0.method == "DELETE" })
    }

    @Test("Renews credentials that the store reports as expired, once, and retries the request")
    func expired() async throws {
        let behaviour: StoreStandIn.Behaviour = { call, number in
            guard call.method == "PUT" else {
                let end = ISO8601DateFormatter().string(from: Date() + 3600)
                return .reply(
                    200,
                    body: #"{"AccessKeyId":"k\#(number)","SecretAccessKey":"s","Token":"t","Expiration":"\#(end)"}"#)
            }
            let isOld = call.headers["authorization"]?.contains("Credential=k1/") ?? true
            return isOld ? .error(400, "ExpiredToken") : .reply(200, headers: [("ETag", "\"a\"")])
        }
        try await StoreStandIn.run(behaviour) { store in
            let adapter: JSONValue = [
                "module": "s3",
                "options": [
                    "bucket": "files",
                    "s3overrides": ["endpoint": .string("http://127.0.0.1:\(store.port)"), "forcePathStyle": true],
                ],
            ]
            let configuration = try S3OptionTests.load(
                ["filesAdapter": adapter],
                [
                    "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:\(store.port)/x",
                    "AWS_CONFIG_FILE": "/nowhere", "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
                ])
            let storage = try FileStoreFactory.storage(
                configuration, folder: "", database: "", logger: TestServer.quietLogger)
            for name in ["a", "b"] {
                await #expect(throws: Never.self) { try await storage.write(name: name, bytes: [1]) }
            }
            await storage.shutdown()
            #expect(store.calls.map(\.method) == ["GET", "PUT", "GET", "PUT", "PUT"])
        }
    }

    @Test("Waits as long as Retry-After says before retrying")
    func slowDown() async throws {
        let before = ContinuousClock.now
        let (error, calls) = try await Self.upload(10) { _, number in
            number <= 2 ? .error(503, "SlowDown", headers: [("Retry-After", "1")]) : nil
        }
        #expect(error == nil)
        #expect(calls.count == 3)
        #expect(ContinuousClock.now - before >= .seconds(2))
    }

    @Test("Adjusts to the store's clock after a time-skew error and keeps the offset")
    func clock() async throws {
        let log = LogLines()
        let ahead = "Wed, 01 Jan 2042 12:00:00 GMT"
        let behaviour: StoreStandIn.Behaviour = { call, _ in
            call.headers["x-amz-date"]?.hasPrefix("20420101") == true
                ? .reply(200, headers: [("ETag", "\"a\"")])
                : .error(403, "RequestTimeTooSkewed", headers: [("Date", ahead)])
        }
        try await StoreStandIn.run(behaviour) { store in
            try await BucketServer.withStorage(endpointPort: store.port, logger: log.logger) { storage in
                try await storage.write(name: "a", bytes: [1])
                try await storage.write(name: "b", bytes: [1])
            }
            #expect(store.calls.count == 3)
        }
        #expect(log.all.filter { $0.contains("clock") }.count == 1)
    }

    @Test("Reports a body shorter than its Content-Length as an error")
    func short() async throws {
        let behaviour: StoreStandIn.Behaviour = { _, _ in .cut("12345", length: 10) }
        try await StoreStandIn.run(behaviour) { store in
            try await BucketServer.withStorage(endpointPort: store.port) { storage in
                let file = try #require(try await storage.open(name: "a"))
                #expect(file.size == 10)
                await #expect(throws: S3Object.Cut.self) { try await file.give(0..<10) { _ in } }
            }
        }
    }

    @Test("Doesn't retry an upload that the store denies")
    func refused() async throws {
        let (error, calls) = try await Self.upload(10) { _, _ in .error(403, "AccessDenied") }
        #expect(error == .refused)
        #expect(calls.count == 1)
    }

    /// Opens objects of a store that fails for one of them.
    private static func open(
        _ names: [String], failing bad: String,
        then body: (S3Storage) async throws -> Void
    ) async throws {
        let behaviour: StoreStandIn.Behaviour = { call, number in
            guard call.target.contains(bad) else { return .reply(200, headers: [("ETag", "\"a\"")]) }
            return number % 2 == 0 ? .close : .error(500, "InternalError")
        }
        try await StoreStandIn.run(behaviour) { store in
            try await BucketServer.withStorage(endpointPort: store.port) { storage in
                for name in names { _ = try? await storage.open(name: name) }
                try await body(storage)
            }
        }
    }

    @Test("Repeated errors for one object don't mark the store as unavailable")
    func oneBadObject() async throws {
        let names = Array(repeating: "bad", count: 10)
        try await Self.open(names, failing: "bad") { storage in
            try storage.checkAvailable()
            try await storage.write(name: "good", bytes: [1])
        }
    }

    @Test("Errors for several objects mark the store as unavailable")
    func severalBadObjects() async throws {
        try await Self.open((0..<5).map { "bad\($0)" }, failing: "bad") { storage in
            #expect(throws: FileStorageError.self) { try storage.checkAvailable() }
        }
    }

    @Test(
        "A late failure of an older request neither ends the probe of a store that is down nor prolongs its rejection")
    func lateFailure() async throws {
        let breaker = StoreBreaker(name: "store", logger: Logger(label: "store"))
        for _ in 0..<5 { breaker.failed("down", for: nil, isProbe: try breaker.enter()) }
        #expect(throws: FileStorageError.unavailable(retryAfter: 1)) { _ = try breaker.enter() }
        breaker.failed("down", for: nil, isProbe: false)
        try await Task.sleep(for: .milliseconds(1_050))
        #expect(try breaker.enter(), "The rejection was prolonged.")
        breaker.failed("down", for: nil, isProbe: false)
        #expect(throws: FileStorageError.self, "There is a second probe.") { _ = try breaker.enter() }
        breaker.succeeded()
        #expect(try !breaker.enter())
    }
}
