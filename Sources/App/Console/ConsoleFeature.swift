internal import Console
import JSON
import Limits
import LiveQuery
import Logging
import Operations
import Platform
import REST
import ServerConfiguration
import Telemetry

/// The administration page, and the metrics history for its charts.
struct ConsoleFeature: Feature {
    let site: ConsoleSite
    private let figures: FigureHistory
    private let deployment: Deployment?

    /// Creates the console, or returns nil if it is off or the server is read-only.
    ///
    /// - Parameter filesFolder: The folder of uploaded files, or nil if they aren't on disk.
    init?(
        _ routes: ParseRoutes, files: FileRoutes?, monitoring: MonitoringRoutes, countsRequests: Bool,
        deployment: Deployment?, filesFolder: String?, logger: Logger
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
        let data = configuration.databaseURI == nil ? deployment?.dataFolder : nil
        let isInside = data.flatMap { filesFolder?.hasPrefix($0 + "/") } == true
        let folders = [data, isInside ? nil : filesFolder].compactMap { $0 }
        figures = FigureHistory(routes.backend.meters, countsRequests: countsRequests)
        site = try ConsoleSite(
            routes.backend, ConsoleDispatcher(routes, files: files), figures: figures,
            readiness: {
                var found = await monitoring.findings(showsReasons: true)
                // A disk of the network may not respond.
                found["disks"] = await HeavyWork.run { .array(folders.compactMap(Self.space)) }
                return found
            }, backups: backups,
            pushCheck: PushCheck.function(configuration), version: Version.text, logger: logger)
    }

    /// Returns the free space and the size in bytes of a folder's file system, or nil if unknown.
    private static func space(of folder: String) -> JSONValue? {
        var found = statvfs()
        guard statvfs(folder, &found) == 0 else { return nil }
        let unit = Double(found.f_frsize)
        return [
            "folder": .string(folder), "free": .number(Double(found.f_bavail) * unit),
            "size": .number(Double(found.f_blocks) * unit),
        ]
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
