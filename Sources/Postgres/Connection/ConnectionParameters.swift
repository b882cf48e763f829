import CLibpq

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The parameters of every connection.
struct ConnectionParameters {
    let keywords: [String]
    let values: [String]

    /// - Parameters:
    ///   - lockTimeout: How long a statement waits for a lock; zero for as long as it may run.
    ///   - idleTimeout: How long a transaction may have nothing to do before the server ends its connection; zero for
    ///     ever.
    ///   - isParallel: Whether the server may use several of its processors for one statement.
    init(
        _ configuration: PostgresConfiguration, lockTimeout: Duration = .zero, idleTimeout: Duration = .zero,
        isParallel: Bool = true
    ) {
        // Without Kerberos, which few have, looking for its tickets costs time with each connection, and what is
        // connecting while the process ends uses locks of its library that are gone. The connection string may say
        // otherwise: what comes before it gives way.
        let encryption = getenv("PGGSSENCMODE").map { String(cString: $0) } ?? "disable"
        guard !configuration.isBehindTransactionPooler else {
            // A pooler refuses options: they are the session's, which many share.
            keywords = ["gssencmode", "dbname", "fallback_application_name", "client_encoding"]
            values = [encryption, configuration.connectionString, configuration.applicationName, "UTF8"]
            return
        }
        // Those before what the connection string says give way to it. Nothing is compiled to machine code: for a query
        // of a few hundred conditions that would take seconds, each time.
        var options = ["-c jit=off"]
        if !isParallel { options.append("-c max_parallel_workers_per_gather=0") }
        options.append(Self.options(in: configuration.connectionString))
        options.append("-c statement_timeout=\(configuration.statementTimeout.milliseconds)")
        if lockTimeout > .zero { options.append("-c lock_timeout=\(lockTimeout.milliseconds)") }
        if idleTimeout > .zero {
            options.append("-c idle_in_transaction_session_timeout=\(idleTimeout.milliseconds)")
        }
        // What comes after dbname stands above what the connection string says.
        keywords = ["gssencmode", "dbname", "fallback_application_name", "client_encoding", "options"]
        values = [
            encryption, configuration.connectionString, configuration.applicationName, "UTF8",
            options.joined(separator: " "),
        ]
    }

    /// Begins to connect, without waiting.
    func start() -> OpaquePointer? {
        Self.withCStrings(keywords) { keywords in
            Self.withCStrings(values) { values in PQconnectStartParams(keywords, values, 1) }
        }
    }

    /// Connects, and waits until the connection stands or cannot be had.
    func connect() -> OpaquePointer? {
        Self.withCStrings(keywords) { keywords in
            Self.withCStrings(values) { values in PQconnectdbParams(keywords, values, 1) }
        }
    }

    /// The server options that would hold if the driver said nothing: the connection string's, else the environment's.
    private static func options(in connectionString: String) -> String {
        var found: String?
        if let parsed = PQconninfoParse(connectionString, nil) {
            var option = parsed
            while let keyword = option.pointee.keyword {
                if String(cString: keyword) == "options" { found = option.pointee.val.map { String(cString: $0) } }
                option += 1
            }
            PQconninfoFree(parsed)
        }
        return found ?? getenv("PGOPTIONS").map { String(cString: $0) } ?? ""
    }

    private static func withCStrings<R>(_ strings: [String], _ body: ([UnsafePointer<CChar>?]) -> R) -> R {
        func next(_ index: Int, _ pointers: [UnsafePointer<CChar>?]) -> R {
            guard index < strings.count else { return body(pointers + [nil]) }
            return strings[index].withCString { next(index + 1, pointers + [$0]) }
        }
        return next(0, [])
    }
}
