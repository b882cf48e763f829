internal import Console
import LiveQuery
import Logging
import Operations
import REST
import ServerConfiguration
import Telemetry

/// The administration page, and the metrics history for its charts.
struct ConsoleFeature: Feature {
    let site: ConsoleSite
    private let figures: FigureHistory
    private let deployment: Deployment?

    /// Creates the console, or returns nil if it is off or the server is read-only.
    init?(
        _ routes: ParseRoutes, files: FileRoutes?, monitoring: MonitoringRoutes, countsRequests: Bool,
        deployment: Deployment?, logger: Logger
    ) throws {
        let configuration = routes.backend.configuration
        var backups: BackupMaker?
        if let deployment, let folder = configuration.console.backupFolder,
            let writer = try Backup.writer(into: folder, deployment, logger: logger)
        {
            backups = BackupMaker(folder: folder, make: writer)
        }
        guard configuration.console.reach != .closed, !configuration.readOnly else { return nil }
        self.deployment = deployment
        figures = FigureHistory(routes.backend.meters, countsRequests: countsRequests)
        site = try ConsoleSite(
            routes.backend, ConsoleDispatcher(routes, files: files), figures: figures,
            readiness: { await monitoring.findings(showsReasons: true) }, backups: backups,
            pushCheck: PushCheck.function(configuration), version: Version.text, logger: logger)
    }

    /// Adds live queries and the server's gauges, which are created after the console.
    func show(_ liveQueries: LiveQueryServer?, _ page: MetricsPage) {
        figures.show { page.gauges }
        guard let liveQueries else { return }
        site.show(
            live: { await liveQueries.overview() },
            events: { try await liveQueries.events($0, followedAs: $1, mountURL: $2, address: $3, wait: $4) })
    }

    func listening(on port: Int) { site.serve(at: port) }

    func bannerLines(showsSecrets: Bool) -> [(name: String, value: String)] {
        let command = deployment.map { ConsoleAccess($0).openCommand() } ?? "roost console open"
        return ConsoleAccess.bannerLines(site.address(hasTicket: showsSecrets), command: command)
    }

    func run() async { await figures.run() }

    func stop() async { figures.show(nil) }
}
