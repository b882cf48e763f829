import NIOCore
import NIOHPACK
import NIOHTTP2

final class PushSinkHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private let sink: PushSink
    private let manners: PushSink.Manners
    private var streams: [HTTP2StreamID: (headers: HPACKHeaders, body: [UInt8])] = [:]
    /// The highest processed stream.
    private var last = HTTP2StreamID.rootStream
    private var count = 0
    private var received = 0
    private var hasSaidGoAway = false
    private var isWidened = false

    init(_ sink: PushSink, _ manners: PushSink.Manners) {
        self.sink = sink
        self.manners = manners
    }

    func channelActive(context: ChannelHandlerContext) {
        sink.recordConnection()
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        let id = frame.streamID
        switch frame.payload {
        case .headers(let headers):
            guard !hasSaidGoAway else { return }
            guard !manners.leavesAtOnce else {
                hasSaidGoAway = true
                write(context, .rootStream, .goAway(lastStreamID: .rootStream, errorCode: .noError, opaqueData: nil))
                return
            }
            count += 1
            if let every = manners.refusesEvery, count % every == 0 {
                write(context, id, .rstStream(.refusedStream))
                return
            }
            streams[id] = (headers.headers, [])
            sink.recordStreams(streams.count)
            if headers.endStream { handle(context, id) }
        case .data(let data):
            received += data.data.readableBytes
            guard streams[id] != nil else { return }
            if case .byteBuffer(let bytes) = data.data { streams[id]?.body += Array(bytes.readableBytesView) }
            if data.endStream { handle(context, id) }
        default: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if received > 0 { write(context, .rootStream, .windowUpdate(windowSizeIncrement: received)) }
        received = 0
        context.flush()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Later streams are ignored after GOAWAY.
        if !hasSaidGoAway { context.close(promise: nil) }
    }

    private func handle(_ context: ChannelHandlerContext, _ id: HTTP2StreamID) {
        guard let (headers, body) = streams.removeValue(forKey: id) else { return }
        last = max(last, id)
        switch sink.receive(headers, body) {
        case .answer(let answer): self.answer(context, id, answer)
        case .reset: write(context, id, .rstStream(.internalError))
        case .close: context.close(promise: nil)
        case .silence: break
        case .late(let time, let answer):
            later(context, id, answer) { try? await Task.sleep(for: time) }
        case .held(let latch, let answer): later(context, id, answer, after: latch.wait)
        }
        if let most = manners.requestsBeforeGoAway, count >= most, !hasSaidGoAway {
            hasSaidGoAway = true
            // Streams after the last processed one are ignored.
            streams = streams.filter { $0.key < last }
            write(context, .rootStream, .goAway(lastStreamID: last, errorCode: .noError, opaqueData: nil))
        }
    }

    private func later(
        _ context: ChannelHandlerContext, _ id: HTTP2StreamID, _ answer: PushSink.Answer,
        after wait: @escaping @Sendable () async -> Void
    ) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let loop = context.eventLoop
        Task {
            await wait()
            loop.execute {
                let (handler, context) = bound.value
                handler.answer(context, id, answer)
                context.flush()
            }
        }
    }

    private func answer(_ context: ChannelHandlerContext, _ id: HTTP2StreamID, _ answer: PushSink.Answer) {
        var fields = HPACKHeaders([(":status", "\(answer.status)")])
        for (name, value) in answer.headers { fields.add(name: name, value: value) }
        write(context, id, .headers(.init(headers: fields, endStream: answer.body.isEmpty)))
        if !answer.body.isEmpty {
            write(context, id, .data(.init(data: .byteBuffer(ByteBuffer(string: answer.body)), endStream: true)))
        }
        guard let streams = manners.streamsAfterFirst, answer.status == 200, !isWidened else { return }
        isWidened = true
        write(
            context, .rootStream,
            .settings(.settings([HTTP2Setting(parameter: .maxConcurrentStreams, value: streams)])))
    }

    private func write(_ context: ChannelHandlerContext, _ id: HTTP2StreamID, _ payload: HTTP2Frame.FramePayload) {
        context.write(wrapOutboundOut(HTTP2Frame(streamID: id, payload: payload)), promise: nil)
    }
}
