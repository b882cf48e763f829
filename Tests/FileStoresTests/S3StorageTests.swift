import FileStorage
import FileStores
import Foundation
import JSON
import TestSupport
import Testing

/// Tests with a real store that checks signatures.
@Suite("Files in a bucket", .enabled(if: BucketServer.isInstalled))
struct S3StorageTests {
    private static let part = S3Upload.partSize

    @Test(
        "Stores files of any length unchanged and leaves no upload open",
        arguments: [1, 100_000, part - 1, part, part + 1, 2 * part, 2 * part + 1])
    func lengths(size: Int) async throws {
        let open = try await BucketServer.withStorage { storage in
            try await StorageContract.expectRoundTrips(storage, sizes: [size])
            return try await storage.openUploads()
        }
        #expect(open == 0)
    }

    @Test("Stores a 100 MB file in equal parts, reads it back unchanged and leaves no upload open")
    func large() async throws {
        let contents = Blocks(count: 100)
        try await BucketServer.withStorage { storage in
            try await storage.write(name: "a.bin", details: FileDetails(), contents: contents)
            let file = try #require(try await storage.open(name: "a.bin"))
            var sum = Blocks.Sum()
            try await file.give(0..<file.size) { sum.add($0) }
            #expect(sum.digest == contents.digest)
            // The ETag ends with the number of parts.
            #expect(file.entityTag.hasSuffix("-13\""), "\(file.entityTag)")
            let open = try await storage.openUploads()
            #expect(open == 0)
        }
    }

    @Test("Stores, lists, reads and deletes unusual names, which botocore lists with the same bytes")
    func names() async throws {
        let names = StorageContract.names + ["a+b.txt", "a&b<c>.txt", "a=b?c#d.txt", "~.txt"]
        try await BucketServer.withStorage { storage in
            try await StorageContract.expectNames(storage, names) {
                let prefix = storage.client.bucket.prefix
                let port = try await BucketServer.port
                let keys = try await Botocore.ask(["list", "http://127.0.0.1:\(port)"] + Botocore.keys + [prefix])
                let seen = (keys.arrayValue ?? []).compactMap { $0.stringValue.map { Array($0.utf8) } }
                #expect(Set(seen) == Set(names.map { Array((prefix + $0).utf8) }))
            }
            // The store's response doesn't reveal whether the file existed.
            try await storage.delete(name: "a b.txt")
        }
    }

    @Test(
        "Unusable names find no file and are rejected in uploads, without contacting the store",
        arguments: [
            "../x", "a//b", "/x", "a/./b", "a\0b", String(repeating: "a", count: 2000),
        ])
    func traversal(name: String) async throws {
        let port = try await FreePort.find()
        try await BucketServer.withStorage(endpointPort: port) { storage in
            let file = try await storage.open(name: name)
            #expect(file == nil)
            await #expect(throws: FileStorageError.unusableName) { try await storage.write(name: name, bytes: [1]) }
        }
    }

