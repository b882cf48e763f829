import Limits
import Synchronization

/// A cache of up to 32 MB of decrypted files. Concurrent requests for a file share one decryption. Decryptions wait for
/// memory in a queue that is fair to clients.
package final class DecryptedFiles: Sendable {
    /// Identifies a file's content.
    package struct Key: Hashable {
        var name: [UInt8]
        /// The entity tag of the encrypted file.
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
    /// The gate that limits the memory of concurrent decryptions to 48 MB. A file that needs more is decrypted alone.
    package let budget = Gate(capacity: 48 * 1024 * 1024)

    package init() {}

    /// Returns a decrypted file from the cache or decrypts it.
    ///
    /// - Parameters:
    ///   - size: The size of the encrypted file in bytes.
    ///   - decrypt: Reads and decrypts the file. Not called if it is cached or another request is decrypting it.
    /// - Throws: The error of `decrypt`, or `CancellationError` if the client disconnects while it waits for memory.
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
                    // The caller that started the decryption has disconnected. Try again on behalf of this one.
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
                // The encrypted and the decrypted file are in memory at the same time.
                defer { end(key) }
                let file = try await budget.run(weight: 2 * size) { try await decrypt() }
                cache(file, key)
                return file
            }
            state.underWay[key] = task
            return .underWay(task)
        }
    }

    private func cache(_ file: FileInMemory, _ key: Key) {
        _ = state.withLock { $0.kept.set(file, for: key, weight: file.bytes.count) }
    }

    private func end(_ key: Key) { state.withLock { $0.underWay[key] = nil } }
}
