import NIOCore
import NIOHPACK
import NIOHTTP2

/// One HTTP/2 connection to a service.
///
/// Handles its streams as frames instead of child channels, because notifications are short and several thousand are
/// sent per second.
final class HTTP2Connection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private struct Stream {
        let entry: HTTP2Submission.Entry
        let deadline: NIODeadline
        var status = 0
        var retryAfter: Double?
        var body: [UInt8] = []
    }

    private let origin: HTTP2Origin
    private let pool: HTTP2Pool
    private var context: ChannelHandlerContext?
    private var streams: [HTTP2StreamID: Stream] = [:]
    private var nextStream = 1
    /// The maximum number of open streams, or 0 before the service's settings arrive.
    private var streamLimit = 0
    private var received = 0
    private var isLeaving = false
    private var awaitsPing = false
    private var ticks: RepeatedTask?
    private var ticksSincePing = 0

    /// The maximum number of open streams, even if the service allows more.
    private static let maxStreams = 1000
    /// The number of streams if the service sets no limit.
    private static let usualStreams = 100
    private static let maxBodyBytes = 8192
    private static let maxStreamId = 1 << 29
    /// The number of 250 ms ticks after which a connection without settings from the service is closed: ten seconds.
    private static let maxSilentTicks = 40

    static var configuration: NIOHTTP2Handler.ConnectionConfiguration {
        var configuration = NIOHTTP2Handler.ConnectionConfiguration()
        configuration.initialSettings = [HTTP2Setting(parameter: .enablePush, value: 0)]
        // The service may still respond to every cancelled request. A response on a stream that NIO has forgotten would
        // close the connection.
        configuration.maximumRecentlyResetStreams = 2 * maxStreams
        return configuration
    }

    init(_ origin: HTTP2Origin, _ pool: HTTP2Pool) {
        self.origin = origin
        self.pool = pool
    }

    /// The number of additional requests that can be sent now.
    var room: Int { isLeaving || context == nil ? 0 : streamLimit - streams.count }

    /// Whether the service has sent its settings and allows at least one stream.
    var isReady: Bool { streamLimit > 0 }

    /// The maximum number of open streams, or nil if the connection isn't ready or takes no more requests.
    var allowedStreams: Int? { isReady && !isLeaving && context != nil ? streamLimit : nil }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func channelActive(context: ChannelHandlerContext) {
        context.fireChannelActive()
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        ticks = context.eventLoop.scheduleRepeatedTask(initialDelay: .milliseconds(250), delay: .milliseconds(250)) {
            _ in bound.value.tick()
        }
    }

    /// Sends a request on a new stream, which requires ``room``. Call ``flush()`` afterward.
    func send(_ entry: HTTP2Submission.Entry, within limit: TimeAmount) {
        guard context != nil else { return }
        let id = HTTP2StreamID(nextStream)
        nextStream += 2
        if nextStream > Self.maxStreamId { isLeaving = true }
        let call = entry.call
        var headers = HPACKHeaders()
        headers.reserveCapacity(call.headers.count + 5)
        headers.add(name: ":method", value: "POST")
        headers.add(name: ":scheme", value: origin.isSecure ? "https" : "http")
        headers.add(name: ":authority", value: origin.authority)
        // Each path is different. Indexing them would evict the constant fields from the header table.
        headers.add(name: ":path", value: call.path, indexing: .nonIndexable)
        for (name, value, indexing) in call.headers { headers.add(name: name, value: value, indexing: indexing) }
        if let (name, value) = call.ownField { headers.add(name: name, value: value, indexing: .nonIndexable) }
        streams[id] = Stream(entry: entry, deadline: .now() + limit)
        write(.headers(.init(headers: headers)), on: id)
        write(.data(.init(data: .byteBuffer(call.body), endStream: true)), on: id)
    }

    private func write(_ payload: HTTP2Frame.FramePayload, on stream: HTTP2StreamID = .rootStream) {
        context?.write(wrapOutboundOut(HTTP2Frame(streamID: stream, payload: payload)), promise: nil)
    }

    func flush() { context?.flush() }

    /// Closes the connection. The outcome of requests without a response is `unclear`.
    func close() {
        let open = streams
        streams = [:]
        for stream in open.values { pool.finish(stream.entry, .failure(.unclear("the server is stopping"))) }
        context?.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .settings(.settings(let settings)):
            let limit = settings.last { $0.parameter == .maxConcurrentStreams }?.value
            if let limit {
                streamLimit = min(limit, Self.maxStreams)
            } else if streamLimit == 0 {
                streamLimit = Self.usualStreams
            }
        case .headers(let headers):
            read(headers.headers, of: frame.streamID)
            if headers.endStream { answered(frame.streamID) }
        case .data(let data):
            received += data.data.readableBytes
            if case .byteBuffer(let bytes) = data.data { read(bytes, of: frame.streamID) }
            if data.endStream { answered(frame.streamID) }
        case .rstStream(let code):
            guard let stream = streams.removeValue(forKey: frame.streamID) else { break }
            if code == .refusedStream {
                pool.recordFailure()
                pool.requeue(stream.entry)
            } else {
                pool.finish(stream.entry, .failure(.unclear("the stream was reset (\(code.networkCode))")))
            }
        case .goAway(let lastStream, let code, let data):
            isLeaving = true
            pool.recordFailure()
            if code != .noError {
                let words = data.map { String(buffer: $0).prefix(200) } ?? ""
                pool.failed(HTTP2Failure(description: "the service ended a connection: \(code) \(words)"))
            }
            let refused = streams.filter { $0.key > lastStream }.sorted { $0.key < $1.key }
            for (id, stream) in refused {
                streams[id] = nil
                pool.requeue(stream.entry)
            }
        case .ping(_, let isAnswer): if isAnswer { awaitsPing = false }
        default: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if received > 0 {
            write(.windowUpdate(windowSizeIncrement: received))
            received = 0
            context.flush()
        }
        if isLeaving, streams.isEmpty { context.close(promise: nil) }
        pool.continueSending()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // An error on one stream doesn't affect the others.
        if error is NIOHTTP2Errors.StreamError { return }
        pool.failed(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        ticks?.cancel()
        self.context = nil
        let open = streams
        streams = [:]
        for stream in open.values { pool.finish(stream.entry, .failure(.unclear("the connection ended"))) }
        pool.closed(self, wasReady: isReady)
        context.fireChannelInactive()
    }

    private func read(_ headers: HPACKHeaders, of id: HTTP2StreamID) {
        guard var stream = streams[id] else { return }
        if let status = headers.first(name: ":status").flatMap(Int.init) { stream.status = status }
        if let seconds = headers.first(name: "retry-after").flatMap(Double.init), seconds.isFinite {
            stream.retryAfter = max(seconds, 0)
        }
        streams[id] = stream
    }

    private func read(_ bytes: ByteBuffer, of id: HTTP2StreamID) {
        let room = Self.maxBodyBytes - (streams[id]?.body.count ?? Self.maxBodyBytes)
        if room > 0 { streams[id]?.body.append(contentsOf: bytes.readableBytesView.prefix(room)) }
    }

    private func answered(_ id: HTTP2StreamID) {
        guard let stream = streams.removeValue(forKey: id) else { return }
        pool.finish(
            stream.entry, .answer(status: stream.status, retryAfter: stream.retryAfter, body: stream.body))
    }

    private func tick() {
        guard let context else { return }
        let now = NIODeadline.now()
        for (id, stream) in streams where stream.deadline < now {
            streams[id] = nil
            write(.rstStream(.cancel), on: id)
            pool.finish(stream.entry, .failure(.unclear("no response in time")))
        }
        if isLeaving, streams.isEmpty { return context.close(promise: nil) }
        ticksSincePing += 1
        if !isReady, streams.isEmpty, ticksSincePing == Self.maxSilentTicks {
            pool.failed(HTTP2Failure(description: "the service accepted the connection but didn't respond"))
            return context.close(promise: nil)
        }
        if ticksSincePing >= 240 {
            ticksSincePing = 0
            guard !awaitsPing else { return context.close(promise: nil) }
            awaitsPing = true
            write(.ping(HTTP2PingData(withInteger: 1), ack: false))
        }
        context.flush()
        pool.continueSending()
    }
}
