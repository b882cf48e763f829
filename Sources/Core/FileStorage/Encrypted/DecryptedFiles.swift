import Synchronization
import Tasks

/// Files in the clear: one decryption for all who ask at once, so many bytes at a time in a queue that is fair to
/// senders; the latest are kept, so that a client that asks for parts has the file decrypted once.
package final class DecryptedFiles: Sendable {
    /// What distinguishes one content from another.
    package struct Key: Hashable {
        var name: [UInt8]
        /// The entity tag of what is encrypted.
        var version: String

        package init(name: [UInt8], version: String) {
            self.name = name
            self.version = version
        }
    }

    private enum Found {
        case kept(FileInMemory)
        case underWay(Task<FileInMemory, any Error>)
    }

    private struct State {
        var kept = BoundedTable<Key, FileInMemory>(capacity: 32 * 1024 * 1024)
        var underWay: [Key: Task<FileInMemory, any Error>] = [:]
    }

    private let state = Mutex(State())
    /// The bytes that decryptions take at a time.
    package let budget = Gate(capacity: 48 * 1024 * 1024)

    package init() {}

    /// A file in the clear.
    ///
    /// - Parameters:
    ///   - size: The bytes that are decrypted.
    ///   - decrypt: Reads and decrypts it, if that was not done or begun for others.
    /// - Throws: What `decrypt` throws; `CancellationError` when the caller leaves while it waits for its turn.
    package func file(
        _ key: Key, size: Int, _ decrypt: @escaping @Sendable () async throws -> FileInMemory
    ) async throws -> FileInMemory {
        while true {
            switch find(key, size, decrypt) {
            case .kept(let file): return file
            case .underWay(let task):
                do {
                    return try await task.value
                } catch is CancellationError where !Task.isCancelled && CallerPresence.current?.hasLeft != true {
                    // The one on whose behalf it waited has left: the next one waits on its own.
                }
            }
        }
    }

    private func find(
        _ key: Key, _ size: Int, _ decrypt: @escaping @Sendable () async throws -> FileInMemory
    ) -> Found {
        state.withLock { state in
            if let file = state.kept.value(of: key) { return .kept(file) }
            if let task = state.underWay[key] { return .underWay(task) }
            let task = Task {
                // What is encrypted and what is not, both of which are there at once.
                defer { end(key) }
                let file = try await budget.run(weight: 2 * size) { try await decrypt() }
                keep(file, key)
                return file
            }
            state.underWay[key] = task
            return .underWay(task)
        }
    }

    private func keep(_ file: FileInMemory, _ key: Key) {
        _ = state.withLock { $0.kept.set(file, for: key, weight: file.bytes.count) }
    }

    private func end(_ key: Key) { state.withLock { $0.underWay[key] = nil } }
}
