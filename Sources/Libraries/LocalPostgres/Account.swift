import Encoding
import Platform

/// The account that runs PostgreSQL: the server's own, or `postgres` instead of root, which PostgreSQL rejects.
package struct Account: Sendable {
    /// The user and group of `postgres`, or nil to run PostgreSQL as the current user.
    let identity: (user: uid_t, group: gid_t)?

    package static func forServer() throws -> Account {
        guard getuid() == 0 else { return Account(identity: nil) }
        guard let entry = getpwnam("postgres") else {
            throw LocalPostgres.Failure(
                "PostgreSQL can't run as root, and the user postgres doesn't exist. Install the package postgresql, run as "
                    + "another user, or set databaseURI")
        }
        return Account(identity: (entry.pointee.pw_uid, entry.pointee.pw_gid))
    }

    /// Returns the command line that runs a command as this account.
    ///
    /// Uses runuser(1) instead of swift-subprocess's option, which changes the user between fork and exec. glibc
    /// deadlocks there if this process was starting a thread.
    func wrap(_ command: [String]) -> [String] {
        guard identity != nil else { return command }
        return ["/usr/sbin/runuser", "-u", "postgres", "--"] + command
    }

    /// Creates a folder that only this account can access.
    ///
    /// - Parameter isAmongOthers: Whether other users, such as `postgres`, can write to its parent, so that the path could
    ///   be another user's folder or a link.
    package func makePrivateFolder(_ path: String, isAmongOthers: Bool = false) throws {
        let files = FileManager.default
        try files.createDirectory(atPath: path, withIntermediateDirectories: true)
        // Changed through a descriptor, because a link could replace the folder after the check.
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (isAmongOthers ? O_NOFOLLOW : 0))
        defer { if folder >= 0 { close(folder) } }
        var status = stat()
        guard folder >= 0, fstat(folder, &status) == 0,
            !isAmongOthers || status.st_uid == getuid() || status.st_uid == identity?.user
        else { throw LocalPostgres.Failure("\(path) is not a folder, or belongs to another user. Remove it") }
        guard fchmod(folder, 0o700) == 0 else {
            throw LocalPostgres.Failure.ofSystem("can't set mode 0700 of \(path)")
        }
        if let identity, fchown(folder, identity.user, identity.group) != 0 {
            throw LocalPostgres.Failure.ofSystem("can't change the owner of \(path) to postgres")
        }
    }

    /// Checks that a folder, if it exists, belongs to this account.
    func checkOwner(of folder: String) throws {
        var status = stat()
        guard stat(folder, &status) == 0, status.st_uid != identity?.user ?? getuid() else { return }
        let owner = getpwuid(status.st_uid).map { String(cString: $0.pointee.pw_name) } ?? "\(status.st_uid)"
        throw LocalPostgres.Failure("\(folder) belongs to the user \(owner). Run the command as that user")
    }

    /// Checks that the account can traverse all parent folders of a path.
    func checkReach(of path: String) throws {
        guard let identity else { return }
        var parent = FilePaths.folder(of: path)
        while parent != "/", !parent.isEmpty {
            var status = stat()
            if stat(parent, &status) == 0 {
                let isOwner = status.st_uid == identity.user
                let isGroup = status.st_gid == identity.group
                let bit: mode_t = isOwner ? 0o100 : isGroup ? 0o010 : 0o001
                guard status.st_mode & bit != 0 else {
                    throw LocalPostgres.Failure(
                        "User postgres can't access \(path): it has no permission on \(parent). Choose another folder with "
                            + "--dataDir, or run Roost as a user other than root.")
                }
            }
            parent = FilePaths.folder(of: parent)
        }
    }
}
