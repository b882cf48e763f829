import Encoding

/// The schemas in which a session looks for tables, as a connection string names them among the server's options.
struct SearchPath {
    /// As PostgreSQL's setting has it.
    let text: String

    /// The path that a connection string names; nil where it names none, and the role's holds.
    init?(in connectionString: String) {
        let settings = SessionSettings(ConnectionParameters.options(in: connectionString))
        guard let setting = settings.values.first(where: { $0.name == "search_path" }) else { return nil }
        text = setting.value
    }

    /// The first schema, in which tables are made; nil for one that has another name for each role.
    var schema: String? {
        let name: String
        if text.utf8.first == Self.quote {
            var bytes: [UInt8] = []
            var isAfterQuote = false
            for byte in text.utf8.dropFirst() {
                // A quote inside is doubled: one that stands alone ends the name.
                if isAfterQuote, byte != Self.quote { break }
                isAfterQuote = byte == Self.quote && !isAfterQuote
                if !isAfterQuote { bytes.append(byte) }
            }
            name = String(decoding: bytes, as: UTF8.self)
        } else {
            // PostgreSQL knows capitals and spaces of ASCII alone.
            let bytes = text.utf8.prefix { $0 != UInt8(ascii: ",") }.filter { !SessionSettings.separators.contains($0) }
            name = String(decoding: bytes, as: UTF8.self).asciiLowercased
        }
        return name.isEmpty || name == "$user" ? nil : name
    }

    private static let quote = UInt8(ascii: "\"")

    /// A statement that sets the path until the transaction ends, for a session that the next transaction may not have.
    var statement: EncodedStatement? {
        try? EncodedStatement(Statement("SELECT pg_catalog.set_config('search_path', \(SQL.literal(text)), true)"))
    }

    /// Whether PostgreSQL takes a statement only where none stands before it in its transaction: it is left to the path that
    /// was set in its session.
    static func goesFirst(_ sql: String) -> Bool {
        if sql.hasPrefix("SET TRANSACTION SNAPSHOT ") { return true }
        return ["CREATE ", "DROP ", "REINDEX "].contains { sql.hasPrefix($0) } && sql.contains(" CONCURRENTLY ")
    }

    /// Asks a session for its path: some poolers take the server's options without a word, and forget them.
    static let question = "SELECT pg_catalog.current_setting('search_path')"
}

extension PostgresConfiguration {
    /// The schema in which everything lies: the first of the search path in the connection string; nil where it names
    /// none.
    public var schema: String? { SearchPath(in: connectionString)?.schema }

    /// A connection string whose sessions see the tables of one schema, and of no other.
    ///
    /// - Parameters:
    ///   - text: A connection string.
    ///   - schema: The schema; nil leaves the string as it is, and so does a string that libpq does not read.
    public static func connectionString(_ text: String, schema: String?) -> String {
        guard let schema else { return text }
        let escaped = Self.escaping(SQL.identifier(schema)) {
            $0 == UInt8(ascii: "\\") || SessionSettings.separators.contains($0)
        }
        let setting = "-c search_path=" + escaped
        let options = ConnectionParameters.options(in: text)
        guard var parts = ConnectionParameters.read(text), !options.hasSuffix(setting) else { return text }
        parts.removeAll { $0.0 == "options" }
        parts.append(("options", options.isEmpty ? setting : options + " " + setting))
        return parts.map { key, value in
            "\(key)='\(Self.escaping(value) { $0 == UInt8(ascii: "\\") || $0 == UInt8(ascii: "'") })'"
        }.joined(separator: " ")
    }

    private static func escaping(_ text: String, _ isSpecial: (UInt8) -> Bool) -> String {
        String(
            decoding: text.utf8.flatMap { isSpecial($0) ? [UInt8(ascii: "\\"), $0] : [$0] }, as: UTF8.self)
    }
}

/// Channels as they are called in the database: apps in schemas of their own do not hear each other.
struct AppChannels: Sendable {
    /// Suffix of Roost's channel names. parse-server's channels have none.
    private let suffix: String

    /// The channels of an app.
    ///
    /// - Parameter schema: Its schema, where that is known.
    init(schema: String?) {
        // A schema's name and a channel's together may be longer than a channel's name.
        suffix = schema.flatMap { $0 == "public" ? nil : "." + String(StableHash.of($0), radix: 16) } ?? ""
    }

    func stored(_ channel: String) -> String { channel.hasPrefix("roost.") ? channel + suffix : channel }

    /// The channel of a name in the database.
    func channel(_ stored: String) -> String {
        stored.hasPrefix("roost.") && stored.hasSuffix(suffix) ? String(stored.dropLast(suffix.count)) : stored
    }
}
