import FileStorage
import FileStores
import Foundation
import JSON
import NIOCore
import Subprocess
import Synchronization
import TestSupport
import TestTools
import Testing

@Suite("Re-encryption of files")
struct RotationTests {
    private static let (old, new) = (FileCipher(secret: "old"), FileCipher(secret: "new"))

    /// Runs `body` with a folder of files, and a folder for configurations and keys.
    private static func withFolder<R>(_ body: (DiskStorage, String) async throws -> R) async throws -> R {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-rotation-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data("old\n".utf8).write(to: URL(fileURLWithPath: folder + "/old.key"))
        try Data("wrong".utf8).write(to: URL(fileURLWithPath: folder + "/wrong.key"))
        return try await body(DiskStorage(directory: folder + "/files"), folder)
    }

    private static func command(_ arguments: [String], _ options: JSONObject, in folder: String) throws -> [String] {
        let usual: JSONObject = ["appId": "a", "masterKey": "m", "encryptionKey": "new"]
        let all = usual.merging(options) { $1 }
        try Data(all.serialized()).write(to: URL(fileURLWithPath: folder + "/config.json"))
        let roost = try #require(Checkout.program())
        return [roost, "files", "rotate", "--json"] + arguments + [folder + "/config.json"]
    }

    /// The number of files that the new key decrypts.
    private static func countNew(_ storage: DiskStorage, writesSegments: Bool = true) async throws -> Int {
        let files = EncryptedStorage(storage, cipher: new, writesSegments: writesSegments)
        var count = 0
        for name in try await storage.names() where (try? await files.open(name: name)) != nil { count += 1 }
        return count
    }

    @Test("A killed rotation leaves every file readable and resumes when run again")
    func killed() async throws {
        try await Self.withFolder { storage, folder in
            let size = 2_000_000
            let before = EncryptedStorage(storage, cipher: Self.old)
            for index in 0..<60 {
                try await before.write(
                    name: "\(index).bin", details: FileDetails(metadata: ["n": .number(Double(index))]),
                    contents: Chunks(size: size + index))
            }
            let options: JSONObject = ["encryptionFormat": "segments", "filesDirectory": .string(storage.directory)]
            let arguments = ["--jobs", "1", "--old-key-file", folder + "/old.key"]
            let command = try Self.command(arguments, options, in: folder)
            // At the end of the closure, the process is killed.
            try await Program.run(command) {
                let isBegun = try await eventually(within: .seconds(120)) { try await Self.countNew(storage) > 0 }
                #expect(isBegun)
            }
            let done = try await Self.countNew(storage)
            #expect((1..<60).contains(done))
            let both = EncryptedStorage(storage, cipher: Self.new, older: Self.old, writesSegments: true)
            for index in 0..<60 {
                let bytes = try await both.read("\(index).bin")
                #expect(bytes == Chunks(size: size + index).bytes, "\(index)")
            }
            let counted = try await Program.run(try Self.command(arguments + ["--dry-run"], options, in: folder))
            #expect(counted.status == 0 && counted.output.contains(#""copied":\#(60 - done)"#), "\(counted.output)")
            let finished = try await Program.run(command)
            #expect(finished.status == 0, "\(finished.output)")
            #expect(finished.output.contains(#""copied":\#(60 - done)"#), "\(finished.output)")
            let files = EncryptedStorage(storage, cipher: Self.new)
            for index in 0..<60 {
                let (bytes, details) = (
                    try await files.read("\(index).bin"), try await files.details(name: "\(index).bin")
                )
                #expect(bytes == Chunks(size: size + index).bytes, "\(index)")
                #expect(details.metadata["n"] == .number(Double(index)))
            }
            let again = try await Program.run(command)
            #expect(again.output.contains(#""copied":0"#) && again.output.contains(#""skipped":60"#), "\(again.output)")
        }
    }

