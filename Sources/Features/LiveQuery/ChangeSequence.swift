import JSON
import Limits
import Operations

/// Restores the order in which changes were made. Changes of several processes and transactions may arrive in another
/// order. A change follows another if its previous state is the other's result.
package struct ChangeSequence {
    private struct Key: Hashable {
        let className: Name
        let objectId: Name
    }

    /// The last delivered version of an object.
    private struct Version {
        /// The numbers of the latest delivered change and of the first one since the object has been remembered.
        let number: Int64
        let first: Int64
        /// The object after the change, or nil if it was deleted or is too large to be remembered.
        let object: JSONObject?
        let isKnown: Bool
    }

    private typealias Held = (change: Change, number: Int64, deadline: ContinuousClock.Instant)

    /// The time that a change waits for a missing predecessor.
    package static let timeForMissing = Duration.seconds(1)
    /// The time that a change waits if nothing is known about its object.
    package static let timeForUnknown = Duration.milliseconds(100)

    /// The maximum size in bytes of remembered objects.
    private static let maxBytes = 4 * 1024 * 1024
    private static let minWeight = 256
    /// The limits of waiting changes, in number and bytes. Once one is reached, further changes don't wait.
    private static let (maxHeld, maxHeldBytes) = (10_000, 16 * 1024 * 1024)
    /// The minimum interval between two checks for overdue changes.
    private static let pause = Duration.milliseconds(10)

    private var table = BoundedTable<Key, Version>(capacity: maxBytes)
    private var held: [Key: [Held]] = [:]
    private var heldCount = 0
    private var heldBytes = 0

    /// The time of the next check for overdue changes, or nil if no change is waiting.
    package private(set) var nextDeadline: ContinuousClock.Instant?

    package init() {}

    /// Adds a change.
    ///
    /// - Parameter mayBeLate: Whether earlier changes of other processes may arrive after it.
    /// - Returns: The changes to deliver now, with the state of their objects that followers know.
    package mutating func add(_ change: Change, mayBeLate: Bool, at now: ContinuousClock.Instant) -> [Change] {
        guard let number = change.number else { return [change] }
        let key = Key(className: Name(change.className), objectId: Name(change.objectId))
        let last = table.value(of: key)
        if let last, number <= last.number {
            // The last version already includes this change, unless it precedes all remembered changes.
            guard number < last.first, last.isKnown else { return [] }
            var change = change
            change.known = .later(last.object)
            return [change]
        }
        let isFull = heldCount >= Self.maxHeld || heldBytes >= Self.maxHeldBytes
        let time = isFull ? .zero : Self.time(change, last, mayBeLate: mayBeLate)
        var waiting = held.removeValue(forKey: key) ?? []
        let place = waiting.firstIndex { $0.number > number } ?? waiting.endIndex
        waiting.insert((change, number, now + time), at: place)
        heldCount += 1
        heldBytes += change.size
        let changes = drain(key, waiting, now)
        if heldCount == 0 {
            nextDeadline = nil
        } else if held[key] != nil {
            nextDeadline = min(nextDeadline ?? now + time, now + time)
        }
        return changes
    }

    /// Returns the waiting changes that are overdue, and later ones of the same objects that can follow them.
    package mutating func removeOverdue(at now: ContinuousClock.Instant) -> [Change] {
        let keys = held.filter { $0.value.contains { $0.deadline <= now } }.keys
        let changes = keys.flatMap { key in drain(key, held.removeValue(forKey: key) ?? [], now) }
        let next = held.values.lazy.flatMap { $0 }.map(\.deadline).min()
        nextDeadline = next.map { max($0, now + Self.pause) }
        return changes
    }

    /// Forgets the objects of a class, or all objects. Necessary because new followers know a later state, and because
    /// change numbers may restart after a database failover. Waiting changes aren't delivered.
    package mutating func forget(_ className: Name?) {
        for key in held.keys where className == nil || key.className == className {
            let changes = held.removeValue(forKey: key) ?? []
            heldCount -= changes.count
            heldBytes -= changes.reduce(0) { $0 + $1.change.size }
        }
        if let className {
            table.removeAll { key, _ in key.className == className }
        } else {
            table.removeAll()
        }
    }

    private static func time(_ change: Change, _ last: Version?, mayBeLate: Bool) -> Duration {
        guard change.size < Change.largeSize else { return .zero }
        if let last { return last.isKnown ? timeForMissing : .zero }
        // Nothing can precede the creation of an object.
        return mayBeLate && change.before != nil ? timeForUnknown : .zero
    }

    private mutating func drain(_ key: Key, _ waiting: [Held], _ now: ContinuousClock.Instant) -> [Change] {
        var waiting = waiting[...]
        var changes: [Change] = []
        while let next = waiting.first {
            var change = next.change
            if let last = table.value(of: key), last.isKnown, last.object != change.before {
                guard waiting.contains(where: { $0.deadline <= now }) else { break }
                change.known = .earlier(last.object)
            } else if table.peek(key) == nil, !waiting.contains(where: { $0.deadline <= now }) {
                break
            }
            waiting.removeFirst()
            heldCount -= 1
            heldBytes -= change.size
            remember(change, next.number, key)
            changes.append(change)
        }
        if !waiting.isEmpty { held[key] = Array(waiting) }
        return changes
    }

    private mutating func remember(_ change: Change, _ number: Int64, _ key: Key) {
        let isKnown = change.size < Change.largeSize
        let version = Version(
            number: number, first: table.peek(key)?.first ?? number, object: isKnown ? change.after : nil,
            isKnown: isKnown)
        table.set(version, for: key, weight: max(isKnown ? change.size : 0, Self.minWeight))
    }
}
