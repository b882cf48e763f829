import FileStorage
import FileStores
import Foundation
import JSON
import NIOCore
import Synchronization
import TestSupport
import TestTools
import Testing

@Suite("Files encrypted in segments")
struct SegmentTests {
    private static let cipher = FileCipher(secret: "secret")
    /// The size of a segment, and its encrypted size.
    private static let (plain, sealed) = (65_536, 65_536 + 16)
    private static let header = 48

    private static func folder() -> DiskStorage {
        DiskStorage(directory: FileManager.default.temporaryDirectory.path + "/roost-segments-\(UUID().uuidString)")
    }

    private static func segmented(_ storage: any FileStorage) -> EncryptedStorage {
        EncryptedStorage(storage, cipher: cipher, writesSegments: true)
    }

    private static func expectRoundTrips(over storage: any FileStorage) async throws {
        let sizes = [0, 1, plain - 1, plain, plain + 1, 2 * plain, 1_000_000]
        try await StorageContract.expectRoundTrips(segmented(storage), sizes: sizes) { contents in
            let size = contents.size
            let stored = try #require(try await storage.read("a.bin"))
            #expect(stored.count == header + size + max(1, (size + plain - 1) / plain) * 16, "\(size)")
            #expect(size < 100 || stored.firstRange(of: contents.bytes.prefix(100)) == nil, "\(size)")
        }
    }

    @Test("Stores files of any length encrypted on disk and reads them back, whole and in ranges")
    func disk() async throws {
        let storage = Self.folder()
        defer { try? FileManager.default.removeItem(atPath: storage.directory) }
        try await Self.expectRoundTrips(over: storage)
    }

    @Test("Stores files encrypted in the database and reads them back")
    func database() async throws {
        try await TestServer.withDatabase { uri in
            let configuration = try S3OptionTests.load(["filesAdapter": ["module": "postgres", "options": [:]]])
            let storage = try FileStoreFactory.storage(
                configuration.fileStore, configuration, folder: "", database: uri, logger: TestServer.quietLogger)
            try await storage.prepare()
            let outcome = await Result.awaiting { try await Self.expectRoundTrips(over: storage) }
            await storage.shutdown()
            try outcome.get()
        }
    }

