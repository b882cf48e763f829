import NIOCore

/// Combines writes until the next flush, because each small HTTP/2 frame would otherwise become a TLS record.
final class WriteGatherer: ChannelOutboundHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private var gathered = ByteBuffer()
    private var promises: [EventLoopPromise<Void>] = []

    /// The number of gathered bytes at which they are passed on without waiting for a flush.
    private static let maxGatheredBytes = 65_536

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .byteBuffer(var bytes) = unwrapOutboundIn(data) else {
            pass(context)
            return context.write(data, promise: promise)
        }
        gathered.writeBuffer(&bytes)
        if let promise { promises.append(promise) }
        if gathered.readableBytes >= Self.maxGatheredBytes { pass(context) }
    }

    func flush(context: ChannelHandlerContext) {
        pass(context)
        context.flush()
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        flush(context: context)
        context.close(mode: mode, promise: promise)
    }

    private func pass(_ context: ChannelHandlerContext) {
        guard gathered.readableBytes > 0 else { return }
        var promise: EventLoopPromise<Void>?
        if !promises.isEmpty {
            let (waiting, made) = (promises, context.eventLoop.makePromise(of: Void.self))
            promises = []
            made.futureResult.whenComplete { result in for promise in waiting { promise.completeWith(result) } }
            promise = made
        }
        context.write(wrapOutboundOut(.byteBuffer(gathered)), promise: promise)
        gathered = context.channel.allocator.buffer(capacity: Self.maxGatheredBytes)
    }
}
