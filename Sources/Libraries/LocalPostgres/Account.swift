import Encoding

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// As whom PostgreSQL runs: as the account that runs the server, or as `postgres` when that is root, which PostgreSQL
/// refuses.
package struct Account: Sendable {
    /// The user and group of `postgres`; nil when nothing needs to be changed.
    let identity: (user: uid_t, group: gid_t)?

    package static func forServer() throws -> Account {
        guard getuid() == 0 else { return Account(identity: nil) }
        guard let entry = getpwnam("postgres") else {
            throw LocalPostgres.Failure(
                "PostgreSQL can't run as root, and there is no user postgres. Install the package postgresql, run as "
                    + "another user, or set databaseURI")
        }
        return Account(identity: (entry.pointee.pw_uid, entry.pointee.pw_gid))
    }

    /// A command that runs as this account.
    ///
    /// A program changes the account, and not the process between fork and exec, as swift-subprocess can have it: there
    /// glibc waits for ever for a thread that this process was just starting.
    func wrap(_ command: [String]) -> [String] {
        guard identity != nil else { return command }
        return ["/usr/sbin/runuser", "-u", "postgres", "--"] + command
    }

    /// Makes a folder that its owner alone can use.
    ///
    /// - Parameter isAmongOthers: Whether it lies where every user makes folders, and links.
    package func makePrivateFolder(_ path: String, isAmongOthers: Bool = false) throws {
        let files = FileManager.default
        try files.createDirectory(atPath: path, withIntermediateDirectories: true)
        if isAmongOthers {
            var status = stat()
            guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR,
                status.st_uid == getuid() || status.st_uid == identity?.user
            else { throw LocalPostgres.Failure("\(path) belongs to another user. Remove it") }
        }
        guard chmod(path, 0o700) == 0 else { throw LocalPostgres.Failure("\(path) cannot be given mode 0700") }
        if let identity, chown(path, identity.user, identity.group) != 0 {
            throw LocalPostgres.Failure("\(path) cannot be handed over to the user postgres")
        }
    }

    /// Checks that every folder above can be passed by the account.
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
