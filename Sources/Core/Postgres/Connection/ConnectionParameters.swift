import CLibpq
import Platform

package struct ConnectionParameters {
    /// The ways to send repeated statements.
    package enum Statements {
        /// Sends the text each time.
        case unprepared
        /// Prepares the statement in the session.
        case prepared
        /// Lets the pooler prepare the statement, which then serves all clients that send the same text.
        case preparedByPooler
    }

    package private(set) var keywords: [String]
    package private(set) var values: [String]
    package let statements: Statements
    package let address: String
    /// Whether servers on an old timeline are rejected.
    let checksTimeline: Bool
    /// The configured statement timeout, which limits the server's silence, or nil if the silence isn't limited.
    private var statementTimeout: Duration?
    /// Extra time for the server to report a timed-out statement.
    private static let grace = Duration.seconds(5)
    /// The number of statements in a grouped commit that may each use the full statement timeout. More are rarely slow.
    private static let slowMembers = 3
    /// The server options (the connection parameter `options`), or nil behind a transaction pooler.
    private let options: String?
    /// The search path set by the connection string or `PGOPTIONS`, or nil if neither sets one.
    let path: SearchPath?
    /// The statement that sets the search path for one transaction, or nil if no search path is set.
    let pathStatement: EncodedStatement?
    /// Whether the search path is set in each transaction, because the pooler keeps no session state.
    let isPathTransient: Bool

    /// - Parameters:
    ///   - lockTimeout: The maximum wait for a lock, or zero for the server's setting.
    ///   - timeLimit: A statement timeout shorter than the configured one, or zero to use the configured one.
    ///   - idleTimeout: The time after which the server ends a session idle in a transaction, or zero for its setting.
    ///   - isParallel: Whether one statement may use several CPUs of the server.
    package init(
        _ configuration: PostgresConfiguration, lockTimeout: Duration = .zero, timeLimit: Duration = .zero,
        idleTimeout: Duration = .zero, isParallel: Bool = true
    ) {
        // GSS encryption is off unless the connection string (parameters before dbname have lower precedence) or the
        // environment enables it. Looking for Kerberos tickets slows down each connection, and the Kerberos library
        // uses destroyed locks if the process exits while connecting.
        let encryption = getenv("PGGSSENCMODE").map { String(cString: $0) } ?? "disable"
        address = configuration.connectionString
        path = SearchPath(in: address)
        pathStatement = path?.statement
        isPathTransient = path != nil && configuration.isBehindTransactionPooler
        keywords = ["gssencmode", "dbname", "fallback_application_name", "client_encoding"]
        values = [encryption, address, configuration.applicationName, "UTF8"]
        guard !configuration.isBehindTransactionPooler else {
            // A pooler rejects options, because its clients share sessions, and the next transaction may use another
            // server.
            statements = configuration.poolerKeepsStatements ? .preparedByPooler : .unprepared
            checksTimeline = false
            options = nil
            return
        }
        // Options in the connection string override those placed before them. JIT compilation is off, because it takes
        // seconds for a query with a few hundred conditions, each time.
        var options = ["-c jit=off"]
        if !isParallel { options.append("-c max_parallel_workers_per_gather=0") }
        options.append(Self.options(in: address))
        // Without a statement timeout, the shorter limit doesn't apply either.
        let limit = timeLimit > .zero ? min(timeLimit, configuration.statementTimeout) : configuration.statementTimeout
        options.append("-c statement_timeout=\(limit.milliseconds)")
        if lockTimeout > .zero { options.append("-c lock_timeout=\(lockTimeout.milliseconds)") }
        if idleTimeout > .zero {
            options.append("-c idle_in_transaction_session_timeout=\(idleTimeout.milliseconds)")
        }
        // Parameters after dbname override the connection string.
        let text = options.joined(separator: " ")
        keywords.append("options")
        values.append(text)
        statements = .prepared
        checksTimeline = configuration.checksTimeline && !configuration.onlyReads
        self.options = text
        if configuration.statementTimeout > .zero { statementTimeout = configuration.statementTimeout }
    }

    /// The same parameters, without a limit on how long the server may stay silent.
    var unwatched: ConnectionParameters {
        var parameters = self
        parameters.statementTimeout = nil
        return parameters
    }

    /// Returns how long the server may take to respond to a request, or nil for no limit. For statements that were sent
    /// together, the server responds when the last one is done.
    func longestSilence(before request: Request) -> Duration? {
        guard let statementTimeout, !request.isUnlimited else { return nil }
        // Changes that share a transaction are rarely slow.
        let count =
            request.members.isEmpty
            ? request.statements.count : min(request.members.reduce(0) { $0 + $1.statements.count }, Self.slowMembers)
        return (count > 1 ? statementTimeout * count : statementTimeout) + Self.grace
    }

    /// Starts to connect. Blocks only while host names are resolved.
    ///
    /// - Parameters:
    ///   - withoutOptions: Whether to omit the server options, for a pooler that rejects them.
    ///   - avoided: Servers to leave out if the connection string names several.
    func start(withoutOptions: Bool, avoiding avoided: Set<ServerAddress> = []) -> OpaquePointer? {
        connecting(withoutOptions: withoutOptions, avoided) { PQconnectStartParams($0, $1, 1) }
    }

    /// Connects. Blocks until the connection is open or has failed.
    func connect(withoutOptions: Bool) -> OpaquePointer? {
        connecting(withoutOptions: withoutOptions, []) { PQconnectdbParams($0, $1, 1) }
    }

    /// A statement that sets what the server options would have set, or nil if there are no options.
    package var settings: String? { options.flatMap { SessionSettings($0).statement } }

    private func connecting(
        withoutOptions: Bool, _ avoided: Set<ServerAddress>,
        _ body: ([UnsafePointer<CChar>?], [UnsafePointer<CChar>?]) -> OpaquePointer?
    ) -> OpaquePointer? {
        var pairs = Array(zip(keywords, values))
        if withoutOptions {
            // Removes the options in the connection string too, which libpq would send.
            let parts = Self.parts(of: address)
            pairs.removeAll { $0.0 == "options" }
            if !parts.isEmpty, let place = pairs.firstIndex(where: { $0.0 == "dbname" }) {
                pairs.replaceSubrange(place...place, with: parts.filter { $0.0 != "options" })
            }
        }
        if !avoided.isEmpty { pairs += ServerAddress.parameters(of: Self.parts(of: address), avoiding: avoided) }
        return Self.withCStrings(pairs.map(\.0)) { keywords in
            Self.withCStrings(pairs.map(\.1)) { values in body(keywords, values) }
        }
    }

    /// Returns the server options of the connection string, or else of the environment variable `PGOPTIONS`.
    static func options(in connectionString: String) -> String {
        parts(of: connectionString).last { $0.0 == "options" }?.1
            ?? getenv("PGOPTIONS").map { String(cString: $0) } ?? ""
    }

    /// Returns the parameters of a connection string, or an empty list if libpq can't parse it.
    static func parts(of connectionString: String) -> [(String, String)] { read(connectionString) ?? [] }

    /// Returns the parameters of a connection string, or nil if libpq can't parse it.
    static func read(_ connectionString: String) -> [(String, String)]? {
        guard let parsed = PQconninfoParse(connectionString, nil) else { return nil }
        defer { PQconninfoFree(parsed) }
        var parts: [(String, String)] = []
        var option = parsed
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { parts.append((String(cString: keyword), String(cString: value))) }
            option += 1
        }
        return parts
    }

    private static func withCStrings<R>(_ strings: [String], _ body: ([UnsafePointer<CChar>?]) -> R) -> R {
        func next(_ index: Int, _ pointers: [UnsafePointer<CChar>?]) -> R {
            guard index < strings.count else { return body(pointers + [nil]) }
            return strings[index].withCString { next(index + 1, pointers + [$0]) }
        }
        return next(0, [])
    }
}

