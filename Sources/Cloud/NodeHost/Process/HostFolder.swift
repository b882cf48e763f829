import Platform

/// A private folder with the scripts that run an app's file and their socket, or with the socket of the app's routes.
///
/// A folder with scripts is removed once the process has loaded the file, so it rarely remains if the server is killed.
struct HostFolder: Sendable {
    private let path: String

    var script: String { path + "/host.mjs" }
    var socket: String { path + "/socket" }
    /// The script that reads an app's own index.js and writes ``record``.
    var reader: String { path + "/read.mjs" }
    var record: String { path + "/record.json" }

    private static let files: [(name: String, content: [UInt8])] = [
        ("adapters.mjs", PackageResources.adapters_mjs), ("app.mjs", PackageResources.app_mjs),
        ("callSites.mjs", PackageResources.callSites_mjs),
        ("calls.mjs", PackageResources.calls_mjs), ("connection.mjs", PackageResources.connection_mjs),
        ("failures.mjs", PackageResources.failures_mjs), ("files.mjs", PackageResources.files_mjs),
        ("frames.mjs", PackageResources.frames_mjs), ("host.mjs", PackageResources.host_mjs),
        ("httpRequest.mjs", PackageResources.httpRequest_mjs),
        ("importHooks.mjs", PackageResources.importHooks_mjs), ("lag.mjs", PackageResources.lag_mjs),
        ("logging.mjs", PackageResources.logging_mjs), ("modules.mjs", PackageResources.modules_mjs),
        ("objects.mjs", PackageResources.objects_mjs), ("parseServer.mjs", PackageResources.parseServer_mjs),
        ("publicFiles.mjs", PackageResources.publicFiles_mjs),
        ("read.mjs", PackageResources.read_mjs), ("records.mjs", PackageResources.records_mjs),
        ("registry.mjs", PackageResources.registry_mjs),
        ("responses.mjs", PackageResources.responses_mjs), ("routes.mjs", PackageResources.routes_mjs),
        ("sdk.mjs", PackageResources.sdk_mjs),
        ("services.mjs", PackageResources.services_mjs), ("standIns.mjs", PackageResources.standIns_mjs),
        ("tracking.mjs", PackageResources.tracking_mjs), ("turns.mjs", PackageResources.turns_mjs),
        ("validators.mjs", PackageResources.validators_mjs), ("values.mjs", PackageResources.values_mjs),
        ("watchdog.mjs", PackageResources.watchdog_mjs),
    ]

    /// Creates a folder with the scripts.
    ///
    /// - Throws: An error if files can't be written.
    init() throws {
        try self.init(named: "cloud", files: Self.files)
    }

    /// Creates a folder without scripts for the socket of the app's routes.
    static func forApp() throws -> HostFolder { try HostFolder(named: "app", files: []) }

    private init(named name: String, files: [(name: String, content: [UInt8])]) throws {
        let name = "roost-\(name)-\(UUID().uuidString.prefix(13))"
        let temporary = FileManager.default.temporaryDirectory.path
        // Socket paths are limited to about 100 bytes.
        path = (temporary.utf8.count <= 64 ? temporary : "/tmp") + "/" + name
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        do {
            for file in files { try Data(file.content).write(to: URL(fileURLWithPath: "\(path)/\(file.name)")) }
        } catch {
            remove()
            throw error
        }
    }

    /// Keeps other users from connecting to the socket.
    func protectSocket() throws {
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: socket)
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}
