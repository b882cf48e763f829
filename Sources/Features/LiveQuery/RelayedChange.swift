import JSON
import Operations
import Rules
import Tasks

/// A change as processes send it each other: as text, in pieces that PostgreSQL announces (`NOTIFY` takes less than
/// 8000 bytes).
package struct RelayedChange: Sendable {
    /// The whole as JSON.
    package let text: String

    /// The most bytes of a piece, without what stands before it.
    static let pieceSize = 7500

    /// Stands for changes that were lost: by its number other processes notice that they miss some.
    package static let none = RelayedChange(text: "{}")

    private init(text: String) { self.text = text }

    /// Writes a change. Of a large object the others read what it is now, and are given by which fields it was
    /// different.
    package init(_ change: Change) {
        var json: JSONObject = ["class": .string(change.className), "id": .string(change.objectId)]
        if let number = change.number { json["number"] = .string("\(number)") }
        if change.size >= ValuePlace.largeSize, let after = change.after {
            json["isLarge"] = true
            if let before = change.before {
                json["former"] = .object(before.filter { after[$0.key] != $0.value })
                json["added"] = .array(after.keys.filter { before[$0] == nil }.map { .string($0.text) })
            }
        } else {
            if let before = change.before { json["before"] = .object(before) }
            if let after = change.after { json["after"] = .object(after) }
        }
        text = json.text
    }

    package struct Received {
        let className: String
        let objectId: String
        fileprivate let number: Int64?
        fileprivate let size: Int
        fileprivate let before: JSONObject?
        fileprivate let after: JSONObject?
        /// How the object was different, and which fields it did not have; nil for one that is new.
        fileprivate let former: (fields: JSONObject, added: [Name])?
        /// Whether the object is still to be read.
        let isLarge: Bool

        /// The change.
        ///
        /// - Parameters:
        ///   - current: The object as it is, where it was to be read.
        ///   - place: What it holds.
        package func change(_ current: JSONObject? = nil, _ place: ValuePlace? = nil) -> Change {
            var before = before
            if let former, var object = current {
                for name in former.added { object[name] = nil }
                before = object.merging(former.fields) { $1 }
            }
            return Change(
                className: className, objectId: objectId, before: before, after: isLarge ? current : after,
                number: number, size: isLarge ? ValuePlace.largeSize : size, origin: .server, place: place)
        }
    }

    /// Reads a change; nil for what is none.
    static func change(_ text: String) -> Received? {
        guard let json = (try? JSONValue(parsing: text))?.objectValue,
            let className = json["class"]?.stringValue, let objectId = json["id"]?.stringValue
        else { return nil }
        let former = json["former"]?.objectValue.map { fields in
            (fields, (json["added"]?.arrayValue ?? []).compactMap { $0.stringValue.map { Name($0) } })
        }
        return Received(
            className: className, objectId: objectId, number: json["number"]?.stringValue.flatMap { Int64($0) },
            size: text.utf8.count, before: json["before"]?.objectValue, after: json["after"]?.objectValue,
            former: former, isLarge: json["isLarge"] == true)
    }

    /// The pieces, each with where it belongs: the process, the number of the change, the position of the piece, and
    /// how many there are.
    package func pieces(sender: String, number: Int) -> [String] {
        var pieces: [Substring.UTF8View] = []
        var rest = text.utf8[...]
        while !rest.isEmpty {
            var end = rest.index(rest.startIndex, offsetBy: Self.pieceSize, limitedBy: rest.endIndex) ?? rest.endIndex
            // A character stays whole.
            while end < rest.endIndex, rest[end] & 0xC0 == 0x80 { rest.formIndex(before: &end) }
            pieces.append(rest[..<end])
            rest = rest[end...]
        }
        return pieces.enumerated().map { "\(sender) \(number) \($0) \(pieces.count) \(Substring($1))" }
    }
}

/// Puts changes together of the pieces that arrive. Those of one process arrive in their order.
package struct RelayedPieces {
    /// The most bytes of changes that are not complete.
    private static let mostBytes = 64 * 1024 * 1024

    private struct Partial {
        var number: Int
        var count: Int
        var next: Int
        var text: String
        let isWanted: Bool
    }

    private let ownSender: String
    /// The number of the last change of each process.
    private var lastNumbers = BoundedTable<String, Int>(capacity: 1024)
    private var hasLost = false
    private var partials: [String: Partial] = [:]
    private var bytes = 0

    /// - Parameter ownSender: The process whose own pieces come back to it, and are left out.
    package init(ownSender: String) { self.ownSender = ownSender }

    /// Whether changes were lost since this was asked last: those of a process are numbered without gaps.
    package mutating func takeLoss() -> Bool {
        defer { hasLost = false }
        return hasLost
    }

    /// Takes a piece.
    ///
    /// - Parameter isWanted: Whether anybody wants a change that begins with it; of others no more is kept than the
    ///   place.
    /// - Returns: The change that it completes; nil otherwise.
    package mutating func add(_ piece: String, isWanted: Bool = true) -> RelayedChange.Received? {
        // By bytes: a mark that combines with the space before it may begin a piece.
        let parts = piece.utf8.split(separator: UInt8(ascii: " "), maxSplits: 4, omittingEmptySubsequences: false)
            .map { Substring($0) }
        guard parts.count == 5, let number = Int(parts[1]), let place = Int(parts[2]), let count = Int(parts[3]) else {
            return nil
        }
        let sender = String(parts[0])
        guard sender != ownSender else { return nil }
        if let last = lastNumbers.value(of: sender), number != last, number != last + 1 { hasLost = true }
        lastNumbers.set(number, for: sender)
        var partial = Partial(number: number, count: count, next: 0, text: "", isWanted: isWanted)
        if let known = partials.removeValue(forKey: sender) {
            bytes -= known.text.utf8.count
            if known.number == number { partial = known } else { hasLost = true }
        }
        // One of which pieces are missing is left out.
        guard partial.next == place, partial.count == count, place < count else {
            hasLost = true
            return nil
        }
        if partial.isWanted { partial.text += parts[4] }
        partial.next += 1
        if partial.next == count { return partial.isWanted ? RelayedChange.change(partial.text) : nil }
        guard bytes + partial.text.utf8.count <= Self.mostBytes else {
            hasLost = true
            return nil
        }
        bytes += partial.text.utf8.count
        partials[sender] = partial
        return nil
    }

    /// Forgets what is not complete: the rest is lost.
    package mutating func reset() {
        partials = [:]
        lastNumbers = BoundedTable(capacity: 1024)
        bytes = 0
    }
}
