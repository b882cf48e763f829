/// Finds statements that must not run on a shared connection.
package enum SharedPoolRules {
    /// Commands that would affect others: they control transactions, change the session or leave pipeline mode.
    private static let refused: Set<UInt64> = Set(
        [
            "BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOIN", "RELEASE", "PREPARE", "DEALLOCA",
            "DISCARD", "LISTEN", "UNLISTEN", "COPY",
        ].map { word($0) })

    /// Throws `PostgresError` with SQLSTATE 0A000 if a statement begins with a command that would affect other callers.
    package static func check(_ sql: String) throws {
        guard !refused.contains(word(sql)) else {
            throw PostgresError(
                .server,
                "\(sql.prefix(20)) can't run on a shared connection: use exclusively, transaction or listen",
                sqlState: "0A000")
        }
    }

    /// Whether a statement leaves something behind if the server stops it, such as an invalid index. It then runs on a
    /// connection without the short time limit.
    static func keepsParts(_ sql: String) -> Bool { word(sql) == vacuum || buildsConcurrently(sql) }

    /// Whether a statement builds or drops an index concurrently, which isn't possible in a transaction block.
    static func buildsConcurrently(_ sql: String) -> Bool {
        builders.contains(word(sql)) && sql.contains(" CONCURRENTLY ")
    }

    private static let vacuum = word("VACUUM")
    private static let builders: Set<UInt64> = Set(["CREATE", "DROP", "REINDEX"].map { word($0) })

    /// Returns the first eight letters of the first word in upper case, packed into an integer. Cheap enough for every
    /// statement.
    private static func word(_ sql: String) -> UInt64 {
        var word: UInt64 = 0
        for byte in sql.utf8.drop(while: { " \n\t\r".utf8.contains($0) }).prefix(8) {
            guard case UInt8(ascii: "A")...UInt8(ascii: "Z") = byte & 0xDF else { break }
            word = word << 8 | UInt64(byte & 0xDF)
        }
        return word
    }
}
