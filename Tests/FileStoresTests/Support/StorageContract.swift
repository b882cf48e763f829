import FileStorage
import Foundation
import JSON
import NIOCore
import Testing

/// Requirements of every file store. Each check needs an empty store.
enum StorageContract {
    /// File names that stores must preserve byte for byte.
    static let names = [
        "a b.txt", "caf\u{E9}.txt", "cafe\u{301}.txt", "%41.txt", "x'()*!.txt", "🎵.mp3", "dir/sub/a.txt",
    ]

    /// Expects that files of the given sizes are stored unchanged. Reads the last one in ranges, too.
    ///
    /// - Parameter body: Runs with the contents while a file is stored.
    static func expectRoundTrips(
        _ storage: any FileStorage, sizes: [Int], _ body: (Chunks) async throws -> Void = { _ in }
    ) async throws {
        for size in sizes {
            let contents = Chunks(size: size)
            try await storage.write(name: "a.bin", details: FileDetails(), contents: contents)
            let whole = try await storage.read("a.bin")
            #expect(whole == contents.bytes, "\(size)")
            let file = try #require(try await storage.open(name: "a.bin", for: FileWish(range: "bytes=0-")))
            #expect(file.size == Int64(size))
            #expect(!file.entityTag.isEmpty)
            #expect(abs(file.modified.seconds - Int(Date().timeIntervalSince1970)) < 60)
            try await body(contents)
        }
        let bytes = Chunks(size: sizes.last ?? 0).bytes
        let ranges = [0..<1, 65_535..<65_537, 65_536..<131_072, 100..<999_999, 999_999..<1_000_000, 5..<5]
        for range in ranges where range.upperBound <= bytes.count {
            let wanted = Int64(range.lowerBound)..<Int64(range.upperBound)
            let part = try await storage.read("a.bin", wanted)
            #expect(part == Array(bytes[range]), "\(range)")
            let opened = try await storage.open(name: "a.bin", for: FileWish(range: "bytes=\(range.lowerBound)-"))
            var rest: [UInt8] = []
            try await #require(opened).give(wanted) { rest += $0.readableBytesView }
            #expect(rest == Array(bytes[range]), "\(range)")
        }
    }

    /// Expects that file names are preserved byte for byte by all operations.
    ///
    /// - Parameter body: Runs while all files are stored.
    static func expectNames(
        _ storage: any FileStorage, _ names: [String] = names, _ body: () async throws -> Void
    ) async throws {
        for name in names {
            try await storage.write(
                name: name, details: FileDetails(metadata: ["n": .string(name)]), bytes: Array(name.utf8))
        }
        let listed = try await storage.names()
        #expect(listed.count == names.count)
        #expect(Set(listed.map { Array($0.utf8) }) == Set(names.map { Array($0.utf8) }))
        let below = try await storage.names(prefix: "dir/")
        #expect(below == ["dir/sub/a.txt"])
        try await body()
        for name in names {
            let read = try await storage.read(name)
            #expect(read == Array(name.utf8), "\(name)")
            let details = try await storage.details(name: name)
            #expect(details.metadata["n"]?.stringValue.map { Array($0.utf8) } == Array(name.utf8))
            try await storage.delete(name: name)
            let after = try await storage.open(name: name)
            #expect(after == nil, "\(name)")
        }
    }

    /// Expects that an aborted upload leaves nothing, or the previous file.
    static func expectNothing(ofBrokenUploadOf size: Int, in storage: any FileStorage) async throws {
        func breakOff() async {
            await #expect(throws: Chunks.Broken.self) {
                let contents = Chunks(size: size, breaks: true)
                try await storage.write(name: "a.bin", details: FileDetails(), contents: contents)
            }
        }
        await breakOff()
        let file = try await storage.open(name: "a.bin")
        #expect(file == nil)
        try await storage.write(name: "a.bin", details: FileDetails(), bytes: [1])
        await breakOff()
        let bytes = try await storage.read("a.bin")
        #expect(bytes == [1])
    }
}
