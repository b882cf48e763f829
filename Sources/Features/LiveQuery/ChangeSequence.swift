import JSON
import Operations
import Tasks

/// Brings changes into the order in which they were made: those of several processes, and of transactions, may come in
/// another one. What came before is known by its state: a change follows another when it found what that one left.
package struct ChangeSequence {
    private struct Key: Hashable {
        let className: Name
        let objectId: Name
    }

    /// What followers got last of an object.
    private struct Version {
        /// The number of the change that they got last, and of the first one that is remembered without a break.
        let number: Int64
        let first: Int64
        /// The object after it; nil where it is gone.
        let object: JSONObject?
        let isKnown: Bool
    }

    /// A change that waits for one before it.
    private struct Held {
        let change: Change
        let number: Int64
        let deadline: ContinuousClock.Instant
    }

    /// How long a change waits for those before it: where one is missing, and where nothing is known of the object.
    package static let timeForMissing = Duration.seconds(1)
    package static let timeForUnknown = Duration.milliseconds(100)

    /// The bytes of rows that are remembered, as values.
    private static let mostBytes = 4 * 1024 * 1024
    private static let leastWeight = 256
    /// How many changes wait at a time, and their bytes; with more of them no other waits.
    private static let (mostHeld, mostHeldBytes) = (10_000, 16 * 1024 * 1024)
    /// How long it is at least until those that have waited long enough are looked for once more.
    private static let pause = Duration.milliseconds(10)

    private var table = BoundedTable<Key, Version>(capacity: mostBytes)
    /// What waits, by its number.
    private var held: [Key: [Held]] = [:]
    private var heldCount = 0
    private var heldBytes = 0

    /// When changes that have waited long enough are to be looked for; nil where none waits.
    package private(set) var nextDeadline: ContinuousClock.Instant?

    package init() {}

    /// Takes a change.
    ///
    /// - Parameter mayBeLate: Whether changes of other processes, which were made before, may come after it.
    /// - Returns: The changes whose turn it is, with what followers know of their objects.
    package mutating func add(_ change: Change, mayBeLate: Bool, at now: ContinuousClock.Instant) -> [Change] {
        guard let number = change.number else { return [change] }
        let key = Key(className: Name(change.className), objectId: Name(change.objectId))
        let last = table.value(of: key)
        if let last, number <= last.number {
            // What is known of the last one has what this one did, unless it was made before all that is remembered.
            guard number < last.first, last.isKnown else { return [] }
            var change = change
            change.known = .later(last.object)
            return [change]
        }
        let isFull = heldCount >= Self.mostHeld || heldBytes >= Self.mostHeldBytes
        let time = isFull ? .zero : Self.time(change, last, mayBeLate: mayBeLate)
        var waiting = held.removeValue(forKey: key) ?? []
        let place = waiting.firstIndex { $0.number > number } ?? waiting.endIndex
        waiting.insert(Held(change: change, number: number, deadline: now + time), at: place)
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

    /// The changes that have waited long enough.
    package mutating func takeOverdue(at now: ContinuousClock.Instant) -> [Change] {
        let keys = held.filter { $0.value.contains { $0.deadline <= now } }.keys
        let changes = keys.flatMap { key in drain(key, held.removeValue(forKey: key) ?? [], now) }
        let next = held.values.lazy.flatMap { $0 }.map(\.deadline).min()
        nextDeadline = next.map { max($0, now + Self.pause) }
        return changes
    }

    /// Forgets the objects of a class, or everything: others may follow it from now on, who know more, and numbers begin anew
    /// in a database that another server took over.
    ///
    /// - Returns: Changes that waited, and are not handed on.
    @discardableResult
    package mutating func forget(_ className: Name?) -> [Change] {
        let keys = held.keys.filter { className == nil || $0.className == className }
        let changes = keys.flatMap { held.removeValue(forKey: $0) ?? [] }.map(\.change)
        heldCount -= changes.count
        heldBytes -= changes.reduce(0) { $0 + $1.size }
        if let className {
            table.removeAll { key, _ in key.className == className }
        } else {
            table.removeAll()
        }
        return changes
    }

    /// How long a change may wait.
    private static func time(_ change: Change, _ last: Version?, mayBeLate: Bool) -> Duration {
        guard change.size < ValuePlace.largeSize else { return .zero }
        if let last { return last.isKnown ? timeForMissing : .zero }
        // Before an object is made, nothing happens to it.
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
            note(change, next.number, key)
            changes.append(change)
        }
        if !waiting.isEmpty { held[key] = Array(waiting) }
        return changes
    }

    private mutating func note(_ change: Change, _ number: Int64, _ key: Key) {
        let isKnown = change.size < ValuePlace.largeSize
        let version = Version(
            number: number, first: table.peek(key)?.first ?? number, object: isKnown ? change.after : nil,
            isKnown: isKnown)
        table.set(version, for: key, weight: max(isKnown ? change.size : 0, Self.leastWeight))
    }
}
