import NIOCore
import Synchronization

/// The places of WebSocket connections among all connections. They stay for as long as their clients like, so that they
/// may not have all: requests need some, too.
final class WebSocketPlaces: Sendable {
    private struct State {
        /// The numbers of the places that are taken; the later was taken later.
        var taken: Set<Int> = []
        /// Connections whose clients are not known yet.
        var strangers: [Int: any Channel] = [:]
        var lastNumber = 0
        /// No stranger has a smaller number.
        var firstStranger = 1

        /// Frees the place of the stranger that has been there for the longest time.
        mutating func removeStranger() -> (any Channel)? {
            while !strangers.isEmpty {
                let number = firstStranger
                firstStranger += 1
                guard let channel = strangers.removeValue(forKey: number) else { continue }
                taken.remove(number)
                return channel
            }
            return nil
        }
    }

    private let state = Mutex(State())
    private let most: Int

    /// - Parameter most: How many there are.
    init(most: Int) { self.most = most }

    /// Takes a place; where there is none, that of a client that is not known yet, whose connection is closed.
    ///
    /// - Parameter isStranger: Whether the client is not known yet.
    /// - Returns: The number of the place; nil when there is none.
    func take(_ channel: any Channel, isStranger: Bool) -> Int? {
        let (number, victim) = state.withLock { state -> (Int?, (any Channel)?) in
            let victim = state.taken.count >= most ? state.removeStranger() : nil
            guard state.taken.count < most else { return (nil, victim) }
            state.lastNumber += 1
            state.taken.insert(state.lastNumber)
            if isStranger { state.strangers[state.lastNumber] = channel }
            return (state.lastNumber, victim)
        }
        victim?.abort()
        return number
    }

    /// Notes that the client at a place is known: it keeps it.
    func know(_ number: Int) { state.withLock { state in state.strangers[number] = nil } }

    /// Frees a place.
    func leave(_ number: Int) {
        state.withLock { state in
            state.strangers[number] = nil
            state.taken.remove(number)
        }
    }

    /// Closes so many connections whose clients are not known, those that have been there for the longest time.
    func closeStrangers(_ count: Int) {
        for _ in 0..<count {
            guard let channel = state.withLock({ $0.removeStranger() }) else { return }
            channel.abort()
        }
    }
}
