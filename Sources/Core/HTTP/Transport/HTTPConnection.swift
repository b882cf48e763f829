import Limits
import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization

/// A client connection and the state of its requests.
package final class HTTPConnection: Sendable {
    let channel: any Channel
    /// The IP address of the other end of the connection, or an empty string if unknown.
    let peer: String
    /// The client's connection state, which cancels slow reads and queued work if the client disconnects.
    let caller: CallerPresence
    let parts: RequestParts
    /// The record of the current request, for metrics, the log and the span.
    let record: RequestRecord

    let activity = Mutex(ConnectionActivity(at: .now))
    private let speaksWebSocket = Atomic(false)
    private let holdsReads = Atomic(false)
    private let waitsForMemory = Atomic(false)
    private let flushCoalescer: FlushCoalescer
    private let loopQueue: LoopQueue?

    /// - Parameters:
    ///   - flushCoalescer: The coalescer of the channel's event loop.
    ///   - transferTimeout: The counter of unanswered input.
    ///   - record: The record, reused for each request of the connection.
    package init(
        _ channel: any Channel, flushCoalescer: FlushCoalescer, transferTimeout: TransferTimeout,
        record: RequestRecord = RequestRecord()
    ) {
        self.channel = channel
        loopQueue = LoopQueue.of(channel.eventLoop)
        parts = RequestParts(HeldInput(transferTimeout))
        self.record = record
        self.flushCoalescer = flushCoalescer
        peer = channel.remoteAddress?.ipAddress ?? ""
        caller = CallerPresence(sender: Sender(address: peer))
    }

    /// Whether the connection speaks HTTP. False after an upgrade to WebSocket.
    var speaksHTTP: Bool { !speaksWebSocket.load(ordering: .relaxed) }

    /// Switches to WebSocket: later input is not HTTP. Must be called on the event loop.
    func leaveHTTP() {
        speaksWebSocket.store(true, ordering: .relaxed)
    }

    /// Returns the next part of the client's input; see ``RequestParts/next(mayRest:)``.
    func nextPart(mayRest: Bool = false) async throws -> HTTPServerRequestPart? {
        let part = try await parts.next(mayRest: mayRest)
        if holdsReads.exchange(false, ordering: .sequentiallyConsistent) { channel.read() }
        return part
    }

    /// Whether more may be read from the client now. If not, reading resumes once input is consumed or memory is free.
    func mayRead() -> Bool {
        guard isFull else { return true }
        holdsReads.store(true, ordering: .sequentiallyConsistent)
        // Checked again, because a task that consumed parts before the flag was set doesn't resume reading.
        return !isFull && holdsReads.exchange(false, ordering: .sequentiallyConsistent)
    }

    private var isFull: Bool { parts.isFull || waitsForMemory.load(ordering: .sequentiallyConsistent) }

    /// Pauses or resumes reading while a body waits for memory.
    func waitForMemory(_ waits: Bool) {
        parts.input.exempt(waits)
        waitsForMemory.store(waits, ordering: .sequentiallyConsistent)
        if !waits, holdsReads.exchange(false, ordering: .sequentiallyConsistent) { channel.read() }
    }

    /// Runs work after the other connections of the event loop have had a turn. Call it on the loop.
    func later(_ work: @escaping () -> Void) {
        guard let loopQueue else { return work() }
        loopQueue.later(of: caller.sender, work)
    }

    /// Returns whether to handle received bytes in a later turn; see ``LoopQueue/isLate()``.
    func isLate() -> Bool { loopQueue?.isLate() ?? false }

    /// Waits until the other connections of the event loop have had a turn.
    func waitForTurn() async { await loopQueue?.wait(of: caller.sender) }

    /// Buffers bytes to send with the next write.
    func hold(_ buffer: ByteBuffer) {
        channel.write(buffer, promise: nil)
    }

    /// Sends bytes without waiting. Small writes are sent when the turn of the event loop ends.
    ///
    /// - Returns: Whether the connection can take more. After a large write, it can if the system has accepted all
    ///   bytes.
    package func write(_ buffer: ByteBuffer) -> Bool {
        guard buffer.readableBytes > Self.few else {
            channel.write(buffer, promise: nil)
            flushCoalescer.flush(channel)
            return channel.isWritable
        }
        // A client takes longer to process many bytes than a context switch takes, so send them now.
        channel.writeAndFlush(buffer, promise: nil)
        guard channel.eventLoop.inEventLoop, let options = channel.syncOptions else { return false }
        return (try? options.getOption(.bufferedWritableBytes)) == 0
    }

    /// The numbers of unsent bytes at which a connection stops accepting more (`high`) and resumes (`low`).
    static let maxUnsent = ChannelOptions.Types.WriteBufferWaterMark(low: 4096, high: 8192)

    private static let few = 16 * 1024

    /// Waits until everything has been sent. A client that doesn't read blocks this, so a ``TransferTimeout`` must
    /// watch it.
    func flush() async throws {
        try await channel.writeAndFlush(ByteBuffer()).get()
    }

    /// Closes the connection unless it has a request, which may be running or still arriving.
    func closeIfIdle() {
        channel.eventLoop.execute { [self] in
            if activity.withLock({ $0.idleTime }) != nil { close() }
        }
    }

    /// Closes the connection if it has been idle since before `moment`. Waits 100 ms first, so that a busy event loop
    /// can read input that has already arrived.
    func closeIfIdle(since moment: ContinuousClock.Instant) {
        channel.eventLoop.execute { [self] in
            channel.eventLoop.scheduleTask(in: .milliseconds(100)) { [self] in
                if activity.withLock({ $0.isIdle(since: moment) }) { close() }
            }
        }
    }

    /// Closes the connection after its running requests.
    ///
    /// - Parameter firstRequest: The time to wait for the first request of a new connection. The client may have sent
    ///   it already and wouldn't expect to have to resend it.
    func finish(firstRequest: Duration) {
        channel.eventLoop.execute { [self] in
            let (isIdle, isUnused) = activity.withLock { ($0.quiesce(), $0.isUnused) }
            guard isIdle else { return }
            guard isUnused, firstRequest > .zero else { return close() }
            channel.eventLoop.scheduleTask(in: TimeAmount(firstRequest)) { [self] in closeIfIdle() }
        }
    }

    /// Closes the connection. Buffered responses are sent only as far as the system accepts them immediately.
    package func close() {
        channel.flush()
        channel.close(promise: nil)
    }
}

