import HTTP
import LiveQuery
import Logs
import Operations
import ServerConfiguration
import Telemetry

/// All metrics of a server in Prometheus's format. Some are counted as they happen, others are read for each scrape.
struct MetricsPage: Sendable {
    let meters: Meters
    let http: HTTPServer
    let database: Database
    let backend: Backend
    let liveQueries: LiveQueryServer?
    let readiness: Readiness
    let eventLoops: EventLoopWatch
    let preset: Int
    /// The TLS certificate, or nil for plain HTTP.
    let certificate: ServerCertificate?
    /// The number of exported and dropped spans, or nil without tracing.
    let spans: Counters<SpanExporter.Outcome>?

    /// Returns the current metrics without querying the database.
    func text(_ format: Exposition.Format) -> Exposition {
        var text = Exposition(format)
        meters.write(to: &text)
        writeTransport(to: &text)
        writeDatabase(to: &text)
        writeLiveQueries(to: &text)
        if let isUp = readiness.isUp("fileStore") {
            text.single("roost_file_store_up", .gauge, "Whether the store of files answers.", isUp ? 1 : 0)
        }
        text.single(
            "roost_log_dropped_lines_total", .counter, "Log lines that nothing took in time.", LogWriter.droppedLines)
        if let spans { text.counters("roost_trace_spans_total", "Spans of traces.", by: "result", spans) }
        if let certificate {
            text.single(
                "roost_certificate_expiry_timestamp_seconds", .gauge, "When the certificate of the server ends.",
                certificate.end)
        }
        text.begin("roost_build_info", .gauge, "The version of the server.")
        text.add(["version": Version.text, "preset": "\(preset)"], 1)
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
        text.begin("roost_http_connections", .gauge, "Open connections of clients.")
        text.add(["state": "idle"], figures.idle)
        text.add(["state": "active"], figures.active)
        text.add(["state": "websocket"], figures.webSockets)
        text.single("roost_http_connections_max", .gauge, "The most of them.", figures.mostConnections)
        text.single(
            "roost_transfer_memory_bytes", .gauge, "Memory of large bodies and of unread answers.", figures.heldBytes)
        text.single("roost_transfer_memory_max_bytes", .gauge, "The most of it.", figures.mostHeldBytes)
        text.begin("roost_queue_length", .gauge, "Work that waits.")
        text.add(["queue": "hashing"], backend.waitingHashes)
        text.single(
            "roost_event_loop_lag_seconds", .gauge, "How late an event loop was at most since the last scrape.",
            eventLoops.takeLag())
    }

    private func writeDatabase(to text: inout Exposition) {
        let replicas = database.replicaClients
        let servers =
            [("primary", database.client.statistics)]
            + replicas.enumerated().map { (Self.name(ofReplica: $0, of: replicas.count), $1.statistics) }
        text.begin("db_client_connections", .gauge, "Open connections of the database.")
        for (server, figures) in servers {
            for pool in figures.pools {
                text.add(["pool": pool.name, "server": server, "state": "idle"], pool.idle)
                text.add(["pool": pool.name, "server": server, "state": "used"], pool.connections - pool.idle)
            }
        }
        text.begin("db_client_connection_pending_requests", .gauge, "Requests that wait for a connection.")
        for (server, figures) in servers {
            for pool in figures.pools { text.add(["pool": pool.name, "server": server], pool.waiting) }
        }
        text.begin("db_client_connection_timeouts_total", .counter, "Requests that waited for a connection in vain.")
        for (server, figures) in servers {
            for pool in figures.pools { text.add(["pool": pool.name, "server": server], pool.timeouts) }
        }
        text.begin("roost_database_requests_in_flight", .gauge, "Requests that the database has not answered yet.")
        for (server, figures) in servers { text.add(["server": server], figures.inFlight) }
        text.begin("roost_database_reconnects_total", .counter, "Connections that broke, or could not be made.")
        for (server, figures) in servers { text.add(["server": server], figures.reconnects) }
        if let isUp = readiness.isUp("database") {
            text.single("roost_database_up", .gauge, "Whether the database answers the probe.", isUp ? 1 : 0)
        }
        let checks = readiness.summary.checks.filter { $0.name.hasPrefix("replica") }
        let lags = checks.compactMap { $0.check.figures.first { $0.name == "lagSeconds" }?.value }
        if let lag = lags.max() {
            text.single(
                "roost_replica_lag_seconds", .gauge, "By how much the last replica is behind what it received.", lag)
        }
    }

    /// Returns the name of a replica in metrics and readiness responses, numbered if there are several.
    static func name(ofReplica index: Int, of count: Int) -> String {
        count == 1 ? "replica" : "replica\(index + 1)"
    }

    private func writeLiveQueries(to text: inout Exposition) {
        guard let liveQueries else { return }
        let figures = liveQueries.figures
        text.single("roost_live_query_connections", .gauge, "Connected clients of live queries.", figures.clients)
        text.single("roost_live_query_subscriptions", .gauge, "Their subscriptions.", figures.subscriptions)
    }
}
