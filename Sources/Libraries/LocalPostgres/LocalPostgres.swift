import Encoding
import Logging
import Platform

/// The default database: an embedded PostgreSQL cluster managed by the server.
///
/// It only listens on a Unix socket in a folder that other users can't access, and is used by one server at a time.
public actor LocalPostgres {
    /// The error if the cluster can't be used, with a message for the operator.
    public struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
        public let description: String

        package init(_ description: String) { self.description = description }

        /// Creates the error for a failed system call, with the system's text for `errno`.
        static func ofSystem(_ text: String) -> Self { Self("\(text): \(SystemError())") }
    }

    let dataFolder: String
    private let logger: Logger
    private var lock: FolderLock?
    private var binaries: PostgresBinaries?
    private var startArguments: [String] = []

    /// Creates an instance for the cluster in a folder, without starting it.
    public init(dataFolder: String, logger: Logger) {
        self.dataFolder = dataFolder
        self.logger = logger
    }

    nonisolated var cluster: String { dataFolder + "/cluster" }
    private var log: String { dataFolder + "/postgres.log" }

    /// Creates the cluster if it doesn't exist, starts it, and returns the connection string of its database `roost`.
    ///
    /// If a killed server left the cluster running or crashed, the cluster is restarted and recovers.
    ///
    /// - Throws: ``Failure``.
    public func start() async throws -> String {
        guard let connectionString = try await startUnlessInUse() else {
            throw Failure(
                "another Roost server uses \(dataFolder): stop it first, or choose another folder with --dataDir")
        }
        return connectionString
    }

    /// Starts the cluster like ``start()``, or returns nil if another process uses it.
    ///
    /// - Throws: ``Failure``.
    func startUnlessInUse() async throws -> String? {
        let binaries = try await PostgresBinaries.newest()
        self.binaries = binaries
        let account = try Account.forServer()
        try FileManager.default.createDirectory(atPath: dataFolder, withIntermediateDirectories: true)
        // Locked before the folder's owner is changed, because a server of another user may be using the folder.
        guard let lock = try FolderLock(dataFolder + "/roost.lock") else { return nil }
        try account.checkOwner(of: cluster)
        self.lock = lock
        try account.makePrivateFolder(dataFolder)
        try account.checkReach(of: dataFolder)
        let socketFolder = try self.socketFolder(account)
        if !exists {
            logger.info("creating a PostgreSQL cluster", metadata: ["folder": "\(cluster)"])
            try await command(binaries.path("initdb"), Self.initialization(of: cluster), account)
        }
        if try await command(binaries.path("pg_ctl"), ["-D", cluster, "status"], account, mayFail: true) == 0 {
            // The previous server was killed. Its cluster is shut down cleanly and restarted.
            try await command(
                binaries.path("pg_ctl"), ["-D", cluster, "-m", "fast", "-w", "stop"], account, mayFail: true)
        }
        let options = [
            "listen_addresses=''", "unix_socket_directories='\(socketFolder)'", "unix_socket_permissions=0700",
            "port=\(Self.port)", "max_connections=100", "shared_buffers=128MB", "logging_collector=off", "fsync=on",
        ]
        startArguments = [
            "-D", cluster, "-l", log, "-w", "-t", "120", "-o", options.map { "-c " + $0 }.joined(separator: " "),
            "start",
        ]
        try await command(binaries.path("pg_ctl"), startArguments, account)
        do {
            try await makeDatabase(binaries, socketFolder, account)
        } catch {
            await stop()
            throw error
        }
        return Self.connectionString(socketFolder)
    }

    /// Returns the arguments of initdb for a new cluster.
    package static func initialization(of cluster: String) -> [String] {
        ["-D", cluster, "-U", "roost", "-A", "trust", "-E", "UTF8", "--no-locale", "--data-checksums"]
    }

    /// The number in the socket's file name. Set explicitly, since PGPORT would change it.
    package static let port = "5432"

    /// Returns the connection string of the database `roost`, given the socket's folder.
    package static func connectionString(_ socketFolder: String) -> String {
        let encoded = PercentEncoding.encode(socketFolder, keepingOnly: "")
        return "postgres:///roost?host=\(encoded)&port=\(port)&user=roost"
    }

    private func makeDatabase(_ binaries: PostgresBinaries, _ socketFolder: String, _ account: Account) async throws {
        let address = ["-h", socketFolder, "-p", Self.port, "-U", "roost"]
        let question = address + ["-d", "roost", "-Atc", "SELECT 1"]
        if try await command(binaries.path("psql"), question, account, mayFail: true) == 0 { return }
        try await command(binaries.path("createdb"), address + ["roost"], account)
    }

    /// Restarts the cluster whenever it crashes, until the task is cancelled.
    ///
    /// PostgreSQL recovers all committed changes from its WAL.
    public func supervise() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(500))
            guard !Task.isCancelled, !isAlive, let binaries, let account = try? Account.forServer() else { continue }
            logger.error("PostgreSQL died, restarting it")
            do {
                try await command(binaries.path("pg_ctl"), startArguments, account)
            } catch {
                // Processes of the crashed cluster may still hold its shared memory. The next iteration tries again.
                logger.warning("PostgreSQL not started yet", metadata: ["reason": "\(error)"])
            }
        }
    }

    private var isAlive: Bool {
        guard let text = try? String(contentsOfFile: cluster + "/postmaster.pid", encoding: .utf8),
            let pid = text.split(separator: "\n").first.flatMap({ pid_t($0) })
        else { return false }
        return kill(pid, 0) == 0 || errno == EPERM
    }

    /// Stops the cluster: closes all connections and writes everything to disk.
    public func stop() async {
        defer { lock = nil }
        guard let binaries, let account = try? Account.forServer() else { return }
        do {
            try await command(
                binaries.path("pg_ctl"), ["-D", cluster, "-m", "fast", "-w", "-t", "60", "stop"], account)
        } catch {
            logger.error("PostgreSQL could not be stopped", metadata: ["reason": "\(error)"])
            return
        }
        // Only a socket folder outside the data folder is removed. Later, nobody could tell what it belongs to.
        try? FileManager.default.removeItem(atPath: outsideSocketFolder)
    }

    /// Creates the socket's folder and returns its path. It is in the data folder, or a private temporary folder if
    /// that path is too long (socket paths are limited to about 100 bytes) or contains special characters.
    private func socketFolder(_ account: Account) throws -> String {
        try account.makePrivateFolder(socketPath, isAmongOthers: true)
        return socketPath
    }

    var socketPath: String {
        let inside = dataFolder + "/socket"
        // A shell and PostgreSQL parse the path.
        let isPlain = inside.utf8.allSatisfy { $0.isASCIIAlphanumeric || "/._-".utf8.contains($0) }
        return isPlain && inside.utf8.count <= 80 ? inside : outsideSocketFolder
    }

    private var outsideSocketFolder: String {
        let hash = String(StableHash.of(dataFolder), radix: 16)
        return FileManager.default.temporaryDirectory.path + "/roost-\(hash)"
    }

    @discardableResult
    private func command(_ path: String, _ arguments: [String], _ account: Account, mayFail: Bool = false) async throws
        -> Int32
    {
        let log = dataFolder + "/commands.log"
        let (status, output) = try await Command.run([path] + arguments, as: account, in: dataFolder, log: log)
        guard status == 0 || mayFail else {
            throw Failure("\(FilePaths.name(of: path)) failed: \(output.suffix(500))")
        }
        return status
    }
}

