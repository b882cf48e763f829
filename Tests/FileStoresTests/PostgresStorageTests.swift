import FileStorage
import FileStores
import Foundation
import JSON
import NIOCore
import ServerConfiguration
import Subprocess
import TestSupport
import TestTools
import Testing

@Suite("Files in the database")
struct PostgresStorageTests {
    private static func withStorage<R: Sendable>(
        _ options: JSONObject = ["chunkSize": 65_536], _ body: @escaping @Sendable (PostgresStorage) async throws -> R
    ) async throws -> R {
        try await TestServer.withDatabase { uri in
            let configuration = try S3OptionTests.load([
                "filesAdapter": ["module": "postgres", "options": .object(options)]
            ])
            let storage = try FileStoreFactory.storage(
                configuration.fileStore, configuration, folder: "", database: uri, logger: TestServer.quietLogger)
            try await storage.prepare()
            // Preparing a second time changes nothing.
            try await (storage as? PostgresStorage)?.rows.prepare()
            let result = await Result.awaiting { try await body(try #require(storage as? PostgresStorage)) }
            await storage.shutdown()
            return try result.get()
        }
    }

    @Test("Stores files of any length unchanged and reads ranges across chunk boundaries")
    func lengths() async throws {
        try await Self.withStorage { storage in
            try await StorageContract.expectRoundTrips(storage, sizes: [0, 1, 65_535, 65_536, 65_537, 1_000_000])
        }
    }

    @Test("Stores, lists in byte order, reads and deletes unusual names, and rejects unusable ones")
    func names() async throws {
        try await Self.withStorage { storage in
            try await StorageContract.expectNames(storage) {
                let listed = try await storage.names().map { Array($0.utf8) }
                #expect(listed == listed.sorted { $0.lexicographicallyPrecedes($1) })
            }
            for name in StorageContract.names {
                await #expect(throws: FileStorageError.notFound) { try await storage.delete(name: name) }
            }
            for name in ["", ".hidden", "a\0b", String(repeating: "x", count: 2000)] {
                await #expect(throws: FileStorageError.unusableName) { try await storage.write(name: name, bytes: [1]) }
            }
        }
    }

    @Test("A reader keeps the version that it opened until the sweep removes it")
    func versions() async throws {
        try await Self.withStorage { storage in
            let old = Chunks(size: 300_000)
            try await storage.write(name: "a.bin", details: FileDetails(), contents: old)
            let opened = try #require(try await storage.open(name: "a.bin"))
            try await storage.write(name: "a.bin", bytes: [1, 2, 3])
            let new = try #require(try await storage.open(name: "a.bin"))
            #expect(new.entityTag != opened.entityTag)
            try await storage.delete(name: "a.bin")
            try await storage.rows.sweep(olderThan: 3600)
            var bytes: [UInt8] = []
            try await opened.give(0..<opened.size) { bytes += $0.readableBytesView }
            #expect(bytes == old.bytes)
            try await storage.rows.sweep(olderThan: -1)
            await #expect(throws: PostgresFile.Cut.self) { try await opened.give(0..<opened.size) { _ in } }
        }
    }

    @Test("An interrupted upload leaves nothing and keeps the previous file")
    func broken() async throws {
        try await Self.withStorage { storage in
            try await StorageContract.expectNothing(ofBrokenUploadOf: 300_000, in: storage)
            let total = try await storage.rows.total()
            #expect(total == 1)
        }
    }

    @Test("A swept upload can't replace a file, and a stored file can't be abandoned")
    func swept() async throws {
        try await Self.withStorage { storage in
            try await storage.write(name: "a.bin", bytes: [1])
            let late = try await storage.rows.begin("a.bin", details: "{}", chunk: 65_536)
            try await storage.rows.sweep(olderThan: -1)
            let isThere = try await storage.rows.finish(late, "a.bin", size: 0, tag: "")
            #expect(!isThere)
            let kept = try await storage.read("a.bin")
            #expect(kept == [1])
            let id = try #require(try await storage.rows.find("a.bin")).id
            try await storage.rows.abandon(id)
            let bytes = try await storage.read("a.bin")
            #expect(bytes == [1])
        }
    }

    @Test("Concurrent uploads of one name leave exactly one complete file")
    func concurrent() async throws {
        try await Self.withStorage { storage in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<10 {
                    group.addTask {
                        try await storage.write(name: "a.bin", bytes: [UInt8](repeating: UInt8(index), count: 100_000))
                    }
                }
                try await group.waitForAll()
            }
            let bytes = try #require(try await storage.read("a.bin"))
            #expect(bytes.count == 100_000)
            #expect(Set(bytes).count == 1)
            let listed = try await storage.names()
            #expect(listed.count == 1)
        }
    }

    @Test("Rejects an upload that would exceed maximumTotal")
    func full() async throws {
        try await Self.withStorage(["maximumTotal": "200kb"]) { storage in
            try await storage.write(name: "a.bin", details: FileDetails(), contents: Chunks(size: 150_000))
            await #expect(throws: FileStorageError.self) {
                try await storage.write(name: "b.bin", details: FileDetails(), contents: Chunks(size: 150_000))
            }
            let listed = try await storage.names()
            #expect(listed == ["a.bin"])
        }
    }