    @Test("Fails with a wrong or missing key, names the file it can't decrypt and doesn't change it")
    func refused() async throws {
        try await Self.withFolder { storage, folder in
            try await EncryptedStorage(storage, cipher: Self.old).write(name: "a", bytes: [1, 2, 3])
            let stored = try await storage.read("a")
            let options: JSONObject = ["filesDirectory": .string(storage.directory)]
            let wrong = try await Program.run(
                try Self.command(["--old-key-file", folder + "/wrong.key"], options, in: folder))
            #expect(wrong.status == 2 && wrong.output.contains("a: the file can't be decrypted"), "\(wrong.output)")
            let missing = try await Program.run(
                try Self.command(["--old-key-file", folder + "/none.key"], options, in: folder))
            #expect(missing.status == 1, "\(missing.output)")
            let open = try await Program.run(
                try Self.command([], options.merging(["encryptionKey": .null]) { $1 }, in: folder))
            #expect(open.status == 1 && open.output.contains("encryptionKey is not configured"), "\(open.output)")
            let after = try await storage.read("a")
            #expect(after == stored)
        }
    }

    @Test("Serves files and ranges unchanged before and after re-encryption to segments and back")
    func serving() async throws {
        let adapter: JSONObject = ["filesAdapter": ["module": "postgres", "options": [:]], "preserveFileName": true]
        let keys: JSONObject = ["encryptionKey": "new", "previousEncryptionKey": "old"]
        try await Self.withFolder { _, folder in
            try await TestServer.run(adapter.merging(keys) { $1 }) { server in
                var options = adapter.merging(["databaseURI": .string(server.databaseURI)]) { $1 }
                let configuration = try S3OptionTests.load(adapter)
                let storage = try FileStoreFactory.storage(
                    configuration.fileStore, configuration, folder: "", database: server.databaseURI,
                    logger: TestServer.quietLogger)
                try await storage.prepare()
                for index in 0..<5 {
                    let writer = EncryptedStorage(storage, cipher: Self.old, writesSegments: index % 2 == 0)
                    try await writer.write(name: "\(index).txt", bytes: Array("0123456789".utf8))
                }
                await storage.shutdown()
                func expectAllRead() async throws {
                    for index in 0..<5 {
                        let path = "/files/\(TestServer.applicationID)/\(index).txt"
                        let whole = try await server.send("GET", path, as: .nobody)
                        #expect(whole.text == "0123456789", "\(index)")
                        let part = try await server.send("GET", path, as: .nobody, headers: ["Range": "bytes=2-3"])
                        #expect(part.status == 206 && part.text == "23", "\(index)")
                    }
                }
                try await expectAllRead()
                options["encryptionFormat"] = "segments"
                let key = ["--old-key-file", folder + "/old.key"]
                let there = try await Program.run(try Self.command(key, options, in: folder))
                #expect(there.status == 0 && there.output.contains(#""copied":5"#), "\(there.output)")
                try await expectAllRead()
                options["encryptionFormat"] = "whole"
                let back = try await Program.run(try Self.command([], options, in: folder))
                #expect(back.status == 0 && back.output.contains(#""copied":5"#), "\(back.output)")
                try await expectAllRead()
            }
        }
    }

    /// A storage that replaces a file while it is being read.
    private struct Meddling: FileStorage {
        let storage: DiskStorage
        let newer: [UInt8]

        func prepare() async throws {}
        func write<Contents: AsyncSequence>(name: String, details: FileDetails, contents: Contents) async throws
        where Contents.Element == ByteBuffer {
            try await storage.write(name: name, details: details, contents: contents)
        }
        func open(name: String, for wish: FileWish) async throws -> (any StoredFile)? {
            let file = try await storage.open(name: name, for: wish)
            if !wish.isHeadOnly { try await storage.write(name: name, bytes: newer) }
            return file
        }
        func details(name: String) async throws -> FileDetails { try await storage.details(name: name) }
        func delete(name: String) async throws { try await storage.delete(name: name) }
        func visit(
            prefix: String, _ use: nonisolated(nonsending) (ListedFile) async throws -> Void
        ) async throws { try await storage.visit(prefix: prefix, use) }
    }

    @Test("Keeps a file that a client replaces during re-encryption", arguments: [false, true])
    func replaced(writesSegments: Bool) async throws {
        try await Self.withFolder { storage, _ in
            try await EncryptedStorage(storage, cipher: Self.old).write(name: "a", bytes: [1, 2, 3])
            let newer = try Self.new.seal([4, 5])
            let meddling = Meddling(storage: storage, newer: newer)
            let files = EncryptedStorage(
                meddling, cipher: Self.new, older: Self.old, writesSegments: writesSegments)
            await #expect(throws: EncryptedStorage.Replaced.self) {
                _ = try await files.encryptAnew(name: "a", isDryRun: false)
            }
            let left = try await storage.read("a")
            #expect(left == newer)
        }
    }
}
