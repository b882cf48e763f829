import Encoding
import JSON

/// Database addresses in libpq's format.
enum DatabaseAddress {
    /// Parameters that other clients support and libpq doesn't, each with a remedy.
    private static let foreign: KeyValuePairs<String, String> = [
        "ssl": "Use sslmode=require instead, or sslmode=verify-full to check the certificate",
        "rejectUnauthorized": "Use sslmode=require instead of false, and sslmode=verify-full instead of true",
        "max": "Use the option databaseOptions.poolSize instead",
        "poolSize": "Use the option databaseOptions.poolSize instead",
        "min": "Remove it", "ca": "Use sslrootcert instead", "cert": "Use sslcert instead", "key": "Use sslkey instead",
        "passphrase": "Use sslpassword instead", "pfx": "Use sslcert and sslkey instead", "secureOptions": "Remove it",
        "connectionTimeoutMillis": "Use connect_timeout instead, in seconds", "idleTimeoutMillis": "Remove it",
        "statement_timeout": "Use the option statementTimeout instead",
        "query_timeout": "Use the option statementTimeout instead",
        "lock_timeout": "Use the option lockTimeout instead", "keepAlive": "Use keepalives=1 instead",
        "keepAliveInitialDelayMillis": "Use keepalives_idle instead, in seconds", "maxUses": "Remove it",
        "allowExitOnIdle": "Remove it", "binary": "Remove it", "schema": "Use the option databaseSchema instead",
        "encoding": "Use client_encoding instead",
        "pgbouncer": "Use the option databaseOptions.transactionPooler instead",
    ]

    /// Reads an address, or returns nil if it is empty.
    static func read(_ value: JSONValue, _ name: String) throws(ConfigurationError) -> String? {
        guard let uri = value.nonEmptyText else { return nil }
        guard uri.hasPrefix("postgres://") || uri.hasPrefix("postgresql://") else {
            let hint = uri.hasPrefix("mongodb") ? ". Import a MongoDB database with roost import (docs/import.md)" : ""
            throw ConfigurationError("\(name) must begin with postgres:// or postgresql://\(hint)")
        }
        try checkServer(uri, name)
        for parameter in uri.split(separator: "?", maxSplits: 1).dropFirst().joined(separator: "").split(separator: "&")
        {
            let key = parameter.prefix { $0 != "=" }
            guard let advice = foreign.first(where: { $0.key.hasSameBytes(as: String(key)) })?.value else { continue }
            let isOff = key == "ssl" && ["=false", "=0"].contains(parameter.dropFirst(key.count))
            throw ConfigurationError(
                "\(name) contains the unsupported parameter \(key). \(isOff ? "Use sslmode=disable instead" : advice)")
        }
        return uri
    }

    /// Rejects an address whose password has unescaped delimiters or percent signs, because libpq's errors would quote
    /// it.
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
        let escapes = uri.utf8.split(separator: UInt8(ascii: "%"), omittingEmptySubsequences: false).dropFirst()
        let areEscapes = escapes.map { String(Substring($0.prefix(2))).asciiLowercased }.allSatisfy { digits in
            digits.utf8.count == 2 && digits != "00"
                && digits.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
        }
        guard areEscapes, arePorts, address.count(where: { $0 == "@" }) <= 1,
            !address.contains("@") || server.contains("@")
        else {
            throw ConfigurationError(
                "\(name) is not a PostgreSQL URI. Percent-encode special characters in the user and the password, "
                    + "such as %40 for @ and %2F for /")
        }
    }

    private static func isPort(_ text: Substring) -> Bool { text.allSatisfy { ("0"..."9").contains($0) } }
}
