import HTTP
import LiveQuery
import Logs
import Operations
import ServerConfiguration
import Telemetry

/// The metrics of a server, for `/metrics` and the console. Some are counted as they happen, others read on request.
struct MetricsPage: Sendable {
    let http: HTTPServer
    let database: Database
    let backend: Backend
    let liveQueries: LiveQueryServer?
    let readiness: Readiness
    let eventLoops: EventLoopWatch
    /// The TLS certificate, or nil for plain HTTP.
    let certificate: ServerCertificate?
    /// The number of spans by outcome, or nil without tracing.
    let spans: Counters<SpanExporter.Outcome>?

    /// Returns the current metrics without querying the database.
    func text(_ format: Exposition.Format) -> Exposition {
        var text = Exposition(format)
        backend.meters.write(to: &text)
        writeTransport(to: &text)
        writeDatabase(to: &text)
        writeLiveQueries(to: &text)
        if let isUp = readiness.isUp("fileStore") {
            text.single("roost_file_store_up", .gauge, "1 if the file store responds.", isUp ? 1 : 0)
        }
        text.single(
            "roost_log_dropped_lines_total", .counter, "Log lines dropped because the output was too slow.",
            LogWriter.droppedLines)
        if let spans { text.counters("roost_trace_spans_total", "Trace spans.", by: "result", spans) }
        if let certificate {
            text.single(
                "roost_certificate_expiry_timestamp_seconds", .gauge, "Expiry time of the server certificate.",
                certificate.end)
        }
        text.begin("roost_build_info", .gauge, "Server version.")
        text.add(["version": Version.text, "preset": "\(backend.configuration.preset)"], 1)
        ProcessFigures.write(to: &text)
        text.end()
        return text
    }

    /// The current values for the console's charts.
    var gauges: FigureHistory.Gauges {
        var gauges = FigureHistory.Gauges()
        let (transport, database) = (http.figures, database.client.statistics)
        gauges.connections = transport.idle + transport.active + transport.webSockets
        gauges.live = liveQueries?.figures.clients ?? 0
        gauges.databaseActive = database.pools.reduce(0) { $0 + $1.connections - $1.idle }
        gauges.databaseWaiting = database.pools.reduce(0) { $0 + $1.waiting }
        gauges.hashing = backend.waitingHashes
        gauges.memory = ProcessFigures.residentBytes
        return gauges
    }

    private func writeTransport(to text: inout Exposition) {
        let figures = http.figures
        text.begin("roost_http_connections", .gauge, "Open client connections.")
        text.add(["state": "idle"], figures.idle)
        text.add(["state": "active"], figures.active)
        text.add(["state": "websocket"], figures.webSockets)
        text.single(
            "roost_http_connections_max", .gauge, "Maximum number of client connections.", figures.maxConnections)
        text.single(
            "roost_transfer_memory_bytes", .gauge, "Memory used by large request bodies and unread responses.",
            figures.heldBytes)
        text.single(
            "roost_transfer_memory_max_bytes", .gauge, "Maximum memory for large request bodies and unread responses.",
            figures.maxHeldBytes)
        text.begin("roost_queue_length", .gauge, "Queue length.")
        text.add(["queue": "hashing"], backend.waitingHashes)
        text.single(
            "roost_event_loop_lag_seconds", .gauge, "Maximum event-loop delay since the last scrape.",
            eventLoops.consumeMaxLag())
    }

    private func writeDatabase(to text: inout Exposition) {
        let servers = database.servers.map { ($0.name, $0.client.statistics) }
        text.begin("db_client_connections", .gauge, "Open database connections.")
        for (server, figures) in servers {
            for pool in figures.pools {
                text.add(["pool": pool.name, "server": server, "state": "idle"], pool.idle)
                text.add(["pool": pool.name, "server": server, "state": "used"], pool.connections - pool.idle)
            }
        }
        text.begin("db_client_connection_pending_requests", .gauge, "Requests waiting for a database connection.")
        for (server, figures) in servers {
            for pool in figures.pools { text.add(["pool": pool.name, "server": server], pool.waiting) }
        }
        text.begin(
            "db_client_connection_timeouts_total", .counter,
            "Requests that timed out waiting for a database connection.")
        for (server, figures) in servers {
            for pool in figures.pools { text.add(["pool": pool.name, "server": server], pool.timeouts) }
        }
        text.begin("roost_database_requests_in_flight", .gauge, "Database requests in progress.")
        for (server, figures) in servers { text.add(["server": server], figures.inFlight) }
        text.begin("roost_database_reconnects_total", .counter, "Database connections lost or not established.")
        for (server, figures) in servers { text.add(["server": server], figures.reconnects) }
        if let isUp = readiness.isUp("database") {
            text.single("roost_database_up", .gauge, "1 if the database responds to the probe.", isUp ? 1 : 0)
        }
        let checks = readiness.summary.checks.filter { $0.name.hasPrefix("replica") }
        let lags = checks.compactMap { $0.check.figures.first { $0.name == "lagSeconds" }?.value }
        if let lag = lags.max() {
            text.single(
                "roost_replica_lag_seconds", .gauge, "Maximum replication lag of the replicas.", lag)
        }
    }

    private func writeLiveQueries(to text: inout Exposition) {
        guard let liveQueries else { return }
        let figures = liveQueries.figures
        text.single("roost_live_query_connections", .gauge, "Connected live-query clients.", figures.clients)
        text.single("roost_live_query_subscriptions", .gauge, "Live-query subscriptions.", figures.subscriptions)
    }
}
