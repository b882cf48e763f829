import DequeModule
import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL

struct HTTP2Origin: Sendable {
    var host: String
    var port: Int
    var isSecure: Bool

    /// The `:authority` of requests.
    var authority: String { port == (isSecure ? 443 : 80) ? host : "\(host):\(port)" }
}

/// The connections to one service, and the requests that wait for a stream. Used only on its event loop.
///
/// Silently resends requests that the service certainly hasn't processed: those on a refused stream, or on a stream
/// that its GOAWAY excludes. If connecting fails, or after many consecutive failures, the pool pauses. It then returns
/// new and waiting requests as unreached instead of buffering them during an outage.
final class HTTP2Pool {
    private let origin: HTTP2Origin
    private let tls: NIOSSLContext?
    private let maxConnections: Int
    private let timeLimit: TimeAmount
    private let loop: any EventLoop
    private let report: @Sendable (String) -> Void
    private var queue: Deque<HTTP2Submission.Entry> = []
    private var connections: [HTTP2Connection] = []
    private var isConnecting = false
    private var isClosed = false
    private var touched: [ObjectIdentifier: HTTP2Submission] = [:]
    private var pauses = ServicePauses()
    private var probes: [EventLoopPromise<Int>] = []
    private var pauseReason = ""
    private var lastError = "the connection was closed at once"

    private static let stopping = "the server is stopping"

    /// The time limit for a probe, in seconds.
    private static let probeTime: Int64 = 10

    init(
        _ origin: HTTP2Origin, tls: NIOSSLContext?, connections: Int, timeLimit: TimeAmount, on loop: any EventLoop,
        report: @escaping @Sendable (String) -> Void
    ) {
        self.origin = origin
        self.tls = tls
        maxConnections = connections
        self.timeLimit = timeLimit
        self.loop = loop
        self.report = report
    }

    /// Queues requests and sends them if possible. During a pause or after ``close()`` they end as `unreached` at once.
    func submit(_ submission: HTTP2Submission) {
        if let reason {
            for index in submission.calls.indices { submission.finish(index, .failure(.unreached(reason))) }
            return
        }
        for index in submission.calls.indices { queue.append(.init(submission: submission, index: index)) }
        continueSending()
    }

    /// Connects if necessary, and returns the number of concurrent requests per connection that the service allows.
    func probe() -> EventLoopFuture<Int> {
        let promise = loop.makePromise(of: Int.self)
        guard !isClosed else {
            promise.fail(HTTP2Failure(description: Self.stopping))
            return promise.futureResult
        }
        probes.append(promise)
        let bound = NIOLoopBound(self, eventLoop: loop)
        loop.scheduleTask(in: .seconds(Self.probeTime)) { bound.value.failProbes("no response in time") }
        continueSending()
        return promise.futureResult
    }

    private func failProbes(_ reason: String) {
        let waiting = probes
        probes = []
        for promise in waiting { promise.fail(HTTP2Failure(description: reason)) }
    }

    /// Closes all connections and reports waiting requests as unreached.
    func close() {
        isClosed = true
        failProbes(Self.stopping)
        failQueued(Self.stopping)
        for connection in connections { connection.close() }
        flush()
    }

    /// Reports the outcome of a request. Anything but a response below 500 counts as a failure.
    func finish(_ entry: HTTP2Submission.Entry, _ outcome: HTTP2Outcome) {
        if case .answer(let status, _, _) = outcome, status < 500 {
            pauses.recordAnswer()
        } else {
            recordFailure()
        }
        deliver(entry, outcome)
    }

    /// Puts an unprocessed request first in the queue. During a pause or after ``close()`` it ends as `unreached`.
    func requeue(_ entry: HTTP2Submission.Entry) {
        if let reason { deliver(entry, .failure(.unreached(reason))) } else { queue.prepend(entry) }
    }

    /// Reports a connection error. It becomes the reason of a pause if the connection closes before it is ready.
    func failed(_ error: any Error) {
        lastError = "\(error)"
        report(lastError)
    }

