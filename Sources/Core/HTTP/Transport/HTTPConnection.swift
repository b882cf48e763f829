import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization
import Tasks

/// A connection of a client: where requests come from and answers go, and what is under way on it.
package final class HTTPConnection: Sendable {
    let channel: any Channel
    /// The IP address of the other end; empty when there is none.
    let peer: String
    /// Notifies slow statements when the client leaves.
    let caller: CallerPresence
    let parts: RequestParts
    /// What is found out about the request that is being answered.
    let record: RequestRecord

    let activity = Mutex(ConnectionActivity(at: .now))
    private let speaksWebSocket = Atomic(false)
    /// Whether reads are paused because too much is queued.
    private let holdsReads = Atomic(false)
    private let waitsForMemory = Atomic(false)
    private let flushCoalescer: FlushCoalescer
    /// The event loop's queue, or nil if the loop serves no connections.
    private let loopQueue: LoopQueue?

    /// - Parameters:
    ///   - flushCoalescer: That of the channel's event loop.
    ///   - transferTimeout: Counts unanswered input, or nil to count nothing.
    ///   - record: What is found out about its requests.
    package init(
        _ channel: any Channel, flushCoalescer: FlushCoalescer, transferTimeout: TransferTimeout? = nil,
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

    /// Whether the connection is one of HTTP, as all are at first.
    var speaksHTTP: Bool { !speaksWebSocket.load(ordering: .relaxed) }

    /// Notes that what the client sends from now on are no requests. To be called on its event loop.
    func leaveHTTP() {
        speaksWebSocket.store(true, ordering: .relaxed)
    }

    /// Takes the next part of what the client sends; see ``RequestParts/next(mayRest:)``.
    func nextPart(mayRest: Bool = false) async throws -> HTTPServerRequestPart? {
        let part = try await parts.next(mayRest: mayRest)
        if holdsReads.exchange(false, ordering: .sequentiallyConsistent) { channel.read() }
        return part
    }

    /// Whether more may be read from the client now; if not, it will be asked for when some of it has been taken.
    func mayRead() -> Bool {
        guard isFull else { return true }
        holdsReads.store(true, ordering: .sequentiallyConsistent)
        // A task that took parts before that did not see it.
        return !isFull && holdsReads.exchange(false, ordering: .sequentiallyConsistent)
    }

    private var isFull: Bool { parts.isFull || waitsForMemory.load(ordering: .sequentiallyConsistent) }

    /// Pauses or resumes reading while a body waits for memory.
    func waitForMemory(_ waits: Bool) {
        parts.input.excuse(waits)
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

    /// Takes bytes that leave with those that are sent next.
    func hold(_ buffer: ByteBuffer) {
        channel.write(buffer, promise: nil)
    }

    /// Sends bytes without waiting. Few bytes leave when the turn of the event loop ends.
    ///
    /// - Returns: Whether the connection can take more. After a large write, it can if the system has accepted all
    ///   bytes.
    package func write(_ buffer: ByteBuffer) -> Bool {
        guard buffer.readableBytes > Self.few else {
            channel.write(buffer, promise: nil)
            flushCoalescer.flush(channel)
            return channel.isWritable
        }
        // A client is busy with many bytes for longer than a context switch takes, so send them now.
        channel.writeAndFlush(buffer, promise: nil)
        guard channel.eventLoop.inEventLoop, let options = channel.syncOptions else { return false }
        return (try? options.getOption(.bufferedWritableBytes)) == 0
    }

    /// The unsent bytes at which a connection takes no more.
    static let mostUnsent = ChannelOptions.Types.WriteBufferWaterMark(low: 4096, high: 8192)

    private static let few = 16 * 1024

    /// Returns when all that was sent has left. A client that reads nothing keeps it waiting: something must watch it.
    ///
    /// - Throws: The error of the connection.
    func flush() async throws {
        try await channel.writeAndFlush(ByteBuffer()).get()
    }

    /// Ends the connection unless a request is under way. What has come of one by then counts.
    func closeIfIdle() {
        channel.eventLoop.execute { [self] in
            if activity.withLock({ $0.idleTime }) != nil { close() }
        }
    }

    /// Ends the connection unless there was a request since some moment. An event loop that was kept from its
    /// connections reads first what has come meanwhile.
    func closeIfIdle(since moment: ContinuousClock.Instant) {
        channel.eventLoop.execute { [self] in
            channel.eventLoop.scheduleTask(in: .milliseconds(100)) { [self] in
                if activity.withLock({ $0.isIdle(since: moment) }) { close() }
            }
        }
    }

    /// Ends the connection when the requests that are under way are answered.
    ///
    /// - Parameter firstRequest: How long it may take for its first request: a client that connected last has it under
    ///   way, and need not send it again when it is lost.
    func finish(firstRequest: Duration) {
        channel.eventLoop.execute { [self] in
            let (isIdle, isUnused) = activity.withLock { ($0.quiesce(), $0.isUnused) }
            guard isIdle else { return }
            guard isUnused, firstRequest > .zero else { return close() }
            channel.eventLoop.scheduleTask(in: TimeAmount(firstRequest)) { [self] in closeIfIdle() }
        }
    }

    /// Ends the connection; answers that wait for the end of a turn are sent before.
    package func close() {
        channel.flush()
        channel.close(promise: nil)
    }
}

/// What is under way on a connection: whether it owes answers, and since when it has been idle.
package struct ConnectionActivity {
    private var requests = 0
    private(set) var isUnused = true
    private var idleSince: ContinuousClock.Instant
    private var isQuiescing = false
    private var hasEnded = false

    /// The activity of a connection that was just opened.
    package init(at now: ContinuousClock.Instant) {
        idleSince = now
    }

    package mutating func beginRequest() {
        requests += 1
        isUnused = false
    }

    /// Notes that a request has been answered.
    ///
    /// - Returns: Whether the server shuts down, and this was the last one that it owes an answer.
    package mutating func finishRequest(at now: ContinuousClock.Instant) -> Bool {
        requests -= 1
        idleSince = now
        return isQuiescing && requests == 0
    }

    /// Notes that the last answer was given, whatever the client goes on sending.
    package mutating func end(at now: ContinuousClock.Instant) {
        hasEnded = true
        idleSince = now
    }

    /// Notes that the server shuts down; returns whether the connection is not needed any more.
    package mutating func quiesce() -> Bool {
        isQuiescing = true
        return requests == 0
    }

    /// Since when nothing has been under way; nil while something is.
    var idleTime: ContinuousClock.Instant? {
        requests == 0 || hasEnded ? idleSince : nil
    }

    /// Whether nothing is under way, and has not been since some moment.
    package func isIdle(since moment: ContinuousClock.Instant) -> Bool {
        idleTime.map { $0 < moment } ?? false
    }
}

extension Channel {
    /// Ends a connection whose client does not do its part. A close in order would have TLS wait for the client once
    /// more, with everything that the client has not read.
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