    @Test("Concurrent uploads exceed maximumTotal by at most one file, and at least one succeeds")
    func fullAtOnce() async throws {
        try await Self.withStorage(["maximumTotal": "1mb", "chunkSize": 65_536]) { storage in
            let stored = await withTaskGroup(of: Bool.self) { group in
                for index in 0..<8 {
                    group.addTask {
                        let contents = Chunks(size: 400_000)
                        do {
                            try await storage.write(name: "\(index)", details: FileDetails(), contents: contents)
                            return true
                        } catch {
                            return false
                        }
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect((1...3).contains(stored))
            let total = try await storage.rows.total()
            #expect(total == Int64(stored) * 400_000)
        }
    }

    @Test("Prepares existing tables without write access")
    func standing() async throws {
        try await TestServer.withDatabase { uri in
            let configuration = try S3OptionTests.load(["filesAdapter": ["module": "postgres"]])
            for options in ["", "?options=-c%20default_transaction_read_only%3Don"] {
                let storage = try FileStoreFactory.storage(
                    configuration.fileStore, configuration, folder: "", database: uri + options,
                    logger: TestServer.quietLogger)
                try await storage.prepare()
                await storage.shutdown()
            }
        }
    }

    @Test("A server serves, revalidates and deletes files from its database")
    func server() async throws {
        try await TestServer.run(["filesAdapter": "postgres"]) { server in
            let stored = try await server.send(
                "POST", "/files/song.txt", bytes: Array("0123456789".utf8), as: .master,
                headers: ["X-Parse-File-Metadata": #"{"artist":"Größe"}"#])
            let (url, name) = (try stored.string("url"), try stored.string("name"))
            let part = try await server.send("GET", url, as: .nobody, headers: ["Range": "bytes=2-4"])
            #expect(part.status == 206)
            #expect(part.text == "234")
            let tag = try #require(part.headers["etag"])
            #expect(try await server.send("GET", url, as: .nobody, headers: ["If-None-Match": tag]).status == 304)
            let metadata = try await server.send(
                "GET", "/files/\(TestServer.applicationID)/metadata/\(name)", as: .nobody)
            #expect(metadata["metadata"]?["artist"] == "Größe")
            #expect(try await server.send("DELETE", "/files/\(name)", as: .master).status == 200)
            #expect(try await server.send("GET", url, as: .nobody).status == 404)
            let again = try await server.send("DELETE", "/files/\(name)", as: .master)
            #expect(again.code == 153)
        }
    }

    @Test("A database restored from a dump has the files and their metadata")
    func dump() async throws {
        try await TestServer.withDatabase { old in
            try await TestServer.withDatabase { new in
                let configuration = try S3OptionTests.load(["filesAdapter": ["module": "postgres"]])
                func withFiles(_ uri: String, _ body: (any FileStorage) async throws -> Void) async throws {
                    let storage = try FileStoreFactory.storage(
                        configuration.fileStore, configuration, folder: "", database: uri,
                        logger: TestServer.quietLogger)
                    try await storage.prepare()
                    try await body(storage)
                    await storage.shutdown()
                }
                let (contents, details) = (Chunks(size: 1_000_000), FileDetails(metadata: ["artist": "Ann"]))
                try await withFiles(old) { try await $0.write(name: "a.bin", details: details, contents: contents) }
                let outcome = try await Subprocess.run(
                    .path("/bin/sh"),
                    arguments: ["-c", #"pg_dump "$1" | psql -q -v ON_ERROR_STOP=1 "$2""#, "sh", old, new],
                    output: .discarded, error: .string(limit: 8192))
                #expect(outcome.terminationStatus.isSuccess, "\(outcome.standardError)")
                try await withFiles(new) { storage in
                    let bytes = try await storage.read("a.bin")
                    #expect(bytes == contents.bytes)
                    let found = try await storage.details(name: "a.bin").metadata
                    #expect(found == details.metadata)
                }
            }
        }
    }
}
