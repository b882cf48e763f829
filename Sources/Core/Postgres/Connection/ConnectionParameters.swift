import CLibpq

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

package struct ConnectionParameters {
    /// What becomes of statements that are sent more than once.
    package enum Statements {
        /// They are sent with their text each time.
        case unprepared
        /// The server keeps them with the session.
        case prepared
        /// A pooler keeps them by their texts, and has one plan for all that send the same.
        case preparedByPooler
    }

    package let keywords: [String]
    package let values: [String]
    package let statements: Statements
    package let address: String
    /// Whether the server is asked how far it is in the history of the database.
    let checksTimeline: Bool
    /// The server's statement timeout, or nil if unknown or unlimited.
    private var statementTimeout: Duration?
    /// Extra time for the server to report a timed-out statement.
    private static let grace = Duration.seconds(5)
    /// Statements of a grouped commit for which the full statement timeout is allowed. More are hardly ever slow.
    private static let slowMembers = 3
    /// The server options, or nil behind a transaction pooler.
    private let options: String?
    /// The schemas that the connection string names.
    let path: SearchPath?
    /// Sets them for one transaction.
    let pathStatement: EncodedStatement?
    /// Whether they are set for each transaction alone, since a pooler keeps nothing else.
    let isPathTransient: Bool

    /// - Parameters:
    ///   - lockTimeout: How long a statement waits for a lock; zero for as long as it may run.
    ///   - timeLimit: How long a statement may run, where that is less than the configuration says.
    ///   - idleTimeout: How long a transaction may have nothing to do before the server ends its connection; zero for
    ///     ever.
    ///   - isParallel: Whether the server may use several of its processors for one statement.
    package init(
        _ configuration: PostgresConfiguration, lockTimeout: Duration = .zero, timeLimit: Duration = .zero,
        idleTimeout: Duration = .zero, isParallel: Bool = true
    ) {
        // Without Kerberos, which few have, looking for its tickets costs time with each connection, and what is
        // connecting while the process ends uses locks of its library that are gone. The connection string may say
        // otherwise: what comes before it gives way.
        let encryption = getenv("PGGSSENCMODE").map { String(cString: $0) } ?? "disable"
        address = configuration.connectionString
        path = SearchPath(in: address)
        pathStatement = path?.statement
        isPathTransient = path != nil && configuration.isBehindTransactionPooler
        guard !configuration.isBehindTransactionPooler else {
            // A pooler refuses options: they are the session's, which many share.
            keywords = ["gssencmode", "dbname", "fallback_application_name", "client_encoding"]
            values = [encryption, configuration.connectionString, configuration.applicationName, "UTF8"]
            statements = configuration.poolerKeepsStatements ? .preparedByPooler : .unprepared
            // The next transaction may be on another server.
            checksTimeline = false
            options = nil
            statementTimeout = nil
            return
        }
        // Those before what the connection string says give way to it. Nothing is compiled to machine code: for a query
        // of a few hundred conditions that would take seconds, each time.
        var options = ["-c jit=off"]
        if !isParallel { options.append("-c max_parallel_workers_per_gather=0") }
        options.append(Self.options(in: configuration.connectionString))
        // Where statements may take as long as they like, they may here.
        let limit = timeLimit > .zero ? min(timeLimit, configuration.statementTimeout) : configuration.statementTimeout
        options.append("-c statement_timeout=\(limit.milliseconds)")
        if lockTimeout > .zero { options.append("-c lock_timeout=\(lockTimeout.milliseconds)") }
        if idleTimeout > .zero {
            options.append("-c idle_in_transaction_session_timeout=\(idleTimeout.milliseconds)")
        }
        // What comes after dbname stands above what the connection string says.
        let text = options.joined(separator: " ")
        keywords = ["gssencmode", "dbname", "fallback_application_name", "client_encoding", "options"]
        values = [encryption, configuration.connectionString, configuration.applicationName, "UTF8", text]
        statements = .prepared
        checksTimeline = configuration.checksTimeline && !configuration.onlyReads
        self.options = text
        statementTimeout = configuration.statementTimeout > .zero ? configuration.statementTimeout : nil
    }

    /// The same for a connection on which the server may be silent for as long as it likes.
    var unwatched: ConnectionParameters {
        var parameters = self
        parameters.statementTimeout = nil
        return parameters
    }

    /// How long the server may be silent before it answers a request; nil for as long as it likes. It keeps the results
    /// of statements that were sent together until the last is done.
    func longestSilence(before request: Request) -> Duration? {
        guard let statementTimeout, !request.isUnlimited else { return nil }
        // Of changes that share a transaction hardly one takes long.
        let count =
            request.members.isEmpty
            ? request.statements.count : min(request.members.reduce(0) { $0 + $1.statements.count }, Self.slowMembers)
        return (count > 1 ? statementTimeout * count : statementTimeout) + Self.grace
    }

    /// Begins to connect, without waiting.
    ///
    /// - Parameters:
    ///   - withoutOptions: Whether the server's options are left out, for a pooler that refuses them.
    ///   - avoided: Servers of several that are left out.
    func start(withoutOptions: Bool, avoiding avoided: Set<ServerAddress> = []) -> OpaquePointer? {
        connecting(withoutOptions: withoutOptions, avoided) { PQconnectStartParams($0, $1, 1) }
    }

    /// Connects, and waits until the connection stands or cannot be had.
    func connect(withoutOptions: Bool) -> OpaquePointer? {
        connecting(withoutOptions: withoutOptions, []) { PQconnectdbParams($0, $1, 1) }
    }

    /// A statement that sets in a session what the options would have set; nil for none.
    package var settings: String? { options.flatMap { SessionSettings($0).statement } }

    private func connecting(
        withoutOptions: Bool, _ avoided: Set<ServerAddress>,
        _ body: ([UnsafePointer<CChar>?], [UnsafePointer<CChar>?]) -> OpaquePointer?
    ) -> OpaquePointer? {
        var pairs = Array(zip(keywords, values))
        if withoutOptions {
            // What the connection string says of them would be sent, too.
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

    /// The server options that would hold if the driver said nothing: the connection string's, else the environment's.
    static func options(in connectionString: String) -> String {
        parts(of: connectionString).last { $0.0 == "options" }?.1
            ?? getenv("PGOPTIONS").map { String(cString: $0) } ?? ""
    }

    /// What a connection string says; nothing for one that libpq does not read.
    static func parts(of connectionString: String) -> [(String, String)] { read(connectionString) ?? [] }

    /// What a connection string says, which may be nothing; nil for one that libpq does not read.
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

/// One server of those that a connection string names.
package struct ServerAddress: Hashable {
    var host: String
    var port: String

    package init(host: String, port: String) {
        self.host = host
        self.port = port
    }

    /// The parameters that leave some servers out of those that a connection string names; none where it names only such.
    ///
    /// - Parameter parts: What the connection string says.
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
            let host = index < hosts.count && !hosts[index].isEmpty ? hosts[index] : addresses[index]
            return !avoided.contains(ServerAddress(host: host, port: port.isEmpty ? "5432" : port))
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
