import Encoding
import JSON
import ParseModel
import Postgres

/// Says which index would help a statement. Pure.
///
/// It reads what Roost and parse-server write, with `pg_stat_statements`' placeholders: conditions on columns in double
/// quotes, joined by AND.
struct IndexAdvice {
    let facts: DatabaseFacts

    /// An index that is not there.
    struct Advice: Equatable {
        let table: String
        let columns: [String]
    }

    /// The most columns that are worth it.
    private static let mostColumns = 3

    /// The index that would help a statement; nil when there is one already, or nothing is known that would.
    func advice(for statement: String) -> Advice? {
        guard let table = Self.quotedName(after: "FROM ", in: statement[...])?.name, let stored = facts.tables[table],
            !table.hasPrefix("_Join:")
        else { return nil }
        let text = statement[...]
        let conditions = text.firstRange(of: " WHERE ").map { text[$0.upperBound...] } ?? ""
        // What is in an OR, or in another SELECT, helps no index of this table by itself.
        guard !conditions.contains(" UNION "), !conditions.dropFirst().contains("SELECT ") else { return nil }
        let order =
            conditions.isEmpty
            ? Self.part(of: text, after: " ORDER BY ") : Self.part(of: conditions, after: " ORDER BY ")
        let filter = Self.withoutAlternatives(
            conditions.firstRange(of: " ORDER BY ").map { conditions[..<$0.lowerBound] } ?? conditions)
        var equal: [String] = []
        var range: [String] = []
        for (column, rest) in Self.columns(in: filter[...]) where Self.isIndexable(stored.column(column)) {
            if rest.hasPrefix(" = $") || rest.hasPrefix(" = ANY") || rest.hasPrefix(" IN (") {
                equal.append(column)
            } else if [" > ", " < ", " >= ", " <= "].contains(where: { rest.hasPrefix($0) }) {
                range.append(column)
            }
        }
        if equal.contains("objectId") { return nil }
        var columns: [String] = []
        for column in equal where !columns.contains(column) && columns.count < Self.mostColumns {
            columns.append(column)
        }
        let last = order.flatMap { Self.columns(in: $0).first?.name }.flatMap { stored.column($0) }
        if let next = last.map(\.name) ?? range.first, !columns.contains(next), columns.count < Self.mostColumns,
            Self.isIndexable(stored.column(next))
        {
            columns.append(next)
        }
        guard !columns.isEmpty, !hasIndex(on: columns, of: table, equal: equal.count) else { return nil }
        return Advice(table: table, columns: columns)
    }

    /// Whether an index begins with the columns, in any order of those that are compared for equality.
    private func hasIndex(on columns: [String], of table: String, equal: Int) -> Bool {
        facts.indexes.contains { index in
            guard index.table == table, index.isValid, index.isWhole, index.keys.count >= columns.count else {
                return false
            }
            let prefix = index.keys.prefix(columns.count)
            return Set(prefix.prefix(equal)) == Set(columns.prefix(equal))
                && prefix.dropFirst(equal).elementsEqual(columns.dropFirst(equal))
        }
    }

    /// Conditions without those groups in parentheses of which one part is enough.
    private static func withoutAlternatives(_ text: Substring) -> String {
        var result = ""
        var group = ""
        var depth = 0
        for character in text {
            if character == "(" { depth += 1 }
            if depth > 0 { group.append(character) } else { result.append(character) }
            if character == ")", depth > 0 {
                depth -= 1
                guard depth == 0 else { continue }
                if !group.contains(" OR ") { result += group }
                group = ""
            }
        }
        return result
    }

    private static func isIndexable(_ column: StoredTable.Column?) -> Bool {
        switch column.flatMap({ PostgresType(rawValue: $0.type) }) {
        case .text, .varchar, .bool, .float8, .timestamptz, .int8: true
        default: false
        }
    }

    private static func part(of text: Substring, after words: String) -> Substring? {
        text.firstRange(of: words).map { text[$0.upperBound...] }
    }

    /// The columns that a text names, each with what follows it.
    private static func columns(in text: Substring) -> [(name: String, rest: Substring)] {
        var columns: [(String, Substring)] = []
        var rest = text
        while let start = rest.firstIndex(of: "\"") {
            guard let found = quotedName(after: "", in: rest[start...]) else { break }
            columns.append((found.name, found.rest))
            rest = found.rest
        }
        return columns
    }

    /// The name in quotes that follows some words.
    private static func quotedName(after words: String, in text: Substring) -> (name: String, rest: Substring)? {
        var rest = text
        if !words.isEmpty {
            guard let found = text.firstRange(of: words) else { return nil }
            rest = text[found.upperBound...]
        }
        guard rest.first == "\"", let end = rest.dropFirst().firstIndex(of: "\"") else { return nil }
        return (String(rest[rest.index(after: rest.startIndex)..<end]), rest[rest.index(after: end)...])
    }

    /// The index as a remedy. It is built beside other work.
    static func remedy(_ advice: Advice) -> Finding.Remedy {
        let name = "roost_doctor:\(advice.table):\(advice.columns.joined(separator: ","))"
        let shortName = name.utf8.count <= 63 ? name : "roost_doctor:\(String(StableHash.of(name), radix: 16))"
        let columns = advice.columns.map(SQL.identifier).joined(separator: ", ")
        return Finding.Remedy(
            words: "build an index of \(advice.table) on \(advice.columns.joined(separator: ", ")) beside other work",
            statements: [
                "CREATE INDEX CONCURRENTLY IF NOT EXISTS \(SQL.identifier(shortName)) ON \(SQL.identifier(advice.table)) (\(columns))"
            ])
    }
}
