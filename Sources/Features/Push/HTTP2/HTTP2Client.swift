import NIOCore
import NIOPosix
import NIOSSL
import ParseModel

/// An HTTP/2 client for one service that sends many requests concurrently.
final class HTTP2Client: Sendable {
    /// Separate threads, so that a burst of notifications doesn't delay client connections.
    private static let threads = MultiThreadedEventLoopGroup(numberOfThreads: max(1, System.coreCount / 2))

    private let loop: any EventLoop
    private let pool: NIOLoopBoundBox<HTTP2Pool>

    /// Creates a client that connects on first use.
    ///
    /// - Parameters:
    ///   - tls: The TLS configuration, or nil for an unencrypted connection.
    ///   - connections: The maximum number of connections.
    ///   - timeLimit: The time limit for a response, starting when the request is sent.
    ///   - report: Receives connection errors and pauses, for the log.
    /// - Throws: `NIOSSLError` for invalid certificates.
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

    /// Sends requests and returns their results as they arrive, in any order. Cancelling the stream drops the requests
    /// that were not sent yet.
    ///
    /// - Parameter end: The deadline for requests to get a stream, in seconds since 1970, or nil for none.
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
        let seconds = min(max(time - Double(ParseDate.now.milliseconds) / 1000, 0), 1e8)
        return .now() + .milliseconds(Int64(seconds * 1000))
    }

    /// Connects if necessary, without sending a request.
    ///
    /// - Returns: The number of concurrent requests per connection that the service allows, at most 1,000.
    /// - Throws: ``HTTP2Failure`` if the service can't be reached.
    func probe() async throws -> Int {
        try await loop.flatSubmit { [pool] in pool.value.probe() }.get()
    }

    /// Closes all connections. Reports waiting requests as unreached before it returns.
    func shutdown() async { try? await loop.submit { [pool] in pool.value.close() }.get() }
}
