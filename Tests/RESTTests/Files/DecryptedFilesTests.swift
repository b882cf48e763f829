import FileStorage
import Limits
import Synchronization
import TestSupport
import Testing

@Suite("Decrypted file cache")
struct DecryptedFilesTests {
    private struct Broken: Error {}

    /// Counts decryptions and their concurrency.
    private final class Decryptions: Sendable {
        private let inside = Atomic(0)
        private let most = Atomic(0)
        private let all = Atomic(0)

        var count: Int { all.load(ordering: .relaxed) }
        var atOnce: Int { most.load(ordering: .relaxed) }

        func begin() {
            all.add(1, ordering: .relaxed)
            most.max(inside.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
        }

        func end() { inside.subtract(1, ordering: .relaxed) }
    }

    private static func key(_ name: String, _ version: String = "1") -> DecryptedFiles.Key {
        DecryptedFiles.Key(name: Array(name.utf8), version: version)
    }

    private static func file(_ size: Int) -> FileInMemory {
        FileInMemory(bytes: [UInt8](repeating: 1, count: size), modified: FileTime(seconds: 1))
    }

    @Test("Decrypts each version of a file once for concurrent and subsequent readers")
    func shared() async throws {
        let files = DecryptedFiles()
        let decryptions = Decryptions()
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        @Sendable func get(_ version: String) async throws -> Int {
            try await files.file(Self.key("a", version), size: 10) {
                decryptions.begin()
                for await _ in ends {}
                return Self.file(10)
            }.bytes.count
        }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<200 { group.addTask { try await get("1") } }
            end.finish()
            for try await size in group { #expect(size == 10) }
        }
        #expect(decryptions.count == 1)
        _ = try await get("1")
        #expect(decryptions.count == 1)
        _ = try await get("2")
        #expect(decryptions.count == 2)
    }

    @Test("Limits concurrent decryptions by memory")
    func budget() async throws {
        let files = DecryptedFiles()
        let decryptions = Decryptions()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask {
                    _ = try await files.file(Self.key("\(number)"), size: 20 << 20) {
                        decryptions.begin()
                        await Task.yield()
                        decryptions.end()
                        return Self.file(1)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(decryptions.atOnce == 1)
    }

    @Test("A decryption continues for other readers if the first one leaves, and failures are retried")
    func leaving() async throws {
        let files = DecryptedFiles()
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let holding = AsyncStream.makeStream(of: Void.self)
        let first = Task {
            try await files.file(Self.key("large"), size: 48 << 20) {
                holding.continuation.yield()
                for await _ in ends {}
                throw Broken()
            }
        }
        for await _ in holding.stream.prefix(1) {}
        let caller = CallerPresence()
        let leaver = Task {
            try await CallerPresence.$current.withValue(caller) {
                try await files.file(Self.key("a"), size: 10) { Self.file(10) }
            }
        }
        #expect(try await eventually { files.budget.waiting == 1 })
        let stayer = Task { try await files.file(Self.key("a"), size: 10) { Self.file(10) } }
        caller.leave()
        await #expect(throws: CancellationError.self) { try await leaver.value }
        end.finish()
        #expect(try await stayer.value.bytes.count == 10)
        await #expect(throws: Broken.self) { try await first.value }
        #expect(try await files.file(Self.key("large"), size: 1) { Self.file(1) }.bytes.count == 1)
    }
}
