import NIOCore
import Synchronization
import Tasks

/// The slots of WebSocket connections among all connections. They stay for as long as their clients like, so that they
/// may not have all: requests need some, too. One network has at most half of these slots.
final class WebSocketSlots: Sendable {
    private struct Place {
        let sender: Sender
        /// The connection of a client that is not known yet; nil once it is.
        var unknown: (any Channel)?
    }

    private struct State {
        /// The slots that are taken, by their numbers; the later was taken later.
        var taken: [Int: Place] = [:]
        var count: [Sender: Int] = [:]
        var lastNumber = 0
        /// No client that is not known has a smaller number.
        var firstUnknown = 1

        mutating func free(_ number: Int) -> (any Channel)? {
            guard let slot = taken.removeValue(forKey: number) else { return nil }
            let rest = count[slot.sender, default: 1] - 1
            count[slot.sender] = rest > 0 ? rest : nil
            return slot.unknown
        }

        /// Frees the slot of the client that has not been known for the longest time, of one network or of any.
        mutating func freeUnknown(of sender: Sender? = nil) -> (any Channel)? {
            if let sender {
                let own = taken.lazy.filter { $0.value.unknown != nil && $0.value.sender == sender }
                return own.map(\.key).min().flatMap { free($0) }
            }
            while firstUnknown <= lastNumber {
                let number = firstUnknown
                firstUnknown += 1
                if taken[number]?.unknown != nil { return free(number) }
            }
            return nil
        }
    }

    private let state = Mutex(State())
    private let most: Int
    private let share: Int

    /// - Parameter most: How many there are.
    init(most: Int) {
        self.most = most
        share = max(1, most / 2)
    }

    /// Takes a slot; where there is none, that of a client that is not known yet, whose connection is closed.
    ///
    /// - Parameters:
    ///   - sender: The network of the client.
    ///   - isUnknown: Whether the client is not known yet.
    /// - Returns: The number of the slot; nil when there is none.
    func take(_ channel: any Channel, of sender: Sender, isUnknown: Bool) -> Int? {
        let (number, victim) = state.withLock { state -> (Int?, (any Channel)?) in
            var victim: (any Channel)?
            if state.count[sender, default: 0] >= share {
                victim = state.freeUnknown(of: sender)
            } else if state.taken.count >= most {
                victim = state.freeUnknown()
            }
            guard state.taken.count < most, state.count[sender, default: 0] < share else { return (nil, victim) }
            state.lastNumber += 1
            state.taken[state.lastNumber] = Place(sender: sender, unknown: isUnknown ? channel : nil)
            state.count[sender, default: 0] += 1
            return (state.lastNumber, victim)
        }
        victim?.abort()
        return number
    }

    /// Notes that the client at a slot is known: it keeps it.
    func know(_ number: Int) { state.withLock { state in state.taken[number]?.unknown = nil } }

    var taken: Int { state.withLock { $0.taken.count } }

    func leave(_ number: Int) { state.withLock { state in _ = state.free(number) } }

    /// Closes so many connections whose clients are not known, those that have been there for the longest time.
    func closeUnknown(_ count: Int) {
        for _ in 0..<count {
            guard let channel = state.withLock({ $0.freeUnknown() }) else { return }
            channel.abort()
        }
    }
}