    @Test("Lists more files than fit on one page")
    func pages() async throws {
        try await BucketServer.withStorage { storage in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<1010 {
                    if index >= 16 { try await group.next() }
                    group.addTask { try await storage.write(name: "\(index).txt", bytes: [1]) }
                }
                try await group.waitForAll()
            }
            let listed = try await storage.names()
            #expect(Set(listed).count == 1010)
        }
    }

    @Test("An interrupted upload leaves no file and no parts, and keeps the previous file")
    func broken() async throws {
        try await BucketServer.withStorage { storage in
            try await StorageContract.expectNothing(ofBrokenUploadOf: 20_000_000, in: storage)
            let open = try await storage.openUploads()
            #expect(open == 0)
        }
    }

    @Test("Aborts unfinished uploads only if they are older than the given time")
    func leftOver() async throws {
        try await BucketServer.withStorage { storage in
            let key = try #require(storage.key(of: "left.bin"))
            _ = try await storage.client.exchange(S3Request("POST", key, query: ["uploads="]))
            try await storage.abortUploads(before: Int(Date().timeIntervalSince1970) - 24 * 3600)
            let before = try await storage.openUploads()
            #expect(before == 1)
            try await storage.abortUploads(before: Int(Date().timeIntervalSince1970) + 60)
            let after = try await storage.openUploads()
            #expect(after == 0)
        }
    }

    private static func unordered(_ object: JSONObject) -> [Name: JSONValue] {
        Dictionary(uniqueKeysWithValues: object.map { ($0, $1) })
    }

    @Test("Preserves metadata of any type and the content type, and rejects metadata that is too large")
    func details() async throws {
        let metadata: JSONObject = [
            "artist": "Größe  2", "Title": "In Capitals", "year": 1999, "nested": ["a": [1, "b"]], "plain": "text",
            "odd": "=?UTF-8?B?eA==?=",
        ]
        try await BucketServer.withStorage { storage in
            let given = FileDetails(metadata: metadata, contentType: "application/x-music")
            try await storage.write(name: "a.unknown", details: given, bytes: [1])
            let details = try await storage.details(name: "a.unknown")
            #expect(details.contentType == given.contentType)
            // The store doesn't preserve the order.
            #expect(Self.unordered(details.metadata) == Self.unordered(metadata))
            let opened = try await storage.open(name: "a.unknown")?.details
            #expect(opened == details)
            let large = FileDetails(metadata: ["text": .string(String(repeating: "x", count: 3000))])
            await #expect(throws: FileStorageError.self) {
                try await storage.write(name: "b", details: large, bytes: [1])
            }
        }
    }

    @Test("Rejects tags that the store doesn't support, and keeps them as metadata if storeTags is false")
    func tags() async throws {
        let log = LogLines()
        let given = FileDetails(tags: ["genre": "jazz"])
        try await BucketServer.withStorage(logger: log.logger) { storage in
            await #expect(throws: FileStorageError.refused) {
                try await storage.write(name: "a.mp3", details: given, bytes: [1])
            }
        }
        #expect(log.all.contains { $0.contains("storeTags") })
        try await BucketServer.withStorage(["storeTags": false]) { storage in
            try await storage.write(name: "a.mp3", details: given, bytes: [1])
            let details = try await storage.details(name: "a.mp3")
            #expect(details.tags == given.tags)
        }
    }

    @Test("Fails a download whose file is replaced meanwhile instead of mixing two versions")
    func replaced() async throws {
        try await BucketServer.withStorage { storage in
            try await storage.write(name: "a.bin", bytes: [UInt8](repeating: 1, count: 2_000_000))
            let file = try #require(try await storage.open(name: "a.bin", for: FileWish(isHeadOnly: true)))
            try await storage.write(name: "a.bin", bytes: [UInt8](repeating: 2, count: 2_000_000))
            let error = await #expect(throws: S3Object.Cut.self) { try await file.give(0..<file.size) { _ in } }
            #expect(error != nil)
        }
    }

    @Test("Logs the cause if the secret, region or bucket is wrong, but never the secret")
    func refusals() async throws {
        for (options, word) in [
            (["s3overrides": ["secretAccessKey": "testinG"]], "SignatureDoesNotMatch"),
            (["region": "eu-west-9"], "us-east-1"),
            (["bucket": "nowhere"], "NoSuchBucket"),
        ] as [(JSONObject, String)] {
            let log = LogLines()
            try await BucketServer.withStorage(options, logger: log.logger) { storage in
                await #expect(throws: FileStorageError.refused) { try await storage.write(name: "a", bytes: [1]) }
                await #expect(throws: FileStorageError.refused) { _ = try await storage.open(name: "a") }
            }
            #expect(log.all.contains { $0.contains(word) }, "\(log.all)")
            #expect(!log.all.contains { $0.contains("testinG") || $0.contains("AWS4-HMAC") })
        }
    }
}
