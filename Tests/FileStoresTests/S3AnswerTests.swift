import FileStorage
import FileStores
import Foundation
import TestSupport
import Testing

/// Responses that don't come from the store, but from a proxy, a log-in page or broken software.
@Suite("Malformed and unexpected responses")
struct S3AnswerTests {
    private static func run(
        _ answer: StoreStandIn.Answer, _ body: (S3Storage) async throws -> Void
    ) async throws {
        let behaviour: StoreStandIn.Behaviour = { _, _ in answer }
        try await StoreStandIn.run(behaviour) { store in
            try await BucketServer.withStorage(endpointPort: store.port, body)
        }
    }

    @Test("Rejects a response without a Content-Length")
    func unmeasured() async throws {
        try await Self.run(.unmeasured("12345")) { storage in
            await #expect(throws: FileStorageError.refused) { _ = try await storage.open(name: "a") }
        }
    }

    @Test("Rejects a partial response without a matching Content-Range")
    func misplaced() async throws {
        for place in ["", "bytes 0-1/9", "bytes 9-1/x"] {
            let headers = place.isEmpty ? [] : [("Content-Range", place)]
            try await Self.run(.reply(206, headers: headers, body: "12345")) { storage in
                await #expect(throws: FileStorageError.refused) {
                    _ = try await storage.open(name: "a", for: FileWish(range: "bytes=2-6"))
                }
            }
        }
    }

    @Test("A 404 without a store's error code doesn't count as a missing file in reads or deletions")
    func proxy() async throws {
        for body in ["", "404 page not found"] {
            try await Self.run(.reply(404, body: body)) { storage in
                await #expect(throws: FileStorageError.refused) { _ = try await storage.open(name: "a") }
                await #expect(throws: FileStorageError.refused) { try await storage.delete(name: "a") }
            }
        }
    }

    @Test(
        "Rejects a listing that is malformed, repeats its token or is truncated without one",
        arguments: [
            "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", "welcome",
            """
            <ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken>\
            </ListBucketResult>
            """,
        ])
    func list(body: String) async throws {
        try await Self.run(.reply(200, body: body)) { storage in
            await #expect(throws: FileStorageError.refused) { try await storage.visit(prefix: "") { _ in } }
        }
    }

    @Test("Treats a listed file with an unreadable date as new")
    func undated() async throws {
        let body = """
            <ListBucketResult><Contents><Key>PREFIXa</Key><Size>1</Size><LastModified>yesterday</LastModified></Contents>\
            </ListBucketResult>
            """
        let behaviour: StoreStandIn.Behaviour = { call, _ in
            let prefix = call.target.split(separator: "prefix=").last.map { String($0) }?.removingPercentEncoding ?? ""
            return .reply(200, body: body.replacing("PREFIX", with: prefix))
        }
        let times = try await StoreStandIn.run(behaviour) { store in
            try await BucketServer.withStorage(endpointPort: store.port) { storage in
                var times: [Int] = []
                try await storage.visit(prefix: "") { times.append($0.modified.seconds) }
                return times
            }
        }
        #expect(times.count == 1)
        #expect(times.allSatisfy { $0 > 1_700_000_000 })
    }

    @Test("Skips listed files of impossible size and rejects an upload list that never advances")
    func hostileLists() async throws {
        let file = "<Contents><Key>PREFIXa</Key><Size>9223372036854775807</Size></Contents>"
        let body =
            "<ListBucketResult>\(file)\(file)<Contents><Key>PREFIXb</Key><Size>1</Size></Contents></ListBucketResult>"
        let uploads = """
            <ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>a</NextKeyMarker>\
            </ListMultipartUploadsResult>
            """
        let behaviour: StoreStandIn.Behaviour = { call, _ in
            let prefix = call.target.split(separator: "prefix=").last.map { String($0) }?.removingPercentEncoding ?? ""
            return .reply(200, body: call.target.contains("uploads") ? uploads : body.replacing("PREFIX", with: prefix))
        }
        try await StoreStandIn.run(behaviour) { store in
            try await BucketServer.withStorage(endpointPort: store.port) { storage in
                var sizes: [Int64] = []
                try await storage.visit(prefix: "") { sizes.append($0.size) }
                #expect(sizes == [1])
                await #expect(throws: FileStorageError.self) { try await storage.abortUploads(before: .max) }
            }
        }
    }

    @Test("Returns the file if the store answers 304 to an If-None-Match that doesn't match")
    func known() async throws {
        let behaviour: StoreStandIn.Behaviour = { call, _ in
            call.headers["if-none-match"] == nil
                ? .reply(200, headers: [("ETag", "\"a\"")], body: "12345") : .reply(304, headers: [("ETag", "\"a\"")])
        }
        try await StoreStandIn.run(behaviour) { store in
            try await BucketServer.withStorage(endpointPort: store.port) { storage in
                let cases: [(String, Int64)] = [("\"a\"", 0), ("W/\"a\", \"b\"", 0), ("*", 0), ("a", 5)]
                for (versions, size) in cases {
                    let file = try await storage.open(name: "a", for: FileWish(knownVersions: versions))
                    #expect(file?.size == size, "\(versions)")
                }
            }
        }
    }

    @Test("150 open downloads block neither another download nor an upload")
    func slowReaders() async throws {
        let body = String(repeating: "x", count: 300_000)
        let behaviour: StoreStandIn.Behaviour = { call, _ in
            .reply(200, headers: [("ETag", "\"a\"")], body: call.method == "GET" ? body : "")
        }
        try await StoreStandIn.run(behaviour) { store in
            try await BucketServer.withStorage(endpointPort: store.port) { storage in
                var open: [any StoredFile] = []
                for index in 0..<150 {
                    let file = try await storage.open(name: "\(index)")
                    open.append(try #require(file))
                }
                try await storage.write(name: "a", bytes: [1])
                let read = try await storage.read("b")
                #expect(read?.count == 300_000)
                #expect(open.count == 150)
            }
        }
    }

    @Test("Refuses to decrypt a file too long for memory")
    func endless() async throws {
        try await Self.run(.cut("12345", length: .max)) { storage in
            let encrypted = EncryptedStorage(storage, cipher: FileCipher(secret: "secret"))
            await #expect(throws: FileStorageError.notReadable) { _ = try await encrypted.open(name: "a") }
        }
    }

    @Test("Fails uploads whose 200 response lacks an ETag or a completion result")
    func successes() async throws {
        let (short, _) = try await S3FaultTests.upload(10) { _, _ in .reply(200, body: "<html>log in</html>") }
        #expect(short == .refused)
        let (long, calls) = try await S3FaultTests.upload(S3FaultTests.part + 1) { call, _ in
            call.method == "POST" && call.has("uploadId") ? .reply(200, body: "<html>log in</html>") : nil
        }
        #expect(long == .refused)
        #expect(calls.last?.method == "DELETE")
    }

    @Test(
        "An older object or one of another length doesn't confirm an upload whose final response is lost",
        arguments: [(0, "Mon, 01 Jan 2024 12:00:00 GMT"), (1, "Wed, 01 Jan 2025 12:00:01 GMT")])
    func older(more: Int, modified: String) async throws {
        let size = S3FaultTests.part + 1
        let (error, calls) = try await S3FaultTests.upload(size) { call, _ in
            switch call.method {
            case "POST" where call.has("uploads="):
                .reply(
                    200, headers: [("Date", "Wed, 01 Jan 2025 12:00:00 GMT")], body: "<R><UploadId>u</UploadId></R>")
            case "POST": .close
            case "HEAD":
                .reply(
                    200, headers: [("ETag", "\"a\""), ("Last-Modified", modified)],
                    body: String(repeating: "x", count: size + more))
            default: nil
            }
        }
        #expect(error == .unavailable(retryAfter: 1))
        #expect(calls.last?.method == "DELETE")
    }

    @Test("Retries despite an invalid Retry-After", arguments: ["inf", "nan", "-1", "1e300"])
    func times(text: String) async throws {
        let (error, _) = try await S3FaultTests.upload(10) { _, number in
            number <= 2 ? .error(503, "SlowDown", headers: [("Retry-After", text)]) : nil
        }
        #expect(error == nil)
    }

    @Test("Parses a store's dates and rejects numbers out of range")
    func dates() {
        #expect(StoreDate.seconds(ofHTTPDate: "Mon, 01 Jan 9223372036854775807 00:00:00 GMT") == nil)
        #expect(StoreDate.seconds(ofHTTPDate: "Mon, 9223372036854775807 Jan 2024 00:00:00 GMT") == nil)
        #expect(StoreDate.seconds(ofISODate: "9223372036854775807-01-01T00:00:00.000Z") == nil)
        #expect(StoreDate.seconds(ofISODate: "2024-01-31T12:00:00.000Z") == 1_706_702_400)
    }

    @Test("Truncates long errors for the log and parses tags with line breaks or without an end")
    func texts() {
        let long = String(repeating: "a\u{301}", count: 10_000)
        let failure = S3Failure(
            status: 403, body: Array("<Error\n><Code>\(long)</Code><Message>\(long)</Message>".utf8))
        #expect(failure.description.utf8.count < 500)
        #expect(!XMLText(Array("<Error\n><Code>a</Code></Error>".utf8)).elements("Error").isEmpty)
        let open = String(repeating: "<Contents ", count: 20_000)
        #expect(XMLText(Array(open.utf8)).elements("Contents").isEmpty)
    }
}
