import Encoding
import FileStorage
import HTTP
import JSON
internal import Operations
internal import ParseModel
internal import ParseStorage
import Synchronization

/// How a deployment makes backups of itself.
package struct BackupMaker: Sendable {
    /// Says how far a backup is, in percent, and what is being done.
    package typealias Progress = @Sendable (_ percent: Int, _ words: String) -> Void

    /// Where backups lie. Those that are not whole have no name there.
    let folder: DiskStorage
    let make: @Sendable (_ name: String, _ progress: @escaping Progress) async throws -> Void

    /// Describes a way.
    ///
    /// - Parameters:
    ///   - folder: The folder in which backups lie.
    ///   - make: Makes one there of a name; it throws what the operator gets to read.
    package init(
        folder: String, make: @escaping @Sendable (_ name: String, _ progress: @escaping Progress) async throws -> Void
    ) {
        self.folder = DiskStorage(directory: folder)
        self.make = make
    }
}

/// Backups that owners make, and take with them.
final class ConsoleBackups: Sendable {
    /// An address of a backup that works once, in the browser that asked for it.
    private struct Address {
        let secret: [UInt8]
        let token: [UInt8]
        let name: String
        let began = ContinuousClock.now
    }

    /// How many addresses wait, and for how long.
    private static let (most, patience) = (100, Duration.seconds(120))

    /// The way to make them; nil where there is none.
    let maker: BackupMaker?
    private let addresses = Mutex<[Address]>([])

    init(_ maker: BackupMaker?) { self.maker = maker }

    /// The way to make them; throws 409 where there is none.
    func made() throws(HTTPError) -> BackupMaker {
        if let maker { return maker }
        throw HTTPError(status: 409, message: "Set console.backupFolder to use backups.")
    }

    func address(of name: String, for token: [UInt8]) -> String {
        let secret = ConsoleSecrets.make()
        addresses.withLock { addresses in
            addresses.removeAll { ContinuousClock.now - $0.began > Self.patience }
            if addresses.count >= Self.most { addresses.removeFirst() }
            addresses.append(Address(secret: ConsoleSecrets.hash(secret), token: token, name: name))
        }
        return secret
    }

    /// Takes an address, which works no second time.
    func take(_ secret: Substring) -> (name: String, token: [UInt8])? {
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

    /// The backups that there are, the last first, and the one that is being made.
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
        let item = ConsoleTasks.Item(
            id: Identifiers.alphanumeric(10), kind: "backup", className: "", startedAt: now, message: "Starting.")
        var entry = interface.entry(visit, session, "backups")
        entry.fields = [name]
        return try await begin(item, entry, done: "The backup is complete.", busy: "A backup is already running.") {
            do {
                try await maker.make(name) { tasks.note(item.id, $0, $1) }
            } catch {
                guard !Task.isCancelled else { throw error }
                throw HTTPError(status: 500, message: "\(error)")
            }
            return ["name": .string(name)]
        }
    }

    /// The address at which a backup is downloaded once.
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
    /// How much of a backup is sent before the session is looked at again.
    private static let pieceSize: Int64 = 16 * 1024 * 1024

    /// Answers the address of a backup with its file, as long as the session is an owner's.
    ///
    /// - Throws: 404 for an address that was used, or by another browser than the one that asked.
    func backup(_ visit: ConsoleVisit, _ secret: Substring) async throws -> Reply {
        let gone = HTTPError(status: 404, message: "The backup doesn't exist or was deleted.")
        let cookies = cookies(of: visit)
        guard visit.request.method == "GET", let (name, token) = backups.take(secret),
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