/// One of the servers in a connection string.
package struct ServerAddress: Hashable {
    var host: String
    var port: String

    package init(host: String, port: String) {
        self.host = host
        self.port = port
    }

    /// Returns the parameters that leave out some servers of a connection string, or an empty list if none is left out
    /// or none would remain.
    ///
    /// - Parameter parts: The parameters of the connection string.
    package static func parameters(of parts: [(String, String)], avoiding avoided: Set<ServerAddress>) -> [(
        String, String
    )] {
        func list(_ keyword: String) -> [String] {
            let value = parts.last { $0.0 == keyword }?.1 ?? ""
            return value.isEmpty ? [] : value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let (hosts, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
        let count = max(hosts.count, addresses.count)
        let kept = (0..<count).filter { index in
            let port = ports.count > 1 ? ports[min(index, ports.count - 1)] : ports.first ?? "5432"
            let host = index < hosts.count && !hosts[index].isEmpty ? hosts[index] : addresses.dropFirst(index).first
            return !avoided.contains(ServerAddress(host: host ?? "", port: port.isEmpty ? "5432" : port))
        }
        guard !kept.isEmpty, kept.count < count else { return [] }
        var parameters: [(String, String)] = []
        for (keyword, values) in [("host", hosts), ("hostaddr", addresses), ("port", ports)]
        where values.count == count {
            parameters.append((keyword, kept.map { values[$0] }.joined(separator: ",")))
        }
        return parameters
    }
}
