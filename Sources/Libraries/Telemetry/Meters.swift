/// What a server counts while it works, but for what it looks up when it is asked.
///
/// The parts of the server add to it where things happen. There is one for each server, whether or not its metrics are
/// read: to add to a counter takes a few nanoseconds.
public final class Meters: Sendable {
    /// HTTP requests.
    public let requests: RequestMeters
    /// Log-ins.
    public let logins: LoginMeters
    /// How long hashes of passwords took, without the time in the queue.
    public let passwordHashes = Histogram(.requests)
    /// The last request of each kind of app.
    public let clients = ClientMeters()
    /// Requests that limits refused.
    public let rateLimited: LimitMeters
    /// Database calls.
    public let database = DatabaseMeters()
    /// Look-ups of sessions.
    public let sessionCache = Counters<CacheResult>()
    /// Calls of cloud code.
    public let cloud = CloudMeters()
    /// Jobs.
    public let jobs = JobMeters()
    /// Mails.
    public let mails = MailMeters()
    /// Requests to buckets of files.
    public let files = FileStoreMeters()
    /// Operations of the database that took long.
    public let slowOperations = Counters<DatabaseMeters.Operation>()
    /// Log lines by level.
    public let logLines = Counters<LogLevel>()

    /// What a look-up in a cache found.
    public enum CacheResult: Int, Label { case hit, miss }

    /// The levels of log lines, by parse-server's names.
    public enum LogLevel: Int, Label { case error, warn, info, debug }

    /// - Parameters:
    ///   - requests: What is measured of requests.
    ///   - providers: The names of the ways to log in besides passwords.
    ///   - limits: How many limits on requests the configuration has.
    public init(
        requests: RequestMeters = RequestMeters(routes: [], shards: 1), providers: [String] = [], limits: Int = 0
    ) {
        self.requests = requests
        logins = LoginMeters(providers: providers)
        rateLimited = LimitMeters(limits: limits)
    }

    /// Adds all families to a text.
    public func write(to text: inout Exposition) {
        requests.write(to: &text)
        database.write(to: &text)
        logins.write(to: &text)
        text.begin("roost_password_hash_duration_seconds", .histogram, "How long hashes of passwords took to compute.")
        text.add([:], passwordHashes.counts, .requests)
        rateLimited.write(to: &text)
        text.begin("roost_cache_requests_total", .counter, "Look-ups in caches.")
        for result in CacheResult.allCases {
            text.add(["cache": "session", "result": result.text], sessionCache[result])
        }
        cloud.write(to: &text)
        jobs.write(to: &text)
        mails.write(to: &text)
        files.write(to: &text)
        text.counters(
            "roost_slow_operations_total", "Operations of the database that took long.", by: "operation", slowOperations
        )
        text.counters("roost_log_lines_total", "Log lines.", by: "level", logLines)
    }
}

extension RequestMeters {
    /// Adds the families of requests to a text.
    func write(to text: inout Exposition) {
        let totals = totals
        text.begin("http_server_request_duration_seconds", .histogram, "How long requests took to answer.")
        for (index, row) in rows.enumerated() {
            let byStatus = totals.durations[index]?.sorted { $0.key < $1.key } ?? []
            for (status, counts) in byStatus { text.add(Self.labels(row, status), counts, .requests) }
        }
        text.single("http_server_active_requests", .gauge, "Requests that are being answered.", totals.active)
        text.single(
            "http_server_request_body_size_bytes_total", .counter, "Bytes of the bodies of requests.", totals.received)
        text.single(
            "http_server_response_body_size_bytes_total", .counter, "Bytes of the contents of answers.", totals.sent)
        text.counters(
            "roost_http_refused_total", "Connections and requests that the transport refused.", by: "reason", refused)
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