/// A lock file that only one process can hold. The system releases it when the process ends.
final class FolderLock: Sendable {
    private let descriptor: Int32

    /// Acquires the lock. Returns nil if another process holds it.
    ///
    /// - Throws: `LocalPostgres.Failure` if the file can't be opened for writing.
    init?(_ path: String) throws {
        descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw LocalPostgres.Failure.ofSystem("can't write \(path)") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
    }

    deinit { close(descriptor) }
}

extension LocalPostgres {
    /// Whether the folder contains a cluster.
    public nonisolated var exists: Bool { FileManager.default.fileExists(atPath: cluster + "/PG_VERSION") }

    /// Starts the cluster, or connects to it if another process has started it.
    ///
    /// - Returns: The connection string, and whether another process started the cluster. That process also stops it.
    /// - Throws: ``Failure``, or `CancellationError`.
    public func startOrShare() async throws -> (connectionString: String, isShared: Bool) {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            if let connectionString = try await startUnlessInUse() { return (connectionString, false) }
            // The other process may be starting or stopping the cluster. In the latter case this process starts it.
            if isReady { return (Self.connectionString(socketPath), true) }
            guard ContinuousClock.now < deadline else {
                throw Failure(
                    "another Roost process uses \(dataFolder), but its PostgreSQL doesn't respond. "
                        + "Stop that process and retry")
            }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    private var isReady: Bool {
        guard let text = try? String(contentsOfFile: cluster + "/postmaster.pid", encoding: .utf8) else { return false }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.count > 7 && lines[7].hasPrefix("ready")
    }
}
