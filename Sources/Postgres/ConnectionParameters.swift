import CLibpq

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What libpq is told for every connection.
struct ConnectionParameters {
    private let keywords: [String]
    private let values: [String]

    /// - Parameter lockTimeout: How long statements wait for a lock.
    init(_ configuration: PostgresConfiguration, lockTimeout: Duration) {
        var options = Self.options(in: configuration.connectionString)
        let timeout = configuration.statementTimeout.milliseconds
        let idle = configuration.transactionTimeout.milliseconds
        // A request gets one processor of the server, and leaves the others to the other requests; before what the
        // connection string says, which thus stands above it.
        options =
            "-c max_parallel_workers_per_gather=0 \(options) -c statement_timeout=\(timeout) -c lock_timeout=\(lockTimeout.milliseconds)"
            + " -c idle_in_transaction_session_timeout=\(idle)"
        // What comes after dbname stands above what the connection string says.
        keywords = ["dbname", "fallback_application_name", "client_encoding", "options"]
        values = [configuration.connectionString, configuration.applicationName, "UTF8", options]
    }

    /// Begins to connect, without waiting.
    func start() -> OpaquePointer? {
        Self.withCStrings(keywords) { keywords in
            Self.withCStrings(values) { values in PQconnectStartParams(keywords, values, 1) }
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
