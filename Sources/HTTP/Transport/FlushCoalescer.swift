import NIOCore

/// The end of an event loop's turn, when the answers that were written during it are sent, one right after the other.
///
/// The first answer that is sent wakes a client. On a machine of few processors it pushes the server aside at once, finds
/// that one answer, and waits again; and so it goes for each. When the others follow closely, it finds several.
final class FlushCoalescer: Sendable {
    private let eventLoop: any EventLoop
    /// The channels with something to send.
    private let channels: NIOLoopBoundBox<[any Channel]>

    init(of eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        channels = .makeBoxSendingValue([], eventLoop: eventLoop)
    }

    /// Sends what was written to a channel of the event loop, when its turn ends; at once from elsewhere, where nobody
    /// knows of turns.
    func flush(_ channel: any Channel) {
        guard eventLoop.inEventLoop else { return channel.flush() }
        channels.value.append(channel)
        // Tasks of this turn that are waiting already come first.
        if channels.value.count == 1 { eventLoop.execute { self.flushAll() } }
    }

    private func flushAll() {
        var index = 0
        while index < channels.value.count {
            channels.value[index].flush()
            index += 1
        }
        channels.value.removeAll(keepingCapacity: true)
    }
}
