import Synchronization

/// Short ids for requests: unique in the process, and unlikely to repeat in the next one.
final class RequestIDs: Sendable {
    private let counter = Atomic<UInt64>(UInt64.random(in: 0..<(1 << 40)))

    func next() -> String {
        let value = counter.add(1, ordering: .relaxed).newValue
        return String(value, radix: 36)
    }
}
