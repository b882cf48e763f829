import Limits
import NIOCore
import Synchronization

/// The slots for WebSocket connections. They are a share of all connections, because WebSocket connections are
/// long-lived and requests need connections too. A network gets at most half of the slots.
package final class WebSocketSlots: Sendable {
    private struct Place {
        let sender: Sender
        /// The connection of a client that has not authenticated, or nil once it has.
        var unknown: (any Channel)?
    }

    private struct State {
        /// The taken slots by number. Higher numbers were taken later.
        var occupied: [Int: Place] = [:]
        var count: [Sender: Int] = [:]
        var lastNumber = 0
        /// The slot number at which to start looking for the oldest unauthenticated client. All lower slots are free or
        /// authenticated.
        var firstUnknown = 1

        mutating func free(_ number: Int) -> (any Channel)? {
            guard let slot = occupied.removeValue(forKey: number) else { return nil }
            let rest = count[slot.sender, default: 1] - 1
            count[slot.sender] = rest > 0 ? rest : nil
            return slot.unknown
        }

        /// Evicts the oldest unauthenticated client, optionally only within one network, and returns its connection.
        mutating func freeUnknown(of sender: Sender? = nil) -> (any Channel)? {
            if let sender {
                let own = occupied.lazy.filter { $0.value.unknown != nil && $0.value.sender == sender }
                return own.map(\.key).min().flatMap { free($0) }
            }
            while firstUnknown <= lastNumber {
                let number = firstUnknown
                firstUnknown += 1
                if occupied[number]?.unknown != nil { return free(number) }
            }
            return nil
        }
    }

    private let state = Mutex(State())
    private let limit: Int
    private let share: Int
    private let handshakes: Gate

    private static let pauses = Duration.milliseconds(2)...Duration.milliseconds(20)

    /// - Parameters:
    ///   - limit: The number of slots.
    ///   - handshakes: The maximum number of concurrent handshakes.
    package init(limit: Int, handshakes: Int = System.coreCount) {
        self.limit = limit
        share = max(1, limit / 2)
        self.handshakes = Gate(capacity: handshakes)
    }

    /// Runs a handshake when it is its turn, round robin by network, and then pauses for three times its duration, at
    /// least 2 ms and at most 20 ms. So endless handshakes leave most of the event loops' time to requests.
    ///
    /// - Throws: The errors of `body`, or `CancellationError` if the client disconnects while waiting.
    package func shakeHands<R: Sendable>(
        of sender: Sender, on eventLoop: any EventLoop, _ body: () async throws -> R
    ) async throws -> R {
        try await handshakes.enter(of: sender)
        let begin = ContinuousClock.now
        defer {
            let pause = min(max((ContinuousClock.now - begin) * 3, Self.pauses.lowerBound), Self.pauses.upperBound)
            eventLoop.scheduleTask(in: TimeAmount(pause)) { [handshakes] in handshakes.leave(of: sender) }
        }
        return try await body()
    }

    /// Acquires a slot. If all of them, or all that the network may have, are taken, evicts an unauthenticated client
    /// and closes its connection.
    ///
    /// - Returns: The slot number, or nil if no slot is available.
    func acquire(_ channel: any Channel, of sender: Sender, isUnknown: Bool) -> Int? {
        let (number, victim) = state.withLock { state -> (Int?, (any Channel)?) in
            var victim: (any Channel)?
            if state.count[sender, default: 0] >= share {
                victim = state.freeUnknown(of: sender)
            } else if state.occupied.count >= limit {
                victim = state.freeUnknown()
            }
            guard state.occupied.count < limit, state.count[sender, default: 0] < share else { return (nil, victim) }
            state.lastNumber += 1
            state.occupied[state.lastNumber] = Place(sender: sender, unknown: isUnknown ? channel : nil)
            state.count[sender, default: 0] += 1
            return (state.lastNumber, victim)
        }
        victim?.abort()
        return number
    }

    /// Marks the client of a slot as authenticated, so that it isn't evicted.
    func know(_ number: Int) { state.withLock { state in state.occupied[number]?.unknown = nil } }

    var occupied: Int { state.withLock { $0.occupied.count } }

    func leave(_ number: Int) { state.withLock { state in _ = state.free(number) } }

    /// Closes the connections of unauthenticated clients, oldest first, at most `count`.
    func closeUnknown(_ count: Int) {
        for _ in 0..<count {
            guard let channel = state.withLock({ $0.freeUnknown() }) else { return }
            channel.abort()
        }
    }
}
