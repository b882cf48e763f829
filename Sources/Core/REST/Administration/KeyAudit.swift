import Encoding
import HTTP
import JSON
import ParseStorage
import Rules
public import ServerConfiguration

/// Audits changes made with the master key, an administrator's key or the maintenance key. The entry is stored before
/// the change. If storing it fails, the change is rejected. Values are never recorded.
public struct KeyAudit: Sendable {
    private let routes: ParseRoutes
    private let keys: ApplicationKeys
    private let events: Set<Configuration.AuditEvent>
    private let tables: ConsoleTables

    /// Returns nil if no audit events are configured.
    ///
    /// - Throws: The first invalid address in the configuration.
    public init?(_ routes: ParseRoutes) throws(AddressList.InvalidEntry) {
        guard !routes.configuration.audit.events.isEmpty else { return nil }
        self.routes = routes
        keys = try ApplicationKeys(routes.configuration)
        events = routes.configuration.audit.events
        tables = ConsoleTables(client: routes.backend.store.client)
    }

    /// Responds to a request. If it is a change that `audit.events` covers, first stores an audit entry.
    func record(_ envelope: Envelope, _ answer: () async throws -> Reply) async throws -> Reply {
        // Requests of cloud code aren't audited, and the console writes its own entries.
        guard [.master, .maintenance].contains(envelope.power), !envelope.origin.isInternal, envelope.authority == nil,
            let entry = entry(of: envelope)
        else { return try await answer() }
        try await tables.prepare()
        let audit = routes.backend.store.audit
        let id = try await audit.begin(entry)
        var reply: Reply
        do {
            reply = try await answer()
        } catch {
            reply = routes.errors.reply(to: error, requestID: envelope.id)
        }
        let made = Self.made(by: reply)
        await audit.complete(id, status: reply.status, ids: made.isEmpty ? nil : entry.ids + made, after: nil)
        return reply
    }

    private func entry(of envelope: Envelope) -> AuditEntry? {
        let isBatch = envelope.path.count == 1 && envelope.path[0].asciiLowercased == "batch"
        let elements =
            isBatch ? try? routes.elements(envelope.body["requests"]?.arrayValue ?? [], of: envelope) : nil
        let calls = (elements ?? [envelope]).filter { call in
            !call.onlyReads && Self.event(of: call.path).map(events.contains) == true
        }
        guard !calls.isEmpty, let name = keys.auditName(of: envelope) else { return nil }
        let targets = calls.compactMap { ClassPath.target(of: $0.path) }
        let classes = Set(calls.compactMap { ClassPath.className(of: $0.path, body: $0.body) })
        var entry = AuditEntry()
        entry.operatorName = name
        entry.role = "key"
        entry.address = envelope.origin.address
        entry.requestId = "\(envelope.id)"
        entry.method = envelope.method.rawValue
        entry.path = RouteTable.canonical(envelope.path).joined(separator: "/")
        entry.className = classes.count == 1 ? classes.first : nil
        entry.count = calls.count
        entry.ids = targets.compactMap(\.objectId)
        let fields = calls.flatMap { ($0.body["params"]?.objectValue ?? $0.body).keys.map(\.text) }
        entry.fields = Set(fields).sorted()
        return entry
    }

    private static func event(of path: [String]) -> Configuration.AuditEvent? {
        let path = RouteTable.canonical(path)
        switch path.first {
        case "functions", "login", "verifyPassword", "events": return nil
        case "schemas": return .schema
        case "config", "graphql-config": return .config
        case "hooks": return .hooks
        case "files": return .file
        default: return ClassPath.target(of: path)?.className == "_Role" ? .role : .write
        }
    }

    private static func made(by reply: Reply) -> [String] {
        guard reply.status < 300, case .json(let bytes) = reply.body, let answer = try? JSONValue(parsing: bytes) else {
            return []
        }
        let made = answer.arrayValue?.compactMap { $0["success"] } ?? [answer]
        return made.compactMap { $0["objectId"]?.stringValue ?? ($0["url"] == nil ? nil : $0["name"]?.stringValue) }
    }
}
