import Encoding
import JSON

/// Database addresses in libpq's format.
enum DatabaseAddress {
    /// Parameters that node-postgres and parse-server read from an address and libpq doesn't, each with its replacement.
    private static let foreign: KeyValuePairs<String, String> = [
        "ssl": "write sslmode=require, or sslmode=verify-full to check the certificate",
        "rejectUnauthorized": "write sslmode=require for false, and sslmode=verify-full for true",
        "max": "set databaseOptions.poolSize", "poolSize": "set databaseOptions.poolSize",
        "min": "remove it", "ca": "write sslrootcert", "cert": "write sslcert", "key": "write sslkey",
        "passphrase": "write sslpassword", "pfx": "write sslcert and sslkey", "secureOptions": "remove it",
        "connectionTimeoutMillis": "write connect_timeout, in seconds", "idleTimeoutMillis": "remove it",
        "statement_timeout": "set statementTimeout", "query_timeout": "set statementTimeout",
        "lock_timeout": "set lockTimeout", "keepAlive": "write keepalives=1",
        "keepAliveInitialDelayMillis": "write keepalives_idle, in seconds", "maxUses": "remove it",
        "allowExitOnIdle": "remove it", "binary": "remove it", "schema": "set databaseSchema",
        "encoding": "write client_encoding", "pgbouncer": "set databaseOptions.transactionPooler",
    ]

    /// Reads an address, or returns nil for an empty one.
    static func read(_ value: JSONValue, _ name: String) throws(ConfigurationError) -> String? {
        guard let uri = value.nonEmptyText else { return nil }
        guard uri.hasPrefix("postgres://") || uri.hasPrefix("postgresql://") else {
            throw ConfigurationError("\(name) must begin with postgres:// or postgresql://")
        }
        try checkServer(uri, name)
        for parameter in uri.split(separator: "?", maxSplits: 1).dropFirst().joined(separator: "").split(separator: "&")
        {
            let key = parameter.prefix { $0 != "=" }
            guard let advice = foreign.first(where: { $0.key.hasSameBytes(as: String(key)) })?.value else { continue }
            throw ConfigurationError("\(name) has the node-postgres parameter \(key). Instead of it, \(advice)")
        }
        return uri
    }

    /// Refuses an address whose password has unescaped delimiters, since libpq would quote the rest of it in its
    /// errors.
    private static func checkServer(_ uri: String, _ name: String) throws(ConfigurationError) {
        let address = uri.split(separator: "//", maxSplits: 1).last?.prefix { $0 != "?" } ?? ""
        let server = address.prefix { $0 != "/" }
        let hosts = (server.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).last ?? "")
            .split(separator: ",")
        let arePorts = hosts.allSatisfy { host in
            let parts = (host.split(separator: "]", omittingEmptySubsequences: false).last ?? "").split(separator: ":")
            return host.contains("]")
                ? parts.allSatisfy(isPort) : parts.count < 3 && parts.dropFirst().allSatisfy(isPort)
        }
        guard arePorts, address.count(where: { $0 == "@" }) <= 1, !address.contains("@") || server.contains("@") else {
            throw ConfigurationError(
                "\(name) is not an address of PostgreSQL. Percent-encode special characters of the user and the password, "
                    + "such as %40 for @ and %2F for /")
        }
    }

    private static func isPort(_ text: Substring) -> Bool { text.allSatisfy { ("0"..."9").contains($0) } }
}
