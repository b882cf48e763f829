import HTTP
import Logging
import NIOPosix
import Postgres
import REST
import ServerConfiguration
import Synchronization
import Telemetry

/// Monitors the server: runs the probes, and listens for `/metrics`, `/live` and `/ready`.
///
/// It starts before the server is prepared, so that long migrations can be monitored, and stops after it.
final class Monitoring: Sendable {
    let readiness = Readiness()
    let eventLoops = EventLoopWatch(MultiThreadedEventLoopGroup.singleton)
    private let configuration: Configuration.Metrics
    private let probes: [any ReadinessProbe]
    private let logger: Logger
    private let tasks = Mutex<[Task<Void, Never>]>([])
    private let page = Mutex<MetricsPage?>(nil)
    private let isProbing = Atomic(false)

    init(_ configuration: Configuration.Metrics, _ probes: [any ReadinessProbe], logger: Logger) {
        self.configuration = configuration
        self.probes = probes
        self.logger = logger
        readiness.expect(probes.filter(\.isNeeded).map(\.probeName))
    }

    func routes() -> MonitoringRoutes {
        MonitoringRoutes(
            readiness: readiness, page: { [weak self] in self?.text($0) ?? Exposition($0) },
            isLive: { [eventLoops] in eventLoops.isLive }, beginProbing: { [weak self] in await self?.beginProbing() },
            key: configuration.key, isOnMainPort: configuration.onMainPort)
    }

    private func text(_ format: Exposition.Format) -> Exposition {
        if let page = page.withLock({ $0 }) { return page.text(format) }
        var text = Exposition(format)
        text.end()
        return text
    }

    /// Sets the page that metrics are read from.
    func show(_ metrics: MetricsPage) { page.withLock { $0 = metrics } }

    /// Starts the probes, if they aren't running, and waits up to 1.5 seconds for their first results. Without a
    /// metrics port, the first request for the readiness calls this, also one of the console.
    private func beginProbing() async {
        if !isProbing.exchange(true, ordering: .acquiring) {
            begin { [probes, readiness] in await Prober(probes, readiness).run() }
        }
        let end = ContinuousClock.now + .milliseconds(1500)
        while !readiness.isKnown, ContinuousClock.now < end, !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    /// If a metrics port is configured, starts the probes and the listener.
    ///
    /// - Throws: `ListenFailure` if the port can't be listened on, or `CancellationError`.
    func start(_ routes: MonitoringRoutes) async throws {
        guard let port = configuration.port else { return }
        await beginProbing()
        var limits = HTTPServer.Limits()
        limits.connections = 64
        limits.body = 0
        let server = HTTPServer(
            host: configuration.host, port: port,
            handler: MonitoringHandler(routes, needsKey: configuration.key != nil && !configuration.isLocal),
            // Web pages in a local browser must not read metrics.
            crossOrigin: .none, limits: limits, logger: logger)
        begin { try? await server.run() }
        do {
            _ = try await server.boundPort
        } catch let error where !(error is CancellationError) {
            throw ListenFailure(error, host: configuration.host, port: port, option: "metrics.port")
        }
    }

    private func begin(_ body: @escaping @Sendable () async -> Void) {
        let task = Task { await body() }
        tasks.withLock { $0.append(task) }
    }

    func stop() async {
        let tasks = tasks.withLock { tasks in
            defer { tasks = [] }
            return tasks
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
        page.withLock { $0 = nil }
        eventLoops.stop()
        for probe in probes { await (probe as? DatabaseProbe)?.client.shutdown() }
    }
}

struct MonitoringFeature: Feature {
    let monitoring: Monitoring
    let routes: MonitoringRoutes

    func prepare() async throws { try await monitoring.start(routes) }

    func listening(on port: Int) { monitoring.readiness.enter(.serving) }

    func stop() async { await monitoring.stop() }
}
