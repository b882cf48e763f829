/// Finds statements that must not run on a shared connection.
package enum SharedPoolRules {
    /// Statements that begin or end transactions, change the session or leave pipeline mode would affect others.
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
    static func keepsParts(_ sql: String) -> Bool {
        let word = word(sql)
        return word == vacuum || builders.contains(word) && sql.contains(" CONCURRENTLY ")
    }

    private static let vacuum = word("VACUUM")
    private static let builders: Set<UInt64> = Set(["CREATE", "DROP", "REINDEX"].map { word($0) })

    /// Returns the first eight letters of the first word in upper case, packed into an integer. Cheap enough for every
    /// statement.
    private static func word(_ sql: String) -> UInt64 {
        var word: UInt64 = 0
        var count = 0
        for byte in sql.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"):
                word = word << 8 | UInt64(byte & 0xDF)
                count += 1
                if count == 8 { return word }
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\t"), UInt8(ascii: "\r"):
                if count > 0 { return word }
            default: return word
            }
        }
        return word
    }
}
