import NIOCore
import NIOPosix
import NIOSSL

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Sends requests to one service by HTTP/2, many at a time.
final class HTTP2Client: Sendable {
    /// Own threads, so that a burst of notifications doesn't delay clients on the same thread.
    private static let threads = MultiThreadedEventLoopGroup(numberOfThreads: max(1, System.coreCount / 2))

    private let loop: any EventLoop
    private let pool: NIOLoopBoundBox<HTTP2Pool>

    /// Makes a client, which connects when it is used.
    ///
    /// - Parameters:
    ///   - tls: How it speaks TLS; nil for an address without.
    ///   - connections: The most connections.
    ///   - timeLimit: How long an answer may take from when the request has left.
    ///   - report: Takes what went wrong with connections, for the log.
    /// - Throws: `NIOSSLError` for certificates that cannot be used.
    init(
        _ origin: HTTP2Origin, tls: TLSConfiguration?, connections: Int, timeLimit: Duration,
        report: @escaping @Sendable (String) -> Void
    ) throws {
        let loop = Self.threads.next()
        var tls = tls
        tls?.applicationProtocols = ["h2"]
        tls?.minimumTLSVersion = .tlsv12
        let context = try tls.map { try NIOSSLContext(configuration: $0) }
        self.loop = loop
        pool = NIOLoopBoundBox.makeBoxSendingValue(
            HTTP2Pool(
                origin, tls: context, connections: connections, timeLimit: TimeAmount(timeLimit), on: loop,
                report: report),
            eventLoop: loop)
    }

    /// Sends requests. What becomes of them comes as it is known, in any order; it ends when all of it has come. Who
    /// stops listening gives up what has not been sent.
    ///
    /// - Parameter end: When a request that has found no stream is given up, in seconds since 1970; nil for never.
    func send(_ calls: [HTTP2Call], until end: Double? = nil) -> AsyncStream<[HTTP2Result]> {
        let (stream, continuation) = AsyncStream.makeStream(of: [HTTP2Result].self)
        guard !calls.isEmpty else {
            continuation.finish()
            return stream
        }
        loop.execute { [loop, pool] in
            let submission = HTTP2Submission(calls, continuation, until: end.map(Self.deadline))
            let bound = NIOLoopBound(submission, eventLoop: loop)
            continuation.onTermination = { end in
                guard case .cancelled = end else { return }
                loop.execute { bound.value.giveUp() }
            }
            pool.value.submit(submission)
        }
        return stream
    }

    private static func deadline(_ time: Double) -> NIODeadline {
        let seconds = min(max(time - Date.now.timeIntervalSince1970, 0), 1e8)
        return .now() + .milliseconds(Int64(seconds * 1000))
    }

    /// Connects, where there is no connection, and sends nothing.
    ///
    /// - Returns: How many requests the service takes at once.
    /// - Throws: ``HTTP2Failure``.
    func probe() async throws -> Int {
        try await loop.flatSubmit { [pool] in pool.value.probe() }.get()
    }

    /// Ends all connections. What waits has not been sent, and is reported as that before this returns.
    func shutdown() async { try? await loop.submit { [pool] in pool.value.close() }.get() }
}