/// The running requests of a connection, and the start of its idle time.
package struct ConnectionActivity {
    private var requests = 0
    private(set) var isUnused = true
    private var idleSince: ContinuousClock.Instant
    private var isQuiescing = false
    private var hasEnded = false

    package init(at now: ContinuousClock.Instant) {
        idleSince = now
    }

    package mutating func beginRequest() {
        requests += 1
        isUnused = false
    }

    /// Records that a request was answered.
    ///
    /// - Returns: Whether the server is shutting down and this was the last running request.
    package mutating func finishRequest(at now: ContinuousClock.Instant) -> Bool {
        requests -= 1
        idleSince = now
        return isQuiescing && requests == 0
    }

    /// Records that no more requests are answered. From now on the connection counts as idle, even if more input
    /// arrives.
    package mutating func end(at now: ContinuousClock.Instant) {
        hasEnded = true
        idleSince = now
    }

    /// Records that the server is shutting down. Returns whether no request is running.
    package mutating func quiesce() -> Bool {
        isQuiescing = true
        return requests == 0
    }

    /// The time when the connection became idle, or nil if a request is running.
    var idleTime: ContinuousClock.Instant? {
        requests == 0 || hasEnded ? idleSince : nil
    }

    /// Whether the connection has been idle since before `moment`.
    package func isIdle(since moment: ContinuousClock.Instant) -> Bool {
        idleTime.map { $0 < moment } ?? false
    }
}

extension Channel {
    /// Closes a connection whose client stalls or misbehaves. An orderly TLS close would wait for the client again, and
    /// keep everything that it has not read.
    func abort() {
        eventLoop.execute { [self] in
            if let security = try? pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) {
                security.close(promise: nil)
            } else {
                close(promise: nil)
            }
        }
    }
}