    @Test(
        "Contents of the same length written within a second have different ETags",
        .enabled(if: BucketServer.isInstalled))
    func tags() async throws {
        try await BucketServer.withStorage { bucket in
            for writesSegments in [false, true] {
                let storage = EncryptedStorage(
                    bucket, cipher: FileCipher(secret: "key"), writesSegments: writesSegments)
                var tags: Set<String> = []
                for number in UInt8(0)..<8 {
                    try await storage.write(name: "a.bin", bytes: [number])
                    tags.insert(try #require(try await storage.open(name: "a.bin")).entityTag)
                }
                #expect(tags.count == 8 && !tags.contains(""))
            }
        }
    }

    @Test("Stores files encrypted in a bucket and reads them back", .enabled(if: BucketServer.isInstalled))
    func bucket() async throws {
        try await BucketServer.withStorage { try await Self.expectRoundTrips(over: $0) }
    }

    @Test("Rejects truncated, swapped, modified, missing and appended segments, and a wrong key")
    func changes() async throws {
        let storage = Self.folder()
        defer { try? FileManager.default.removeItem(atPath: storage.directory) }
        let files = Self.segmented(storage)
        try await files.write(name: "a", details: FileDetails(), contents: Chunks(size: 3 * Self.plain + 10))
        let whole = try #require(try await storage.read("a"))
        let (header, sealed) = (Self.header, Self.sealed)
        var exchanged = whole
        exchanged.replaceSubrange(header..<header + sealed, with: whole[(header + sealed)..<(header + 2 * sealed)])
        var changed = whole
        changed[header + sealed + 5] ^= 1
        let cases: [(String, [UInt8])] = [
            ("truncated at a segment boundary", Array(whole.prefix(header + 3 * sealed))),
            ("truncated within a segment", Array(whole.dropLast(3))),
            ("truncated to the header", Array(whole.prefix(header))),
            ("truncated to the length of an empty file", Array(whole.prefix(header + 16))),
            ("swapped segments", exchanged), ("modified byte", changed),
            ("missing segment", Array(whole.prefix(header + sealed) + whole.dropFirst(header + 2 * sealed))),
            ("appended byte", whole + [1]),
            ("different salt", whole.prefix(20) + [whole[20] ^ 1] + whole.dropFirst(21)),
            ("unknown version", whole.prefix(8) + [9] + whole.dropFirst(9)),
        ]
        for (name, bytes) in cases {
            try await storage.write(name: "b", bytes: bytes)
            await #expect(throws: FileStorageError.notReadable, "\(name)") { _ = try await files.read("b") }
        }
        let others = EncryptedStorage(storage, cipher: FileCipher(secret: "other"), writesSegments: true)
        await #expect(throws: FileStorageError.notReadable) { _ = try await others.open(name: "a") }
        // The same contents are encrypted differently each time.
        try await files.write(name: "c", details: FileDetails(), contents: Chunks(size: 3 * Self.plain + 10))
        let again = try #require(try await storage.read("c"))
        #expect(Array(again.suffix(100)) != Array(whole.suffix(100)))
    }

    @Test("Reads both formats and files with the previous key, whichever format it writes")
    func forms() async throws {
        let storage = Self.folder()
        defer { try? FileManager.default.removeItem(atPath: storage.directory) }
        let old = FileCipher(secret: "old")
        for (index, writer) in [
            EncryptedStorage(storage, cipher: Self.cipher), Self.segmented(storage),
            EncryptedStorage(storage, cipher: old), EncryptedStorage(storage, cipher: old, writesSegments: true),
        ].enumerated() {
            try await writer.write(name: "\(index)", bytes: [1, 2, 3])
        }
        for writesSegments in [false, true] {
            let reader = EncryptedStorage(storage, cipher: Self.cipher, older: old, writesSegments: writesSegments)
            for index in 0..<4 {
                let read = try await reader.read("\(index)")
                #expect(read == [1, 2, 3], "\(index)")
            }
            let without = EncryptedStorage(storage, cipher: Self.cipher, writesSegments: writesSegments)
            await #expect(throws: FileStorageError.notReadable) { _ = try await without.open(name: "2") }
            await #expect(throws: FileStorageError.notReadable) { _ = try await without.open(name: "3") }
        }
    }

    /// Counts the bytes read from a folder, and how far reading runs ahead of writing.
    private struct Counting: FileStorage {
        let storage: DiskStorage
        let read = Counter()
        let ahead = Counter()
        let taken: Counter

        final class Counter: Sendable {
            let value = Atomic(0)
        }

        /// A byte sequence that counts the bytes requested.
        struct Source: AsyncSequence, AsyncIteratorProtocol {
            let taken: Counter
            var left: Int

            mutating func next() async -> ByteBuffer? {
                guard left > 0 else { return nil }
                left -= 1
                taken.value.add(100_000, ordering: .relaxed)
                return ByteBuffer(repeating: 7, count: 100_000)
            }

            func makeAsyncIterator() -> Source { self }
        }

        struct File: StoredFile {
            let file: any StoredFile
            let read: Counter
            var size: Int64 { file.size }
            var modified: FileTime { file.modified }
            var isInMemory: Bool { false }

            func give(
                _ range: Range<Int64>, to sink: nonisolated(nonsending) (ByteBuffer) async throws -> Void
            ) async throws {
                read.value.add(range.count, ordering: .relaxed)
                try await file.give(range, to: sink)
            }
        }

        func prepare() async throws {}
        func write<Contents: AsyncSequence>(name: String, details: FileDetails, contents: Contents) async throws
        where Contents.Element == ByteBuffer {
            var stored = 0
            for try await piece in contents {
                stored += piece.readableBytes
                ahead.value.max(taken.value.load(ordering: .relaxed) - stored, ordering: .relaxed)
            }
        }
        func open(name: String, for wish: FileWish) async throws -> (any StoredFile)? {
            try await storage.open(name: name, for: wish).map { File(file: $0, read: read) }
        }
        func details(name: String) async throws -> FileDetails { FileDetails() }
        func delete(name: String) async throws {}
        func visit(
            prefix: String, _ use: nonisolated(nonsending) (ListedFile) async throws -> Void
        ) async throws {}
    }

    @Test("A range read fetches only its segments, and an upload buffers only a few")
    func bounded() async throws {
        let storage = Self.folder()
        defer { try? FileManager.default.removeItem(atPath: storage.directory) }
        try await Self.segmented(storage).write(name: "a", details: FileDetails(), contents: Chunks(size: 20_000_000))
        let counting = Counting(storage: storage, taken: Counting.Counter())
        let files = Self.segmented(counting)
        #expect(files.memoryOfWrites == 0)
        let opened = try await files.open(name: "a", for: FileWish(range: "bytes=10000000-10000009"))
        let file = try #require(opened)
        #expect(!file.isInMemory)
        var part: [UInt8] = []
        try await file.give(10_000_000..<10_000_010) { part += $0.readableBytesView }
        #expect(part == (10_000_000..<10_000_010).map(Chunks.byte))
        #expect(counting.read.value.load(ordering: .relaxed) == Self.header + Self.sealed)
        let source = Counting.Source(taken: counting.taken, left: 1000)
        try await files.write(name: "b", details: FileDetails(), contents: source)
        #expect(counting.taken.value.load(ordering: .relaxed) == 100_000_000)
        #expect(counting.ahead.value.load(ordering: .relaxed) < 400_000)
    }
}
