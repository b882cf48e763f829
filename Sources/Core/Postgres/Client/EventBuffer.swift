import DequeModule
import Synchronization

/// The events of a listening connection until their consumer takes them.
///
/// It holds a limited number of bytes. When more come than a slow consumer takes, all of them are dropped, and the
/// consumer is notified as if the connection had been made anew: what was announced meanwhile is lost.
package final class EventBuffer: Sendable {
    private struct State {
        var events: Deque<PostgresEvent> = []
        var bytes = 0
        var isFinished = false
        var consumer: UnsafeContinuation<PostgresEvent?, Never>?

        /// The next event; nil where none is there.
        mutating func take() -> PostgresEvent? {
            guard let event = events.popFirst() else { return nil }
            bytes -= event.size
            return event
        }
    }

    private let capacity: Int
    private let state = Mutex(State())

    /// Makes an empty buffer.
    ///
    /// - Parameter capacity: How many bytes of events it holds.
    package init(capacity: Int = 4 * 1024 * 1024) { self.capacity = capacity }

    package func append(_ event: PostgresEvent) {
        let consumer = state.withLock { state -> UnsafeContinuation<PostgresEvent?, Never>? in
            guard !state.isFinished else { return nil }
            if let consumer = state.consumer {
                state.consumer = nil
                return consumer
            }
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

    /// Ends the events: the consumer gets those that are there, and then nil.
    package func finish() {
        let consumer = state.withLock { state in
            state.isFinished = true
            defer { state.consumer = nil }
            return state.consumer
        }
        consumer?.resume(returning: nil)
    }

    /// The next event, which is waited for; nil at the end, and when the task is cancelled. There is one consumer.
    package func next() async -> PostgresEvent? {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { wait(with: $0) }
        } onCancel: {
            finish()
        }
    }

    private func wait(with consumer: UnsafeContinuation<PostgresEvent?, Never>) {
        let event = state.withLock { state -> PostgresEvent?? in
            if let event = state.take() { return .some(event) }
            if state.isFinished { return .some(nil) }
            state.consumer = consumer
            return nil
        }
        if let event { consumer.resume(returning: event) }
    }
}

/// What a consumer of events holds on to; listening ends with it.
final class Listening: Sendable {
    let events = EventBuffer()
    private let end: @Sendable () -> Void

    init(end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }
}

extension PostgresEvent {
    /// Approximate memory in bytes.
    fileprivate var size: Int {
        guard case .notification(let channel, let payload) = self else { return 64 }
        return 64 + channel.utf8.count + payload.utf8.count
    }
}

/// What a listening connection reports.
public enum PostgresEvent: Sendable {
    /// The connection stands and listens, for the first time or again, or more was announced than its listener took:
    /// what was announced in between is lost, so that caches must be dropped.
    case connected
    /// A notification came.
    case notification(channel: String, payload: String)
    /// The connection broke; it is being made anew.
    case disconnected
}
