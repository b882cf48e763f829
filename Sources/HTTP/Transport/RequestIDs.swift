import Synchronization

/// A short id under which the log speaks about a request; its text is made where it is told.
public struct RequestID: Sendable, CustomStringConvertible {
    private let number: UInt64

    /// An id with some number.
    public init(_ number: UInt64) {
        self.number = number
    }

    public var description: String { String(number, radix: 36) }
}

/// Gives ids to requests: unique in the process, and unlikely to repeat in the next one.
package final class RequestIDs: Sendable {
    private let counter = Atomic<UInt64>(UInt64.random(in: 0..<(1 << 40)))

    package func next() -> RequestID {
        RequestID(counter.add(1, ordering: .relaxed).newValue)
    }
}
