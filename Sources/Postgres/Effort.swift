/// How much work a statement is for PostgreSQL.
public enum Effort: Comparable, Sendable {
    /// One row, found by its key.
    case row
    /// Rows found by their keys, in next to no time.
    case rows
    /// Any, perhaps much.
    case any

    /// Whether the answers of reads that were sent just before may wait for it.
    var isLittle: Bool { self < .any }

    /// How much of a company of reads it makes up; see ``Connection/largestCompany``.
    var share: Int { self == .row ? 1 : 4 }

    /// What several statements are together; none are nothing to wait for.
    static func of(_ statements: [Statement]) -> Effort {
        let most = statements.lazy.map(\.effort).max() ?? .row
        return statements.count > 1 ? Swift.max(most, .rows) : most
    }
}
