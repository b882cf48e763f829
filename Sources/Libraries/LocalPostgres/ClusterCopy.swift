import Platform

/// Copies of the cluster for backups.
///
/// Uses pg_basebackup, because pg_dump's locks would block a running server from creating classes and fields. The copy
/// contains everything including indexes, and pg_verifybackup checks it byte by byte.
extension LocalPostgres {
    /// Returns the major version of the installed PostgreSQL.
    ///
    /// - Throws: ``Failure`` if PostgreSQL isn't installed.
    public static func version() async throws -> Int { try await PostgresBinaries.newest().version }

    /// Copies the running cluster to a temporary folder, and deletes the copy after `use` returns.
    ///
    /// - Parameter use: Receives the path of the verified copy.
    /// - Throws: ``Failure``, also if another copy is in progress, and the errors of `use`.
    public func withCopy<R: Sendable>(_ use: (String) async throws -> R) async throws -> R {
        let account = try Account.forServer()
        guard let lock = try FolderLock(dataFolder + "/backup.lock") else {
            throw Failure("another backup is running: \(dataFolder)")
        }
        // Removes the remains of killed processes.
        _ = try removeCopies()
        let copy = dataFolder + "/copy-\(UInt32.random(in: 0 ... .max))"
        let outcome: Result<R, any Error>
        do {
            outcome = .success(try await make(copy, account, use))
        } catch {
            outcome = .failure(error)
        }
        // A program started by a killed process may still be writing to the folder.
        for _ in 0..<50 where (try? removeCopies()) == false {
            // A new task sleeps even if this one is cancelled.
            await Task { try? await Task.sleep(for: .milliseconds(100)) }.value
        }
        withExtendedLifetime(lock) {}
        return try outcome.get()
    }

    private func make<R: Sendable>(_ copy: String, _ account: Account, _ use: (String) async throws -> R) async throws
        -> R
    {
        try account.makePrivateFolder(copy, isAmongOthers: true)
        try await Self.tool(
            "pg_basebackup",
            [
                "--host=\(socketPath)", "--port=\(Self.port)", "--username=roost", "--no-password", "--pgdata=\(copy)",
                "--format=plain",
                "--wal-method=stream", "--checkpoint=fast", "--manifest-checksums=SHA256",
            ], account, in: dataFolder)
        try await Self.verify(copy, account, in: dataFolder)
        return try await use(copy)
    }

    /// Deletes all copies. Requires the backup lock. Returns false if some couldn't be deleted.
    private func removeCopies() throws -> Bool {
        var isDone = true
        for entry in try FileManager.default.contentsOfDirectory(atPath: dataFolder) where entry.hasPrefix("copy-") {
            do {
                try FileManager.default.removeItem(atPath: dataFolder + "/" + entry)
            } catch {
                isDone = false
            }
        }
        return isDone
    }

    /// Hands a copy over to the account that runs PostgreSQL, verifies it, and replaces its configuration.
    ///
    /// - Parameter folder: The folder that contains the copy as `cluster`.
    /// - Throws: ``Failure`` if files are missing or changed, or can't be handed over.
    public static func adopt(_ folder: String) async throws {
        let account = try Account.forServer()
        try account.makePrivateFolder(folder)
        try account.makePrivateFolder(folder + "/cluster")
        if let identity = account.identity {
            for entry in try FileManager.default.subpathsOfDirectory(atPath: folder) {
                guard lchown(folder + "/" + entry, identity.user, identity.group) == 0 else {
                    throw Failure.ofSystem("can't change the owner of \(entry) to postgres")
                }
            }
        }
        try account.checkReach(of: folder)
        try await verify(folder + "/cluster", account, in: folder)
        try await renewConfiguration(in: folder, account)
    }

    /// The top-level files with data: PostgreSQL's version and the backup's start position in the WAL.
    private static let dataFiles: Set<String> = ["PG_VERSION", "backup_label"]

    /// Replaces a copy's configuration with that of a new cluster. Its own could name programs that PostgreSQL runs
    /// (`archive_command`, `restore_command`), libraries, folders elsewhere (`tablespace_map`), and processes that
    /// pg_ctl stops (`postmaster.pid`). So only data files at the top level are kept.
    private static func renewConfiguration(in folder: String, _ account: Account) async throws {
        let files = FileManager.default
        let (cluster, fresh) = (folder + "/cluster/", folder + "/fresh/")
        defer { try? files.removeItem(atPath: fresh) }
        // Restoring syncs everything to disk at the end.
        try await tool("initdb", initialization(of: fresh) + ["--no-sync"], account, in: folder)
        for entry in try files.contentsOfDirectory(atPath: cluster) where !dataFiles.contains(entry) {
            if try !isFolder(cluster + entry) { try files.removeItem(atPath: cluster + entry) }
        }
        for entry in try files.contentsOfDirectory(atPath: fresh) where !dataFiles.contains(entry) {
            if try !isFolder(fresh + entry) { try files.moveItem(atPath: fresh + entry, toPath: cluster + entry) }
        }
    }

    private static func isFolder(_ path: String) throws -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw Failure.ofSystem("can't read \(path)") }
        return status.st_mode & S_IFMT == S_IFDIR
    }

    private static func verify(_ copy: String, _ account: Account, in folder: String) async throws {
        try await tool("pg_verifybackup", ["--quiet", copy], account, in: folder)
    }

    private static func tool(_ name: String, _ arguments: [String], _ account: Account, in folder: String) async throws
    {
        let path = try await PostgresBinaries.newest().path(name)
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw Failure(
                "\(name) is missing from PostgreSQL's programs. Install the package postgresql-client")
        }
        let log = folder + "/backup.log"
        let (status, output) = try await Command.run(
            [path] + arguments, as: account, in: folder, log: log, endsWithCaller: true)
        try Task.checkCancellation()
        try? FileManager.default.removeItem(atPath: log)
        guard status == 0 else { throw Failure("\(name) failed: \(output.suffix(500))") }
    }
}
