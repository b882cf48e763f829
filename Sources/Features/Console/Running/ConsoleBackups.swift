import Encoding
import FileStorage
import HTTP
import JSON
internal import Operations
internal import ParseModel
import Synchronization

/// Creates backups of the deployment for the console.
package struct BackupMaker: Sendable {
    /// A function that reports the progress in percent with a description of the current step.
    package typealias Progress = @Sendable (_ percent: Int, _ words: String) -> Void

    /// The folder with the backups. Incomplete backups aren't visible in it.
    let folder: DiskStorage
    let make: @Sendable (_ name: String, _ progress: @escaping Progress) async throws -> Void

    /// - Parameters:
    ///   - folder: The folder for backups.
    ///   - make: Writes a backup with the given name to the folder. Its errors are shown to the operator.
    package init(
        folder: String, make: @escaping @Sendable (_ name: String, _ progress: @escaping Progress) async throws -> Void
    ) {
        self.folder = DiskStorage(directory: folder)
        self.make = make
    }
}

/// The backup maker, and the download URLs that owners have requested.
final class ConsoleBackups: Sendable {
    /// A download URL that works once, in the browser that requested it.
    private struct Address {
        let secret: [UInt8]
        let token: [UInt8]
        let name: String
        let began = ContinuousClock.now
    }

    private static let (maxDownloads, patience) = (100, Duration.seconds(120))

    /// The backup maker, or nil if no backup folder is configured or the database is external.
    let maker: BackupMaker?
    private let addresses = Mutex<[Address]>([])

    init(_ maker: BackupMaker?) { self.maker = maker }

    /// Returns the backup maker.
    ///
    /// - Throws: 409 if there is none.
    func made() throws(HTTPError) -> BackupMaker {
        if let maker { return maker }
        throw HTTPError(status: 409, message: "Set console.backupFolder to use backups.")
    }

    func address(of name: String, for token: [UInt8]) -> String {
        let secret = ConsoleSecrets.make()
        addresses.withLock { addresses in
            addresses.removeAll { ContinuousClock.now - $0.began > Self.patience }
            if addresses.count >= Self.maxDownloads { addresses.removeFirst() }
            addresses.append(Address(secret: ConsoleSecrets.hash(secret), token: token, name: name))
        }
        return secret
    }

    /// Consumes a download URL. Returns nil if it is unknown, used or expired.
    func consume(_ secret: Substring) -> (name: String, token: [UInt8])? {
        let secret = ConsoleSecrets.hash(String(secret))
        return addresses.withLock { addresses in
            guard let place = addresses.firstIndex(where: { $0.secret == secret }) else { return nil }
            let address = addresses.remove(at: place)
            return ContinuousClock.now - address.began > Self.patience ? nil : (address.name, address.token)
        }
    }
}

extension ConsoleRouteTable {
    static let backups: [ConsoleRoute] = [
        ConsoleRoute(.get, "backups", .developer) { try await BackupCalls(call: $0).backups() },
        ConsoleRoute(.post, "backups", .owner, isConfirmed: true) { try await BackupCalls(call: $0).makeBackup() },
        ConsoleRoute(.post, "backups/:name", .owner, isConfirmed: true) { try await BackupCalls(call: $0).address() },
    ]
}

private struct BackupCalls: ConsoleCalls {
    let call: ConsoleCall

    /// Lists the backups, newest first, and the running backup task.
    func backups() async throws -> Reply {
        let ownDatabase: JSONObject = ["ownDatabase": .bool(interface.configuration.databaseURI == nil)]
        guard let folder = interface.backups.maker?.folder else { return .object(ownDatabase) }
        var found: [ListedFile] = []
        try await folder.visit(prefix: "") { file in
            if file.name.hasSuffix(".tar") { found.append(file) }
        }
        found.sort { ($0.modified.seconds, $0.name) > ($1.modified.seconds, $1.name) }
        var answer = ownDatabase
        answer["folder"] = .string(folder.directory)
        answer["backups"] = .array(
            found.prefix(1_000).map { file in
                let time = ParseDate(milliseconds: Int64(file.modified.seconds) * 1_000)
                return ["name": .string(file.name), "bytes": .number(Double(file.size)), "at": .string(time.iso)]
            })
        answer["task"] = interface.tasks.all.first { $0.kind == "backup" && $0.state == .running }?.json
        return .object(answer)
    }

    func makeBackup() async throws -> Reply {
        let maker = try interface.backups.made()
        let (now, tasks) = (interface.backend.clock.now, interface.tasks)
        let name = "roost-\(now.iso.prefix(19).filter(\.isNumber)).tar"
        let item = ConsoleTasks.Item(kind: "backup", startedAt: now)
        var entry = interface.entry(visit, session, "backups")
        entry.fields = [name]
        return try await begin(item, entry, done: "The backup is complete.", busy: "A backup is already running.") {
            do {
                try await maker.make(name) { tasks.update(item.id, $0, $1) }
            } catch {
                guard !Task.isCancelled else { throw error }
                throw HTTPError(status: 500, message: "\(error)")
            }
            return ["name": .string(name)]
        }
    }

    /// Returns a URL for downloading a backup once.
    func address() async throws -> Reply {
        let (name, token) = (arguments[0], ConsoleSecrets.hash(visit.fields.token ?? ""))
        guard name.hasSuffix(".tar"), try await interface.backups.made().folder.exists(name: name) else {
            throw ParseError(ParseError.objectNotFound, "The backup doesn't exist or was deleted.")
        }
        return try await call.audited("backups/once", fields: [name]) {
            let secret = interface.backups.address(of: name, for: token)
            return .object(["url": .string("\(visit.path)/api/backups/once/\(secret)")], status: 201)
        }
    }
}

extension ConsoleInterface {
    /// The bytes sent between two checks of the session.
    private static let pieceSize: Int64 = 16 * 1024 * 1024

    /// Responds to a download URL with the backup while the session belongs to an owner.
    ///
    /// - Throws: 404 if the URL isn't valid for the session or the backup was deleted, or a database or file error.
    func backup(_ visit: ConsoleVisit, _ secret: Substring) async throws -> Reply {
        let gone = HTTPError(status: 404, message: "This download link is no longer valid. Request a new one.")
        let cookies = cookies(of: visit)
        guard visit.request.method == "GET", let (name, token) = backups.consume(secret),
            try await role(cookies, token) == .owner,
            let file = try await backups.made().folder.open(name: name)
        else { throw gone }
        let stream = Reply.ByteStream(length: Int(file.size)) { sink in
            for start in stride(from: 0, to: file.size, by: Int(Self.pieceSize)) {
                guard try await self.role(cookies, token) == .owner else { throw gone }
                try await file.give(start..<min(start + Self.pieceSize, file.size), to: sink)
            }
        }
        return Reply(
            headers: [
                ("Content-Type", "application/x-tar"),
                ("Content-Disposition", "attachment; filename*=UTF-8''\(PercentEncoding.encode(name))"),
                ("Content-Security-Policy", "default-src 'none'; sandbox"),
            ], body: .stream(stream))
    }
}
