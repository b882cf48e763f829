import Operations
import Synchronization

/// What waits to be sent to one connection: changes in their order, as many as a client that reads slowly may leave
/// lying.
package final class ChangeInbox: Sendable {
    /// Something that the connection looks at.
    package enum Item: Sendable {
        /// An object of a class that it follows changed; with how many bytes the change takes.
        case change(Change, size: Int)
        /// Something about one of its users changed: the session may have ended.
        case userChanged
        /// What came before was looked at.
        case mark(Mark)
    }

    /// Notes by its end that the connection looked at what came before it, or that there is no connection any more.
    package final class Mark: Sendable {
        private let continuation: AsyncStream<Never>.Continuation

        init(_ continuation: AsyncStream<Never>.Continuation) { self.continuation = continuation }

        deinit { continuation.finish() }
    }

    /// The most changes that wait.
    private static let mostItems = 1024
    /// The most bytes that they take; one change may take more.
    private static let mostBytes = 16 * 1024 * 1024

    /// What came, in its order.
    package let items: AsyncStream<Item>
    /// Ends when the connection would miss changes, as when more came than may wait.
    package let overflow: AsyncStream<Never>
    private let continuation: AsyncStream<Item>.Continuation
    private let overflowContinuation: AsyncStream<Never>.Continuation
    private let bytes = Atomic(0)

    package init() {
        (items, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.mostItems))
        (overflow, overflowContinuation) = AsyncStream.makeStream()
    }

    /// Puts something in, when there is room for it.
    func put(_ item: Item) {
        if case .change(_, let size) = item {
            let waiting = bytes.add(size, ordering: .relaxed).oldValue
            guard waiting == 0 || waiting + size <= Self.mostBytes else { return overflowContinuation.finish() }
        }
        if case .dropped = continuation.yield(item) { overflowContinuation.finish() }
    }

    /// What ends when the connection has looked at everything that is in here now, or has ended.
    func mark() -> AsyncStream<Never> {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        put(.mark(Mark(continuation)))
        return stream
    }

    /// Notes that there was a change that is not sent.
    func miss() { overflowContinuation.finish() }

    /// Notes that a change was sent.
    func take(_ size: Int) { bytes.subtract(size, ordering: .relaxed) }
}
