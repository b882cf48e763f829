import Limits
import NIOCore
import Synchronization

/// Input of a connection that no request has consumed yet: unparsed bytes, heads and pieces of bodies.
///
/// Up to 4 KB per connection don't count. If there is more, all of it counts as transfer memory.
package final class HeldInput: Sendable {
    private struct State {
        var bytes = 0
        var counted = 0
        /// The bytes passed to the parser since it last produced a part. `passedLines` is the estimated memory of their
        /// lines in bytes.
        var passed = 0
        var passedLines = 0
        /// Whether the client waits for memory, so that its input may exceed the memory limit.
        var isExempt = false
        var ticket: TransferTimeout.Ticket?
    }

    /// The bytes of waiting input that each connection may hold without counting as transfer memory.
    package static let uncounted = 4096
    /// The estimated bytes that a parsed line of a head takes beyond its text.
    package static let line = 128
    /// Bytes are released in steps of this size, except for the last ones.
    private static let step = 16 * 1024

    private let state = Mutex(State())
    private let transferTimeout: TransferTimeout

    package init(_ transferTimeout: TransferTimeout) { self.transferTimeout = transferTimeout }

    @inline(never)
    package func add(_ count: Int) { state.withLock { $0.bytes += count } }

    /// Counts the waiting bytes as transfer memory. Returns false if memory is full.
    @inline(never)
    package func hold(on channel: any Channel, of network: Sender) -> Bool {
        state.withLock { state in
            guard state.bytes > Self.uncounted, state.bytes > state.counted else { return true }
            let ticket = state.ticket ?? transferTimeout.begin(.input, on: channel, of: network)
            state.ticket = ticket
            if state.isExempt {
                transferTimeout.exempt(ticket, atLeast: state.bytes)
            } else if !transferTimeout.hold(ticket, atLeast: state.bytes) {
                return false
            }
            state.counted = state.bytes
            return true
        }
    }

    /// Starts or ends an exemption of the input from the memory limit, for the time that the client waits for memory.
    @inline(never)
    package func exempt(_ isExempt: Bool) {
        state.withLock { state in
            state.isExempt = isExempt
            guard let ticket = state.ticket else { return }
            if isExempt {
                transferTimeout.exempt(ticket, atLeast: state.counted)
            } else {
                transferTimeout.endExemption(ticket)
            }
        }
    }

    /// Removes bytes that a request or the WebSocket connection has consumed.
    @inline(never)
    package func remove(_ count: Int) {
        state.withLock { state in
            state.bytes = max(0, state.bytes - count)
            guard let ticket = state.ticket else { return }
            if state.bytes <= Self.uncounted {
                transferTimeout.end(ticket)
                (state.ticket, state.counted) = (nil, 0)
            } else {
                transferTimeout.moved(ticket, bytes: count)
                guard state.counted - state.bytes >= Self.step else { return }
                transferTimeout.release(ticket, bytes: state.counted - state.bytes)
                state.counted = state.bytes
            }
        }
    }

    /// Records that bytes were passed to the parser. Until it produces a part, they are assumed to belong to a head,
    /// whose lines take additional memory.
    @inline(never)
    package func pass(_ count: Int, lines: Int = 0) {
        state.withLock { state in
            state.passed += count
            state.passedLines += lines * Self.line
            state.bytes += lines * Self.line
        }
    }

    /// Returns the number of input bytes that belong to the part just parsed, and resets the count.
    @inline(never)
    package func drainPassed(ofHead isHead: Bool = false) -> Int {
        state.withLock { state in
            defer { (state.passed, state.passedLines) = (0, 0) }
            if isHead { return state.passed + state.passedLines }
            state.bytes = max(0, state.bytes - state.passedLines)
            return state.passed
        }
    }

    /// Stops counting the connection's input.
    package func removeAll() { remove(.max) }
}
