import JSON
package import Limits
import Operations

/// A change in the text format in which processes exchange it. `NOTIFY` allows less than 8,000 bytes, so a change is
/// sent in pieces.
package struct RelayedChange: Sendable {
    /// The change as JSON, before it is split into pieces.
    package let text: String

    /// The maximum size in bytes of a piece without its header.
    static let pieceSize = 7500

    /// The placeholder for lost changes. Its number makes other processes notice that they missed some.
    package static let none = RelayedChange(text: "{}")

    private init(text: String) { self.text = text }

    /// Encodes a change. For a large object that wasn't deleted, it contains only the previous values of changed fields
    /// and the names of added ones, because receivers read the current object.
    package init(_ change: Change) {
        var json: JSONObject = ["class": .string(change.className), "id": .string(change.objectId)]
        if let number = change.number { json["number"] = .string("\(number)") }
        if change.size >= Change.largeSize, let after = change.after {
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
        /// The previous values of changed fields and the added fields, or nil if the object is new or was sent whole.
        fileprivate let former: (fields: JSONObject, added: [Name])?
        /// Whether the object was too large to send, so that the receiver must read it from the database.
        let isLarge: Bool

        /// - Parameters:
        ///   - current: The current object, if it had to be read.
        ///   - place: The memory reservation of the object.
        package func change(_ current: JSONObject? = nil, _ place: GatePlace? = nil) -> Change {
            var before = before
            if let former, var object = current {
                for name in former.added { object[name] = nil }
                before = object.merging(former.fields) { $1 }
            }
            return Change(
                className: className, objectId: objectId, before: before, after: isLarge ? current : after,
                number: number, size: isLarge ? Change.largeSize : size, place: place)
        }
    }

    /// Parses a change. Returns nil if it is invalid.
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

    /// Returns the pieces. The header of each contains the process, the change number, the index of the piece and the
    /// number of pieces.
    package func pieces(sender: String, number: Int) -> [String] {
        var pieces: [Substring.UTF8View] = []
        var rest = text.utf8[...]
        while !rest.isEmpty {
            var end = rest.index(rest.startIndex, offsetBy: Self.pieceSize, limitedBy: rest.endIndex) ?? rest.endIndex
            // Doesn't split characters.
            while end < rest.endIndex, rest[end] & 0xC0 == 0x80 { rest.formIndex(before: &end) }
            pieces.append(rest[..<end])
            rest = rest[end...]
        }
        return pieces.enumerated().map { "\(sender) \(number) \($0) \(pieces.count) \(Substring($1))" }
    }
}

/// Reassembles changes from received pieces. The pieces of one process arrive in order.
package struct RelayedPieces {
    /// The maximum size in bytes of incomplete changes.
    private static let maxBytes = 64 * 1024 * 1024

    private struct Partial {
        var number: Int
        var count: Int
        var next: Int
        var text: String
        let isWanted: Bool
    }

    private let ownSender: String
    private var lastNumbers = BoundedTable<String, Int>(capacity: 1024)
    private var hasLost = false
    private var partials: [String: Partial] = [:]
    private var bytes = 0

    /// - Parameter ownSender: The id of this process, whose own pieces are ignored.
    package init(ownSender: String) { self.ownSender = ownSender }

    /// Returns whether changes were lost since the previous call. A gap in the numbers of a process reveals a loss.
    package mutating func consumeLoss() -> Bool {
        defer { hasLost = false }
        return hasLost
    }

    /// Adds a piece.
    ///
    /// - Parameter isWanted: Whether this process has followers. The text of unwanted changes isn't stored.
    /// - Returns: The completed change, or nil if it is still incomplete, unwanted or invalid.
    package mutating func add(_ piece: String, isWanted: Bool = true) -> RelayedChange.Received? {
        // Compares bytes, because a piece may begin with a mark that combines with the preceding space.
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
        // A change with missing pieces is dropped.
        guard partial.next == place, partial.count == count, place < count else {
            hasLost = true
            return nil
        }
        if partial.isWanted { partial.text += parts[4] }
        partial.next += 1
        if partial.next == count { return partial.isWanted ? RelayedChange.change(partial.text) : nil }
        guard bytes + partial.text.utf8.count <= Self.maxBytes else {
            hasLost = true
            return nil
        }
        bytes += partial.text.utf8.count
        partials[sender] = partial
        return nil
    }

    /// Drops incomplete changes and the last change numbers, because the connection was interrupted.
    package mutating func reset() {
        partials = [:]
        lastNumbers = BoundedTable(capacity: 1024)
        bytes = 0
    }
}
