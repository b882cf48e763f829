import Limits
import NIOCore
import NIOPosix
import Platform

/// Defers work of an event loop until the loop has polled its sockets again: one piece per turn, round robin by sender.
///
/// SwiftNIO runs all tasks of a loop before it polls the sockets. So each turn is triggered by a byte in a pipe, which
/// arrives after the input of the sockets.
package final class LoopQueue: Sendable {
    private struct State {
        var waiting = SenderQueue<() -> Void>()
        var isComing = false
        /// The time of the first read since the loop polled its sockets, or nil before that read.
        var firstRead: NIODeadline?
    }

    private static let all = Dictionary(
        uniqueKeysWithValues: MultiThreadedEventLoopGroup.singleton.makeIterator().map {
            (ObjectIdentifier($0), LoopQueue(of: $0))
        })

    /// Returns the queue of an event loop, or nil if the loop serves no connections.
    package static func of(_ eventLoop: any EventLoop) -> LoopQueue? { all[ObjectIdentifier(eventLoop)] }

    /// The maximum read time per poll. Later reads wait for the next poll.
    private static let maxTime = TimeAmount.milliseconds(1)
    /// The interval between turns if the system provided no pipe.
    private static let pause = TimeAmount.milliseconds(1)

    private let eventLoop: any EventLoop
    private let state: NIOLoopBoundBox<State>
    /// A pipe from the loop to itself.
    private let bell: EventLoopFuture<any Channel>
    /// The task that runs after the loop has read all ready sockets.
    private let endReads: @Sendable () -> Void

    private init(of eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        let state = NIOLoopBoundBox.makeBoxSendingValue(State(), eventLoop: eventLoop)
        self.state = state
        endReads = { state.value.firstRead = nil }
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else {
            bell = eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
            return
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        bell = NIOPipeBootstrap(group: eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Arrival()) }
            }
            .takingOwnershipOfDescriptors(input: ends[0], output: ends[1])
    }

    /// Runs work in a later turn. Call it on the event loop.
    package func later(of sender: Sender, _ work: @escaping () -> Void) {
        state.value.waiting.append(work, of: sender)
        call()
    }

    /// Returns whether a read should wait for a later turn because the reads before it took too long. Call it on the
    /// event loop, once per read.
    package func isLate() -> Bool {
        let now = NIODeadline.now()
        if let first = state.value.firstRead { return now - first >= Self.maxTime }
        state.value.firstRead = now
        eventLoop.execute(endReads)
        return false
    }

    func wait(of sender: Sender) async {
        guard eventLoop.inEventLoop else { return }
        await withCheckedContinuation { continuation in later(of: sender) { continuation.resume() } }
    }

    private func call() {
        guard !state.value.isComing, !state.value.waiting.isEmpty else { return }
        state.value.isComing = true
        bell.whenComplete { [self] bell in
            if case .success(let channel) = bell {
                channel.writeAndFlush(ByteBuffer(integer: UInt8(0)), promise: nil)
            } else {
                eventLoop.scheduleTask(in: Self.pause) { self.begin() }
            }
        }
    }

    fileprivate func begin() {
        state.value.isComing = false
        let next = state.value.waiting.popFirst()
        next?.element()
        call()
    }

    private final class Arrival: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            LoopQueue.of(context.eventLoop)?.begin()
        }
    }
}
