import NIOCore
import NIOHTTP1
import Postgres
import Synchronization

/// A connection of a client: where answers go, and whether requests are under way on it.
final class HTTPConnection: Sendable {
    let channel: any Channel
    /// The IP address of the other end; empty when there is none.
    let peer: String
    /// Tells slow statements when the client leaves.
    let caller = CallerPresence()
    /// What the client sends.
    let parts = RequestParts()

    private struct State {
        /// The requests that were begun and are not answered yet.
        var requests = 0
        /// When the last request was answered, or the connection was opened.
        var idleSince = ContinuousClock.now
        /// Whether the server shuts down.
        var isQuiescing = false
    }

    private let state = Mutex(State())
    private let holdsReads = Atomic(false)

    init(_ channel: any Channel) {
        self.channel = channel
        peer = channel.remoteAddress?.ipAddress ?? ""
    }

    /// Takes the next part of what the client sends; see ``RequestParts/next()``.
    func nextPart() async throws -> HTTPServerRequestPart? {
        let part = try await parts.next()
        // Reading may have stopped because too much was waiting.
        if holdsReads.exchange(false, ordering: .sequentiallyConsistent) { channel.read() }
        return part
    }

    /// Whether more may be read from the client now; if not, it will be asked for when some of it has been taken.
    func mayRead() -> Bool {
        guard parts.isFull else { return true }
        holdsReads.store(true, ordering: .sequentiallyConsistent)
        // What was taken meanwhile did not ask.
        return !parts.isFull && holdsReads.exchange(false, ordering: .sequentiallyConsistent)
    }

    /// Sends bytes without waiting.
    ///
    /// - Returns: Whether the connection can take more.
    func write(_ buffer: ByteBuffer) -> Bool {
        channel.writeAndFlush(buffer, promise: nil)
        return channel.isWritable
    }

    /// Sends bytes; returns when the connection can take more.
    ///
    /// - Throws: The error of the connection, when it is known already.
    func send(_ buffer: ByteBuffer) async throws {
        if !write(buffer) { try await flush() }
    }

    /// Returns when all that was sent has left.
    ///
    /// - Throws: The error of the connection.
    func flush() async throws {
        try await channel.writeAndFlush(ByteBuffer()).get()
    }

    /// Notes that a request has come.
    func beginRequest() {
        state.withLock { $0.requests += 1 }
    }

    /// Notes that a request has been answered.
    ///
    /// - Returns: Whether the server shuts down, and this was the last one that it owes an answer.
    func finishRequest() -> Bool {
        state.withLock { state in
            state.requests -= 1
            state.idleSince = .now
            return state.isQuiescing && state.requests == 0
        }
    }

    /// Notes that the server shuts down.
    ///
    /// - Returns: Whether the connection is not needed any more.
    func quiesce() -> Bool {
        state.withLock { state in
            state.isQuiescing = true
            return state.requests == 0
        }
    }

    /// Whether nothing is under way, and has not been since some moment.
    func isIdle(since moment: ContinuousClock.Instant) -> Bool {
        state.withLock { $0.requests == 0 && $0.idleSince < moment }
    }
}
