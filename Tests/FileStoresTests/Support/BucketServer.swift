import FileStorage
import FileStores
import Foundation
import JSON
import Logging
import NIOCore
import ServerConfiguration
import Subprocess
import TestSupport
import TestTools

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// OpenStack Swift, a third-party S3-compatible store that checks signatures. All tests share one server.
enum BucketServer {
    static let isInstalled = FileManager.default.fileExists(atPath: "/usr/bin/swift-proxy-server")

    private static let started = Task {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-bucket-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let running = Task {
            try await Subprocess.run(
                .path("/usr/bin/python3"),
                arguments: [Checkout.path("Tests/FileStoresTests/Support/bucket_server.py"), folder],
                output: .discarded, error: .string(limit: 8192)
            ).standardError
        }
        let isUp = try await eventually(within: .seconds(120)) {
            FileManager.default.fileExists(atPath: folder + "/port")
        }
        guard isUp else {
            running.cancel()
            throw Unavailable(reason: try await running.value)
        }
        return Int(try String(contentsOfFile: folder + "/port", encoding: .utf8)) ?? 0
    }

    struct Unavailable: Error { let reason: String }

    static var port: Int { get async throws { try await started.value } }

    /// The adapter options for a bucket prefix that only this test uses.
    static func options(_ others: JSONObject? = nil, endpointPort: Int? = nil) async throws -> JSONObject {
        let port = if let endpointPort { endpointPort } else { try await port }
        var overrides: JSONObject = [
            "endpoint": .string("http://127.0.0.1:\(port)"), "s3ForcePathStyle": true, "accessKeyId": "test:tester",
            "secretAccessKey": "testing",
        ]
        var options: JSONObject = [
            "bucket": "files", "bucketPrefix": .string("\(UUID().uuidString)/"),
        ]
        for (name, value) in others ?? [:] {
            if name == "s3overrides", let object = value.objectValue {
                overrides.merge(object) { $1 }
            } else {
                options[name] = value
            }
        }
        options["s3overrides"] = .object(overrides)
        return options
    }

    static func adapter(_ others: JSONObject? = nil, endpointPort: Int? = nil) async throws -> JSONObject {
        let options = try await options(others, endpointPort: endpointPort)
        return ["filesAdapter": ["module": "@parse/s3-files-adapter", "options": .object(options)]]
    }

    @discardableResult
    static func withStorage<R>(
        _ others: JSONObject? = nil, endpointPort: Int? = nil, logger: Logger = TestServer.quietLogger,
        _ body: (S3Storage) async throws -> R
    ) async throws -> R {
        let storage = try storage(try await adapter(others, endpointPort: endpointPort), logger: logger)
        let result = await Result.awaiting { try await body(storage) }
        await storage.shutdown()
        return try result.get()
    }

    private static func storage(_ options: JSONObject, logger: Logger) throws -> S3Storage {
        let configuration = try S3OptionTests.load(options)
        let storage = try FileStoreFactory.storage(
            configuration.fileStore, configuration, folder: "", database: "", logger: logger)
        guard let storage = storage as? S3Storage else { throw Unavailable(reason: "another storage") }
        return storage
    }
}

extension S3Storage {
    /// The number of unfinished multipart uploads.
    func openUploads() async throws -> Int {
        let prefix = client.bucket.prefix.replacing("/", with: "%2F")
        let (_, body) = try await client.exchange(S3Request("GET", nil, query: ["uploads=", "prefix=\(prefix)"]))
        return XMLText(body).elements("Upload").count
    }
}

extension FileStorage {
    func read(_ name: String, _ range: Range<Int64>? = nil) async throws -> [UInt8]? {
        guard let file = try await open(name: name) else { return nil }
        var bytes: [UInt8] = []
        try await file.give(range ?? 0..<file.size) { bytes += $0.readableBytesView }
        return bytes
    }

    func names(prefix: String = "") async throws -> [String] {
        var names: [String] = []
        try await visit(prefix: prefix) { names.append($0.name) }
        return names
    }
}

/// Bytes in chunks, optionally followed by an error.
struct Chunks: AsyncSequence, Sendable {
    struct Broken: Error {}

    let size: Int
    var chunk = 100_000
    var breaks = false

    static func byte(_ index: Int) -> UInt8 { UInt8(truncatingIfNeeded: index &* 31 &+ index >> 16) }

    var bytes: [UInt8] { (0..<size).map(Self.byte) }

    struct AsyncIterator: AsyncIteratorProtocol {
        let chunks: Chunks
        var offset = 0

        mutating func next() async throws -> ByteBuffer? {
            guard offset < chunks.size else {
                if chunks.breaks { throw Broken() }
                return nil
            }
            let end = Swift.min(offset + chunks.chunk, chunks.size)
            defer { offset = end }
            return ByteBuffer(bytes: (offset..<end).map(Chunks.byte))
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks: self) }
}
