import FileStorage
import FileStores
import Foundation
import JSON
import NIOCore
import ServerConfiguration
import Synchronization
import TestSupport
import Testing

@Suite("Moving files")
struct MovingTests {
    private static func folder() -> DiskStorage {
        DiskStorage(directory: FileManager.default.temporaryDirectory.path + "/roost-moving-\(UUID().uuidString)")
    }

    private static func fill(_ storage: DiskStorage, count: Int) async throws {
        for index in 0..<count {
            try await storage.write(
                name: "dir/\(index) ä.bin", details: FileDetails(metadata: ["number": .number(Double(index))]),
                contents: Chunks(size: index * 1000))
        }
    }

    /// Changes a file's date to a day ago.
    private static func age(_ name: String, in storage: DiskStorage) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: Date().addingTimeInterval(-86_400)], ofItemAtPath: "\(storage.directory)/\(name)")
    }

    private static func copy(
        _ source: any FileStorage, _ target: any FileStorage, isDryRun: Bool = false, verifies: Bool = false
    ) async throws -> FileCopy.Report {
        try await FileCopy(from: source, to: target, jobs: 4, isDryRun: isDryRun, verifies: verifies) { _ in }.run()
    }

    private static func expectSame(_ first: any FileStorage, _ second: any FileStorage) async throws {
        let (names, others) = (try await first.names().sorted(), try await second.names().sorted())
        #expect(names == others)
        for name in names {
            let (bytes, copied) = (try await first.read(name), try await second.read(name))
            #expect(bytes == copied, "\(name)")
            let (details, kept) = (try await first.details(name: name), try await second.details(name: name))
            #expect(details == kept, "\(name)")
        }
    }

    /// A store that fails after some files, to simulate a killed process.
    private struct Stopping: FileStorage {
        struct Stopped: Error {}

        let storage: DiskStorage
        let after: Int

        func prepare() async throws {}
        func write<Contents: AsyncSequence>(name: String, details: FileDetails, contents: Contents) async throws
        where Contents.Element == ByteBuffer {}
        func open(name: String, for wish: FileWish) async throws -> (any StoredFile)? {
            try await storage.open(name: name, for: wish)
        }
        func details(name: String) async throws -> FileDetails { try await storage.details(name: name) }
        func delete(name: String) async throws {}
        func visit(
            prefix: String, _ use: nonisolated(nonsending) (ListedFile) async throws -> Void
        ) async throws {
            var count = 0
            try await storage.visit(prefix: prefix) { file in
                guard count < after else { throw Stopped() }
                count += 1
                try await use(file)
            }
        }
    }

    @Test(
        "Copies files and metadata into a bucket and back, and resumes an interrupted copy",
        .enabled(if: BucketServer.isInstalled))
    func bucket() async throws {
        let (source, back) = (Self.folder(), Self.folder())
        try await Self.fill(source, count: 40)
        // On a busy machine, the bucket server may close several connections in a row.
        try await BucketServer.withStorage(["s3overrides": ["maxAttempts": 10]]) { bucket in
            let counted = try await Self.copy(source, bucket, isDryRun: true)
            #expect(counted.failed.isEmpty && counted.copied == 40, "\(counted)")
            let none = try await bucket.names()
            #expect(none.isEmpty)
            await #expect(throws: Stopping.Stopped.self) {
                _ = try await Self.copy(Stopping(storage: source, after: 15), bucket)
            }
            let rest = try await Self.copy(source, bucket, verifies: true)
            #expect(rest.failed.isEmpty)
            #expect(rest.skipped > 0)
            #expect(rest.copied + rest.skipped == 40)
            try await Self.expectSame(source, bucket)
            let again = try await Self.copy(source, bucket)
            #expect(again.copied == 0)
            let returned = try await Self.copy(bucket, back)
            #expect(returned.copied == 40)
            try await Self.expectSame(source, back)
        }
    }

    @Test("Replaces a copy of the same size and date but different bytes only when verifying")
    func verified() async throws {
        let (source, target) = (Self.folder(), Self.folder())
        try await source.write(name: "a", bytes: [1, 2, 3])
        try await target.write(name: "a", bytes: [1, 2, 4])
        let time = Date().addingTimeInterval(-86_400)
        for folder in [source.directory, target.directory] {
            try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: folder + "/a")
        }
        let plain = try await Self.copy(source, target)
        #expect(plain.skipped == 1)
        let verified = try await Self.copy(source, target, verifies: true)
        #expect(verified.copied == 1)
        let bytes = try await target.read("a")
        #expect(bytes == [1, 2, 3])
    }

    @Test("Never overwrites a file that is newer in the target, whatever its size")
    func later() async throws {
        let (source, target) = (Self.folder(), Self.folder())
        for name in ["a", "b"] {
            try await source.write(name: name, bytes: [1, 2, 3])
            try Self.age(name, in: source)
        }
        try await target.write(name: "a", bytes: [4])
        try await target.write(name: "b", bytes: [4, 5, 6])
        let plain = try await Self.copy(source, target)
        #expect(plain.skipped == 2)
        let verified = try await Self.copy(source, target, verifies: true)
        #expect(verified.copied == 0)
        #expect(verified.failed.count == 2)
        for (name, bytes) in [("a", [4]), ("b", [4, 5, 6])] as [(String, [UInt8])] {
            let kept = try await target.read(name)
            #expect(kept == bytes)
        }
    }

    @Test("Copies a file again if the source was replaced later, even by one of the same size")
    func replaced() async throws {
        let (source, target) = (Self.folder(), Self.folder())
        try await target.write(name: "a", bytes: [1, 2, 3])
        try Self.age("a", in: target)
        try await source.write(name: "a", bytes: [4, 5, 6])
        #expect(try await Self.copy(source, target).copied == 1)
        #expect(try await target.read("a") == [4, 5, 6])
        #expect(try await Self.copy(source, target).copied == 0)
    }

    /// A store whose files a client changes in the middle of a copy.
    private struct Meddling: FileStorage {
        let storage: DiskStorage
        let meddle: @Sendable () async throws -> Void

        func prepare() async throws {}
        func write<Contents: AsyncSequence>(name: String, details: FileDetails, contents: Contents) async throws
        where Contents.Element == ByteBuffer {}
        func open(name: String, for wish: FileWish) async throws -> (any StoredFile)? {
            let file = try await storage.open(name: name, for: wish)
            // The copy starts reading here.
            if !wish.isHeadOnly { try await meddle() }
            return file
        }
        func details(name: String) async throws -> FileDetails { try await storage.details(name: name) }
        func delete(name: String) async throws { try await storage.delete(name: name) }
        func visit(
            prefix: String, _ use: nonisolated(nonsending) (ListedFile) async throws -> Void
        ) async throws { try await storage.visit(prefix: prefix, use) }
    }

    @Test("Neither overwrites a file stored during the copy nor restores one deleted during it")
    func meddled() async throws {
        let (source, target) = (Self.folder(), Self.folder())
        try await source.write(name: "a", bytes: [1, 2, 3])
        let uploading = Meddling(storage: source) { try await target.write(name: "a", bytes: [7]) }
        let uploaded = try await Self.copy(uploading, target)
        #expect(uploaded.copied == 0 && uploaded.skipped == 1)
        #expect(try await target.read("a") == [7])
        try await target.delete(name: "a")
        let deleting = Meddling(storage: source) {
            try await FallbackStorage(target, others: [source]).delete(name: "a")
        }
        let deleted = try await Self.copy(deleting, target)
        #expect(deleted.copied == 0 && deleted.skipped == 1)
        #expect(try await target.read("a") == nil)
        #expect(try await target.names().isEmpty)
    }

    @Test("Keeps the file in the first store if a fallback store can't delete it")
    func deletedInOrder() async throws {
        let new = Self.folder()
        try await new.write(name: "a", bytes: [2])
        let port = try await FreePort.find()
        try await BucketServer.withStorage(endpointPort: port) { bucket in
            await #expect(throws: FileStorageError.self) {
                try await FallbackStorage(new, others: [bucket]).delete(name: "a")
            }
        }
        #expect(try await new.read("a") == [2])
    }

    @Test("Reads missing files from the fallback store and deletes files from both")
    func fallback() async throws {
        let (new, old) = (Self.folder(), Self.folder())
        try await old.write(name: "old", details: FileDetails(metadata: ["a": 1]), bytes: [1])
        try await old.write(name: "both", bytes: [1])
        let storage = FallbackStorage(new, others: [old])
        try await storage.write(name: "both", bytes: [2])
        try await storage.write(name: "new", bytes: [3])
        for (name, bytes) in [("old", [1]), ("both", [2]), ("new", [3])] as [(String, [UInt8])] {
            let read = try await storage.read(name)
            #expect(read == bytes)
        }
        let details = try await storage.details(name: "old")
        #expect(details.metadata == ["a": 1])
        let names = try await storage.names().sorted()
        #expect(names == ["both", "new", "old"])
        try await storage.delete(name: "both")
        let left = try await storage.names().sorted()
        #expect(left == ["new", "old"])
        await #expect(throws: FileStorageError.notFound) { try await storage.delete(name: "both") }
    }

    @Test(
        "Doesn't fall back if the first store is down, and ignores an outage of the fallback",
        .enabled(if: BucketServer.isInstalled))
    func outage() async throws {
        let old = Self.folder()
        try await old.write(name: "a", bytes: [1])
        let port = try await FreePort.find()
        try await BucketServer.withStorage(endpointPort: port) { bucket in
            await #expect(throws: FileStorageError.self) {
                _ = try await FallbackStorage(bucket, others: [old]).open(name: "a")
            }
            let file = try await FallbackStorage(old, others: [bucket]).read("a")
            #expect(file == [1])
        }
    }

    @Test(
        "The store check passes on working stores and names each operation that a store rejects",
        .enabled(if: BucketServer.isInstalled))
    func check() async throws {
        try await BucketServer.withStorage { bucket in
            let isGood = await FileCheck(bucket).run { #expect($0.failure == nil, "\($0.name): \($0.failure ?? "")") }
            #expect(isGood)
            let names = try await bucket.names()
            #expect(names.isEmpty)
        }
        try await BucketServer.withStorage(["s3overrides": ["secretAccessKey": "other"]]) { bucket in
            let store = try S3OptionTests.load(["filesAdapter": ["module": "s3", "options": ["bucket": "b"]]]).fileStore
            var refused: [String] = []
            let isGood = await FileCheck(bucket, of: store).run { if $0.failure != nil { refused.append($0.name) } }
            #expect(!isGood)
            #expect(refused.count == 7 && refused.first == "store a file (s3:PutObject)")
        }
        var done: [String] = []
        #expect(await FileCheck(Self.folder()).run { done.append($0.name) })
        #expect(done.first == "store a file")
    }

    @Test("Reads filesFallback, and rejects a folder listed twice and unknown options")
    func configuration() throws {
        let bucket: JSONValue = ["module": "s3", "options": ["bucket": "b"]]
        let configuration = try S3OptionTests.load([
            "filesAdapter": bucket,
            "filesFallback": [["module": "fs", "options": ["filesSubDirectory": "old"]], "postgres"],
        ])
        #expect(configuration.fileStoreFallbacks.count == 2)
        #expect(configuration.filesDirectory == "files/old")
        #expect(throws: ConfigurationError.self) { try S3OptionTests.load(["filesFallback": ["fs"]]) }
        #expect(throws: ConfigurationError.self) {
            try S3OptionTests.load(["filesAdapter": bucket, "filesFallback": [["module": "fs", "options": ["x": 1]]]])
        }
    }
}
