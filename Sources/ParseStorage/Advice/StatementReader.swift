import JSON

/// Reads from a statement what it asks of its tables. Pure.
///
/// It knows what Roost and parse-server write, with placeholders for values as PostgreSQL's statistics have them. What it
/// does not know it takes for a condition that no index serves.
package struct StatementReader {
    private let tokens: [StatementToken]
    private var shapes: [StatementShape] = []

    /// The most columns of a kind that a shape names: no index has more.
    private static let mostColumns = 6
    /// The most queries inside of a statement that are looked at.
    private static let mostShapes = 4

    private init(_ tokens: [StatementToken]) { self.tokens = tokens }

    /// The shapes of a statement: that of the table that it is about, and those of queries inside of conditions.
    package static func shapes(of sql: String) -> [StatementShape] {
        var reader = StatementReader(StatementToken.list(sql))
        reader.read(reader.tokens.indices, isInner: false)
        return reader.shapes.filter { $0.isServable || !$0.isInner }
    }

    /// Reads the first statement in a range that is about a table.
    private mutating func read(_ range: Range<Int>, isInner: Bool) {
        guard shapes.count < Self.mostShapes, let start = range.first(where: { table(at: $0) != nil }),
            let name = table(at: start)
        else { return }
        var shape = StatementShape(table: Name(name))
        shape.isInner = isInner
        if start >= 4, Array(tokens[start - 4..<start]) == [.word("COUNT"), .open, .sign("*"), .close] {
            shape.isCount = true
        }
        if start >= 2, case .name(let column) = tokens[start - 1], tokens[start - 2] == .word("DISTINCT") {
            shape.distinct = Name(column)
        }
        let place = shapes.count
        shapes.append(shape)
        var position = start + 2
        if word(position) == "AS" { position += 2 }
        // A text that was cut may end anywhere.
        guard position <= range.upperBound else { return }
        // The end is where the parenthesis closes that it stands in.
        let end = close(from: position, to: range.upperBound)
        for clause in clauses(position..<end) {
            switch word(clause.lowerBound) {
            case "WHERE": conditions(clause.dropFirst(), &shape)
            case "ORDER": order(clause.dropFirst(2), &shape)
            case "LIMIT": shape.isLimited = true
            case "GROUP", "UNION", "JOIN": shape.hasOther = true
            default: break
            }
        }
        func tidy(_ columns: [Name]) -> [Name] { Array(Set(columns).sorted().prefix(Self.mostColumns)) }
        shape.equal = tidy(shape.equal)
        shape.ranges = tidy(shape.ranges.filter { !shape.equal.contains($0) })
        shape.prefixes = tidy(shape.prefixes.filter { !shape.equal.contains($0) })
        shapes[place] = shape
    }

    /// The table of a statement that begins here.
    private func table(at position: Int) -> String? {
        guard ["FROM", "UPDATE"].contains(word(position) ?? ""), position + 1 < tokens.count,
            case .name(let name) = tokens[position + 1]
        else { return nil }
        let isPartOfDate = position >= 3 && tokens[position - 2] == .open && word(position - 3) == "EXTRACT"
        return isPartOfDate ? nil : name
    }

    private func word(_ position: Int) -> String? {
        guard tokens.indices.contains(position), case .word(let word) = tokens[position] else { return nil }
        return word
    }

    /// Where the parenthesis closes that a position stands in, or the end.
    private func close(from position: Int, to end: Int) -> Int {
        var depth = 0
        var place = position
        while place < end {
            if tokens[place] == .open { depth += 1 }
            if tokens[place] == .close {
                depth -= 1
                if depth < 0 { return place }
            }
            place += 1
        }
        return end
    }

    private static let clauseWords: Set<String> = [
        "WHERE", "ORDER", "LIMIT", "OFFSET", "GROUP", "UNION", "INTERSECT", "EXCEPT", "RETURNING", "FOR", "JOIN", "SET",
    ]

    /// The parts of a range that begin with a word, those in parentheses left whole.
    private func clauses(_ range: Range<Int>) -> [Range<Int>] {
        split(range) { Self.clauseWords.contains(word($0) ?? "") }
    }

    /// Splits a range before each position of its own depth of which something is true.
    private func split(_ range: Range<Int>, before isBorder: (Int) -> Bool) -> [Range<Int>] {
        var parts: [Range<Int>] = []
        var start = range.lowerBound
        var depth = 0
        for position in range {
            if depth == 0, position > start, isBorder(position) {
                parts.append(start..<position)
                start = position
            }
            if tokens[position] == .open { depth += 1 }
            if tokens[position] == .close { depth -= 1 }
        }
        if start < range.upperBound { parts.append(start..<range.upperBound) }
        return parts
    }

    /// Conditions of which all must hold.
    private mutating func conditions(_ range: Range<Int>, _ shape: inout StatementShape) {
        guard split(range, before: { word($0) == "OR" }).count < 2 else {
            // One part is enough: no index of this table serves all of them. The permissions of rows never do.
            let names = tokens[range].compactMap { if case .name(let name) = $0 { name } else { nil } }
            if !names.allSatisfy({ ["_rperm", "_wperm"].contains($0) }) { shape.hasOther = true }
            return
        }
        for part in split(range, before: { word($0) == "AND" }) {
            condition(word(part.lowerBound) == "AND" ? part.dropFirst() : part, &shape)
        }
    }

    private mutating func condition(_ range: Range<Int>, _ shape: inout StatementShape) {
        guard let first = range.first else { return }
        if tokens[first] == .open, close(from: first + 1, to: range.upperBound) == range.upperBound - 1 {
            return conditions(first + 1..<range.upperBound - 1, &shape)
        }
        if word(first) == "TRUE" { return }
        var position = first
        guard case .name(var column) = tokens[position] else {
            shape.hasOther = true
            return
        }
        if position + 2 < range.upperBound, tokens[position + 1] == .dot, case .name(let name) = tokens[position + 2] {
            column = name
            position += 2
        }
        position += 1
        guard position < range.upperBound else { return }
        let comparesColumns = tokens[position..<range.upperBound].dropFirst().prefix(1).contains {
            if case .name = $0 { true } else { false }
        }
        switch tokens[position] {
        case .sign("=") where !comparesColumns: shape.equal.append(Name(column))
        case .word("IN"):
            shape.equal.append(Name(column))
            if word(position + 2) == "SELECT" { read(position + 2..<range.upperBound, isInner: true) }
        case .sign("<"), .sign(">"), .sign("<="), .sign(">="): shape.ranges.append(Name(column))
        case .word("LIKE"): shape.prefixes.append(Name(column))
        case .word("IS") where word(position + 1) == "NOT": break
        default:
            if column != "_rperm", column != "_wperm" { shape.hasOther = true }
        }
    }

    private func order(_ range: Range<Int>, _ shape: inout StatementShape) {
        guard let first = split(range, before: { tokens[$0] == .comma }).first, let start = first.first else { return }
        // What follows the name but a direction makes an expression of it.
        let (name, direction) = (tokens[start], first.dropFirst())
        guard case .name(let column) = name, direction.allSatisfy({ ["ASC", "DESC"].contains(word($0) ?? "") }) else {
            shape.hasOther = true
            return
        }
        shape.order = Name(column)
        shape.isDescending = direction.contains { word($0) == "DESC" }
    }
}