    func closed(_ connection: HTTP2Connection, wasReady: Bool) {
        connections.removeAll { $0 === connection }
        if !wasReady { pause(pauses.recordUnreached(), lastError) }
        continueSending()
    }

    /// Counts a failure. ``ServicePauses/maxFailures`` consecutive failures start a pause.
    func recordFailure() {
        if let seconds = pauses.recordFailure() { pause(seconds, "\(ServicePauses.maxFailures) failures in a row") }
    }

    /// Fails the waiting probes and starts a pause, or keeps the current one if `seconds` is nil.
    private func pause(_ seconds: Int64?, _ reason: String) {
        failProbes(reason)
        guard let seconds, !isClosed else { return }
        report("\(reason); sending is paused for \(seconds) s")
        pauseReason = reason
        failQueued(reason)
        let bound = NIOLoopBound(self, eventLoop: loop)
        loop.scheduleTask(in: .seconds(seconds)) {
            bound.value.pauses.end()
            bound.value.continueSending()
        }
    }

    private var reason: String? { isClosed ? Self.stopping : pauses.isOn ? pauseReason : nil }

    private func failQueued(_ reason: String) {
        let waiting = queue
        queue = []
        for entry in waiting { deliver(entry, .failure(.unreached(reason))) }
        flush()
    }

    private func deliver(_ entry: HTTP2Submission.Entry, _ outcome: HTTP2Outcome) {
        touched[ObjectIdentifier(entry.submission)] = entry.submission
        entry.submission.finish(entry.index, outcome)
    }

    /// Sends queued requests on free streams, and opens a connection if there are too few streams.
    func continueSending() {
        defer { flush() }
        while let entry = queue.first, entry.submission.isGivenUp { queue.removeFirst() }
        if !probes.isEmpty, let streams = connections.lazy.compactMap(\.allowedStreams).first {
            for promise in probes { promise.succeed(streams) }
            probes = []
        }
        guard !pauses.isOn, !queue.isEmpty || !probes.isEmpty, !isClosed else { return }
        for connection in connections {
            var room = connection.room
            guard room > 0 else { continue }
            while room > 0, let entry = queue.popFirst() {
                guard !entry.submission.isGivenUp else { continue }
                guard !entry.submission.isOverdue else {
                    deliver(entry, .failure(.failed(PushMessage.overdue)))
                    continue
                }
                connection.send(entry, within: timeLimit)
                room -= 1
            }
            connection.flush()
            if queue.isEmpty, probes.isEmpty { return }
        }
        if !isConnecting, connections.count < maxConnections, connections.allSatisfy(\.isReady) { connect() }
    }

    private func flush() {
        for submission in touched.values { submission.flush() }
        touched.removeAll(keepingCapacity: true)
    }

    private func connect() {
        isConnecting = true
        let connection = HTTP2Connection(origin, self)
        connections.append(connection)
        let bound = NIOLoopBound((pool: self, connection: connection), eventLoop: loop)
        let (origin, tls) = (origin, tls)
        ClientBootstrap(group: loop)
            .connectTimeout(.seconds(5))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls {
                        // TLS doesn't allow IP addresses as server names.
                        let isAddress = (try? SocketAddress(ipAddress: origin.host, port: 0)) != nil
                        try pipeline.addHandler(
                            NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : origin.host))
                    }
                    try pipeline.addHandler(WriteGatherer())
                    try pipeline.addHandler(
                        NIOHTTP2Handler(mode: .client, connectionConfiguration: HTTP2Connection.configuration))
                    try pipeline.addHandler(bound.value.connection)
                }
            }
            .connect(host: origin.host, port: origin.port)
            .whenComplete { result in
                let (pool, connection) = bound.value
                pool.isConnecting = false
                guard case .failure(let error) = result else {
                    if pool.isClosed { connection.close() }
                    return
                }
                pool.connections.removeAll { $0 === connection }
                pool.pause(pool.pauses.recordUnreached(), "no connection: \(error)")
            }
    }
}
