import NIOCore
import Synchronization
import Tasks

/// The bytes that a client sent on a connection and no request has taken: unparsed, heads, and pieces of bodies.
///
/// A connection keeps a few uncounted. More of them count as memory of transfers.
final class HeldInput: Sendable {
    private struct State {
        var bytes = 0
        var counted = 0
        /// Those passed to the parser since the last part came out of it.
        var passed = 0
        /// Whether the client waits for memory: then none of this is its fault.
        var isExcused = false
        var ticket: TransferTimeout.Ticket?
    }

    /// The bytes of a connection that count as nothing.
    static let uncounted = 4096
    /// How many bytes are given back at a time, but for the last.
    private static let step = 16 * 1024

    private let state = Mutex(State())
    private let transferTimeout: TransferTimeout?

    /// - Parameter transferTimeout: Counts the bytes, or nil to count none.
    init(_ transferTimeout: TransferTimeout?) { self.transferTimeout = transferTimeout }

    /// Adds bytes that came.
    @inline(never)
    func add(_ count: Int) { state.withLock { $0.bytes += count } }

    /// Counts what waits now. Returns false if there is no memory for it.
    @inline(never)
    func hold(on channel: any Channel, of network: Sender) -> Bool {
        state.withLock { state in
            guard let transferTimeout, state.bytes > Self.uncounted, state.bytes > state.counted else { return true }
            let ticket = state.ticket ?? transferTimeout.begin(.input, on: channel, of: network)
            state.ticket = ticket
            if state.isExcused {
                transferTimeout.excuse(ticket, atLeast: state.bytes)
            } else if !transferTimeout.hold(ticket, atLeast: state.bytes) {
                return false
            }
            state.counted = state.bytes
            return true
        }
    }

    /// Excuses the client while it waits for memory.
    @inline(never)
    func excuse(_ isExcused: Bool) {
        state.withLock { state in
            state.isExcused = isExcused
            if isExcused, let ticket = state.ticket { transferTimeout?.excuse(ticket, atLeast: state.counted) }
        }
    }

    /// Counts bytes that a request took.
    @inline(never)
    func remove(_ count: Int) {
        state.withLock { state in
            state.bytes = max(0, state.bytes - count)
            guard let transferTimeout, let ticket = state.ticket else { return }
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

    /// Records that bytes were passed to the parser.
    @inline(never)
    func pass(_ count: Int) { state.withLock { $0.passed += count } }

    /// The bytes that a part took which comes out of the parser now.
    @inline(never)
    func takePassed() -> Int {
        state.withLock { state in
            defer { state.passed = 0 }
            return state.passed
        }
    }

    /// Counts nothing any more.
    func removeAll() { remove(.max) }
}
