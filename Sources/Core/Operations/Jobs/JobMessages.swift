import Logging
import ParseStorage
import Synchronization

/// Writes the progress messages of a job run in order. During a write, only the latest message is retained.
final class JobMessages: Sendable {
    private struct State {
        var waiting: String?
        var writer: Task<Void, Never>?
        var hasEnded = false
    }

    private let id: String
    private let store: ObjectStore
    private let logger: Logger
    private let state = Mutex(State())

    /// The maximum length of a stored message in bytes.
    private static let longest = 16 * 1024

    init(of id: String, store: ObjectStore, logger: Logger) {
        self.id = id
        self.store = store
        self.logger = logger
    }

    /// Enqueues a message. Ignores empty messages and messages after the end of the run.
    func add(_ text: String) {
        guard !text.isEmpty else { return }
        state.withLock { state in
            guard !state.hasEnded else { return }
            state.waiting = Self.storable(text)
            if state.writer == nil { state.writer = Task.detached { await self.write() } }
        }
    }

    /// Stops accepting messages and waits for the running write.
    ///
    /// - Returns: The last message if it was not written.
    func end() async -> String? {
        let (writer, last) = state.withLock { state in
            defer { state.waiting = nil }
            state.hasEnded = true
            return (state.writer, state.waiting)
        }
        await writer?.value
        return last
    }

    private func write() async {
        while let text = next() {
            do {
                try await store.jobs.setMessage(text, ofJob: id)
            } catch {
                logger.warning(
                    "job message not stored", metadata: ["job": "\(id)", "error": "\(error)"])
            }
        }
    }

    private func next() -> String? {
        state.withLock { state in
            defer { state.waiting = nil }
            if state.waiting == nil { state.writer = nil }
            return state.waiting
        }
    }

    /// Removes NUL characters and truncates the text to 16 KB.
    static func storable(_ text: String) -> String {
        let bytes = text.utf8.prefix(longest + 1)
        let isLong = bytes.count > longest
        guard isLong || bytes.contains(0) else { return text }
        let kept = String(decoding: bytes.prefix(longest).filter { $0 != 0 }, as: UTF8.self)
        return isLong ? kept + "…" : kept
    }
}
