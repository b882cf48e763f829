/// The metrics that a server counts while it works.
///
/// Each server has one instance, even if its metrics aren't exported. Adding to a counter takes a few nanoseconds.
/// Other metrics are computed when they are read.
public final class Meters: Sendable {
    public let requests: RequestMeters
    public let logins: LoginMeters
    /// Durations of password hashing, without the time in the queue.
    public let passwordHashes = Histogram(.requests)
    /// The last request of each kind of client. Requests with privileged keys don't count.
    public let clients = ClientMeters()
    /// Requests rejected by rate limits.
    public let rateLimited: LimitMeters
    public let database = DatabaseMeters()
    /// Session look-ups in the session cache.
    public let sessionCache = Counters<CacheResult>()
    public let cloud = CloudMeters()
    public let jobs = JobMeters()
    public let mails = MailMeters()
    public let files = FileStoreMeters()
    /// Database operations that took at least `slowQueryThreshold`, by kind.
    public let slowOperations = Counters<DatabaseMeters.Operation>()
    public let logLines = Counters<LogLevel>()

    /// The outcome of a cache look-up.
    public enum CacheResult: Int, Label { case hit, miss }

    /// Log levels by parse-server's names.
    public enum LogLevel: Int, Label { case error, warn, info, debug }

    /// - Parameters:
    ///   - requests: The request metrics.
    ///   - providers: The names of log-in providers other than passwords.
    ///   - limits: The number of rate limits in the configuration.
    public init(
        requests: RequestMeters = RequestMeters(routes: [], shards: 1), providers: [String] = [], limits: Int = 0
    ) {
        self.requests = requests
        logins = LoginMeters(providers: providers)
        rateLimited = LimitMeters(limits: limits)
    }

    /// Writes all metric families.
    public func write(to text: inout Exposition) {
        requests.write(to: &text)
        database.write(to: &text)
        logins.write(to: &text)
        text.begin("roost_password_hash_duration_seconds", .histogram, "Password hashing duration.")
        text.add([:], passwordHashes.counts, .requests)
        rateLimited.write(to: &text)
        text.begin("roost_cache_requests_total", .counter, "Cache lookups.")
        for result in CacheResult.allCases {
            text.add(["cache": "session", "result": result.text], sessionCache[result])
        }
        cloud.write(to: &text)
        jobs.write(to: &text)
        mails.write(to: &text)
        files.write(to: &text)
        text.counters(
            "roost_slow_operations_total", "Slow database operations.", by: "operation", slowOperations
        )
        text.counters("roost_log_lines_total", "Log lines.", by: "level", logLines)
    }
}

extension RequestMeters {
    /// Writes the metric families of HTTP requests.
    func write(to text: inout Exposition) {
        let totals = totals
        text.begin("http_server_request_duration_seconds", .histogram, "Request duration.")
        for (index, row) in rows.enumerated() {
            let byStatus = totals.durations[index]?.sorted { $0.key < $1.key } ?? []
            for (status, counts) in byStatus { text.add(Self.labels(row, status), counts, .requests) }
        }
        text.single("http_server_active_requests", .gauge, "Requests in progress.", totals.active)
        text.single(
            "http_server_request_body_size_bytes_total", .counter, "Request body bytes.", totals.received)
        text.single(
            "http_server_response_body_size_bytes_total", .counter, "Response body bytes.", totals.sent)
        text.counters(
            "roost_http_refused_total", "Connections and requests rejected by the transport.", by: "reason", refused)
    }

    private static func labels(_ row: Row, _ status: Int) -> Exposition.Labels {
        switch (row.route, status) {
        case (let route?, 0):
            ["http_request_method": row.method, "http_route": route, "error_type": "client_closed"]
        case (nil, 0): ["http_request_method": row.method, "error_type": "client_closed"]
        case (let route?, _):
            ["http_request_method": row.method, "http_route": route, "http_response_status_code": "\(status)"]
        case (nil, _): ["http_request_method": row.method, "http_response_status_code": "\(status)"]
        }
    }
}
