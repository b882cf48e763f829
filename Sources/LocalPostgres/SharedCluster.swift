import Foundation

extension LocalPostgres {
    /// Whether a cluster was ever made in the folder.
    public nonisolated var exists: Bool { FileManager.default.fileExists(atPath: cluster + "/PG_VERSION") }

    /// Starts the cluster, or uses it beside the process that started it.
    ///
    /// - Returns: The connection string, and whether the cluster belongs to another process; only who started it stops it.
    /// - Throws: ``Failure``.
    public func startOrShare() async throws -> (connectionString: String, isShared: Bool) {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            if let connectionString = try await startUnlessInUse() { return (connectionString, false) }
            // The other may be starting it, or about to end: then it is this process's turn.
            if isReady { return (Self.connectionString(socketPath), true) }
            guard ContinuousClock.now < deadline else {
                throw Failure("another process holds \(dataFolder), and its PostgreSQL does not take connections")
            }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Whether the cluster says that it takes connections.
    private var isReady: Bool {
        guard let text = try? String(contentsOfFile: cluster + "/postmaster.pid", encoding: .utf8) else { return false }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.count > 7 && lines[7].hasPrefix("ready")
    }
}
