import Encoding

/// The search path of sessions, set by the server options in a connection string or `PGOPTIONS`.
struct SearchPath {
    /// The value of PostgreSQL's setting `search_path`.
    let text: String

    /// Reads the search path that a connection string or `PGOPTIONS` sets. Returns nil if neither sets one, so the
    /// role's default applies.
    init?(in connectionString: String) {
        let settings = SessionSettings(ConnectionParameters.options(in: connectionString))
        guard let setting = settings.values.first(where: { $0.name == "search_path" }) else { return nil }
        text = setting.value
    }

    /// The first schema, in which tables are created, or nil if it is empty or `$user`.
    var schema: String? {
        let name: String
        if text.utf8.first == Self.quote {
            var bytes: [UInt8] = []
            var isAfterQuote = false
            for byte in text.utf8.dropFirst() {
                // A quote inside the name is doubled. A single one ends it.
                if isAfterQuote, byte != Self.quote { break }
                isAfterQuote = byte == Self.quote && !isAfterQuote
                if !isAfterQuote { bytes.append(byte) }
            }
            name = String(decoding: bytes, as: UTF8.self)
        } else {
            // PostgreSQL lowercases and strips only ASCII characters.
            let bytes = text.utf8.prefix { $0 != UInt8(ascii: ",") }.filter { !SessionSettings.separators.contains($0) }
            name = String(decoding: bytes, as: UTF8.self).asciiLowercased
        }
        return name.isEmpty || name == "$user" ? nil : name
    }

    private static let quote = UInt8(ascii: "\"")

    /// A statement that sets the search path until the end of the transaction. The next transaction may use another
    /// session.
    var statement: EncodedStatement? {
        try? EncodedStatement(Statement("SELECT pg_catalog.set_config('search_path', \(SQL.literal(text)), true)"))
    }

    /// Whether PostgreSQL accepts a statement only as the first of its transaction. Such a statement relies on the
    /// session's search path.
    static func goesFirst(_ sql: String) -> Bool {
        sql.hasPrefix("SET TRANSACTION SNAPSHOT ") || SharedPoolRules.buildsConcurrently(sql)
    }

    /// The query for a session's search path. Some poolers silently ignore the server options.
    static let question = "SELECT pg_catalog.current_setting('search_path')"
}

extension PostgresConfiguration {
    /// The schema of all tables: the first in the search path that the connection string or `PGOPTIONS` sets, or nil if
    /// neither sets one or it begins with `$user`.
    public var schema: String? { SearchPath(in: connectionString)?.schema }

    /// Returns a connection string whose sessions see the tables of only one schema.
    ///
    /// - Parameters:
    ///   - text: A connection string. Returned unchanged if libpq can't parse it or its server options already end with
    ///     this setting.
    ///   - schema: The schema, or nil to return `text` unchanged.
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

/// Maps channel names to their names in the database, which differ between apps with separate schemas.
struct AppChannels: Sendable {
    /// Suffix of Roost's channel names. parse-server's channels have none.
    private let suffix: String

    /// - Parameter schema: The app's schema, or nil if unknown.
    init(schema: String?) {
        // Hashed, because both names together may be too long for a channel name.
        suffix = schema.flatMap { $0 == "public" ? nil : "." + String(StableHash.of($0), radix: 16) } ?? ""
    }

    func stored(_ channel: String) -> String { channel.hasPrefix("roost.") ? channel + suffix : channel }

    /// Returns the channel name without the app's suffix.
    func channel(_ stored: String) -> String {
        stored.hasPrefix("roost.") && stored.hasSuffix(suffix) ? String(stored.dropLast(suffix.count)) : stored
    }
}
