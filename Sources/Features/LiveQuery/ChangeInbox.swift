import Operations
import Synchronization

/// Changes queued for one connection or console watch, oldest first. Bounded, so a slow reader is cut off.
package final class ChangeInbox: Sendable {
    package enum Item: Sendable {
        /// An object of a followed class changed. `size` is in bytes.
        case change(Change, size: Int)
        /// A followed user changed. The user's session may have ended.
        case userChanged
        /// A marker, reached when all earlier entries have been processed.
        case mark(Mark)
    }

    /// A marker whose release signals that the connection has processed all earlier entries or has ended.
    package final class Mark: Sendable {
        private let continuation: AsyncStream<Never>.Continuation

        init(_ continuation: AsyncStream<Never>.Continuation) { self.continuation = continuation }

        deinit { continuation.finish() }
    }

    private static let maxItems = 1024
    /// The maximum size in bytes of queued changes. A single change may exceed it.
    private static let maxBytes = 16 * 1024 * 1024

    /// The entries, oldest first.
    package let items: AsyncStream<Item>
    /// A stream that finishes when the connection misses a change, for example because the inbox is full.
    package let overflow: AsyncStream<Never>
    private let continuation: AsyncStream<Item>.Continuation
    private let overflowContinuation: AsyncStream<Never>.Continuation
    private let bytes = Atomic(0)

    package init() {
        (items, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.maxItems))
        (overflow, overflowContinuation) = AsyncStream.makeStream()
    }

    /// Adds an entry. Finishes ``overflow`` if there is no room.
    func put(_ item: Item) {
        if case .change(_, let size) = item {
            let waiting = bytes.add(size, ordering: .relaxed).oldValue
            guard waiting == 0 || waiting + size <= Self.maxBytes else { return overflowContinuation.finish() }
        }
        if case .dropped = continuation.yield(item) { overflowContinuation.finish() }
    }

    /// Returns a stream that finishes once the connection has processed the current entries or has ended.
    func mark() -> AsyncStream<Never> {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        put(.mark(Mark(continuation)))
        return stream
    }

    /// Finishes ``overflow`` because a change was lost.
    func miss() { overflowContinuation.finish() }

    /// Frees the space of a processed change.
    func release(_ size: Int) { bytes.subtract(size, ordering: .relaxed) }
}
