import DequeModule
import Synchronization

/// The events of a listening connection that its consumer has not read yet.
///
/// Its size in bytes is limited. On overflow all events are dropped, and the consumer gets `disconnected` and
/// `connected` as if the connection had been reopened, so that it knows notifications were lost.
package final class EventBuffer: Sendable {
    private struct State {
        var events: Deque<PostgresEvent> = []
        var bytes = 0
        var isFinished = false
        var consumer: UnsafeContinuation<PostgresEvent?, Never>?

        mutating func dequeue() -> PostgresEvent? {
            guard let event = events.popFirst() else { return nil }
            bytes -= event.size
            return event
        }
    }

    private let capacity: Int
    private let state = Mutex(State())

    /// - Parameter capacity: The maximum total size of the events in bytes.
    package init(capacity: Int = 4 * 1024 * 1024) { self.capacity = capacity }

    package func append(_ event: PostgresEvent) {
        let consumer = state.withLock { state -> UnsafeContinuation<PostgresEvent?, Never>? in
            guard !state.isFinished else { return nil }
            if let consumer = state.consumer.take() { return consumer }
            if state.bytes + event.size > capacity {
                state.events = [.disconnected, .connected]
                state.bytes = state.events.reduce(0) { $0 + $1.size }
            } else {
                state.events.append(event)
                state.bytes += event.size
            }
            return nil
        }
        consumer?.resume(returning: event)
    }

    /// Ends the stream. The consumer still gets the buffered events, then nil.
    package func finish() {
        let consumer = state.withLock { state in
            state.isFinished = true
            return state.consumer.take()
        }
        consumer?.resume(returning: nil)
    }

    /// Waits for the next event. Returns nil at the end of the stream or on cancellation. Supports a single consumer.
    package func next() async -> PostgresEvent? {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { wait(with: $0) }
        } onCancel: {
            finish()
        }
    }

    private func wait(with consumer: UnsafeContinuation<PostgresEvent?, Never>) {
        let event = state.withLock { state -> PostgresEvent?? in
            if let event = state.dequeue() { return .some(event) }
            if state.isFinished { return .some(nil) }
            state.consumer = consumer
            return nil
        }
        if let event { consumer.resume(returning: event) }
    }
}

/// The handle that an event consumer owns. Listening ends when it is freed.
final class Listening: Sendable {
    let events = EventBuffer()
    private let end: @Sendable () -> Void

    init(end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }
}

/// An event of a listening connection.
public enum PostgresEvent: Sendable {
    /// The connection listens, for the first time or again, or a slow consumer's buffer overflowed. Earlier
    /// notifications may be lost, so caches must be dropped.
    case connected
    case notification(channel: String, payload: String)
    /// The connection broke and is being reopened, or a slow consumer's buffer overflowed.
    case disconnected

    /// The approximate memory use in bytes.
    fileprivate var size: Int {
        guard case .notification(let channel, let payload) = self else { return 64 }
        return 64 + channel.utf8.count + payload.utf8.count
    }
}
