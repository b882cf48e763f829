import Encoding
import JSON
internal import Logging
internal import Operations
internal import ParseModel
internal import ParseStorage
internal import REST
import Rules
internal import ServerConfiguration

/// Writes audit entries. A call is recorded before it runs, and a sign-in, sign-out or confirmation afterwards.
struct ConsoleAudit: Sendable {
    let backend: Backend
    let logger: Logger

    /// The maximum size in bytes of the values recorded before a change, and likewise of those recorded after it.
    private static let maxBytes = 16 * 1024

    /// An audit entry that is not complete yet.
    struct Open: Sendable {
        fileprivate let id: Int
        fileprivate let entry: AuditEntry
        /// The objects to read again after the change, by class.
        fileprivate let objects: [String: Objects]
        /// The value to record as `after`: the body or the impersonated user, or nil to read the objects again.
        fileprivate let sent: JSONValue?
        /// Whether objects are created, in which case their ids come from the response.
        let creates: Bool
    }

    fileprivate struct Objects: Sendable {
        var ids: [String] = []
        var fields: Set<Name> = []
        /// Whether an object is deleted, in which case all fields but the password are audited.
        var wantsAll = false
    }

    /// Begins the entry of a REST API request.
    ///
    /// - Parameters:
    ///   - calls: The calls of a batch, or the single call.
    ///   - envelope: The whole request.
    func begin(_ calls: [Envelope], of envelope: Envelope, by session: StoredOperatorSession) async throws -> Open {
        // The log shows a batch of deletions as one.
        let method = calls.isEmpty || calls.contains { $0.method != .delete } ? envelope.method : .delete
        var entry = entry(
            session, address: envelope.origin.address, requestId: "\(envelope.id)", method: method.rawValue,
            path: RouteTable.canonical(envelope.path).joined(separator: "/"))
        entry.count = calls.count
        var objects: [String: Objects] = [:]
        var classes: Set<String> = []
        var fields: Set<Name> = []
        var creates = false
        for call in calls {
            if let className = ClassPath.className(of: call.path, body: call.body) { classes.insert(className) }
            guard let (className, objectId) = ClassPath.target(of: call.path) else { continue }
            let names = call.method == .get || call.method == .delete ? [] : Array(call.body.keys)
            fields.formUnion(names)
            var known = objects[className] ?? Objects()
            known.fields.formUnion(names.map { Name(String($0.text.prefix { $0 != "." })) })
            if call.method == .delete { known.wantsAll = true }
            if let objectId {
                entry.ids.append(objectId)
                if call.method != .get { known.ids.append(objectId) }
            } else if call.method == .post {
                creates = true
            }
            objects[className] = known
        }
        entry.className = classes.count == 1 ? classes.first : nil
        entry.fields = fields.map(\.text).sorted()
        let isAboutObjects = !objects.isEmpty
        if isAboutObjects { entry.before = await values(of: objects) }
        var sent: JSONValue?
        if !isAboutObjects, !envelope.body.isEmpty {
            var body = envelope.body
            // Viewers read the audit, and webhook URLs may contain passwords and keys, also in their paths.
            if let address = body["url"]?.stringValue {
                let parts = Setting.withoutCredentials(address).utf8.split(
                    separator: UInt8(ascii: "/"), maxSplits: 3, omittingEmptySubsequences: false)
                body["url"] = .string(
                    parts.prefix(3).map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/"))
            }
            // Config keeps whole values: its history can set them again.
            let isConfig = envelope.path.first == "config"
            sent = bounded(isConfig ? .object(body) : SecretTexts(backend.configuration).removed(from: .object(body)))
        }
        switch envelope.authority?.viewAs {
        case .user(let id): sent = ["viewAs": .string(AuditEntry.short(id))]
        case .anonymous: sent = ["viewAs": "anonymous"]
        case nil: break
        }
        return Open(
            id: try await backend.store.audit.begin(entry), entry: entry, objects: objects, sent: sent,
            creates: creates)
    }

    /// Completes the entry of a REST API request.
    ///
    /// - Parameter answer: The response body, or nil if it isn't JSON or contains no ids of created objects.
    func complete(_ open: Open, status: Int, answer: JSONValue?) async {
        var ids = open.entry.ids
        var objects = open.objects
        if open.creates, let answer {
            let made =
                answer["objectId"]?.stringValue.map { [$0] }
                ?? answer.arrayValue?.compactMap { $0["success"]?["objectId"]?.stringValue } ?? []
            ids += made
            if let className = open.entry.className { objects[className]?.ids += made }
        }
        var after = open.sent
        if status >= 400 {
            after = Optional.none
        } else if after == Optional.none {
            after = await values(of: objects)
        }
        await backend.store.audit.complete(open.id, status: status, ids: ids, after: after)
    }

    /// Stores the entry of a sign-in, sign-out or confirmation, successful or not.
    func record(_ entry: AuditEntry, status: Int) async throws {
        let id = try await backend.store.audit.begin(entry)
        await backend.store.audit.complete(id, status: status, ids: nil, after: nil)
    }

    func entry(
        _ session: StoredOperatorSession, address: String, requestId: String, method: String, path: String
    ) -> AuditEntry {
        var entry = AuditEntry()
        entry.operatorName = session.name
        entry.role = session.role
        entry.address = address
        entry.requestId = requestId
        entry.method = method
        entry.path = path
        return entry
    }

    /// Returns the current values of the audited fields, by id if there are several objects, or nil if there are none.
    /// Objects that can't be read are left out, so that the change isn't blocked.
    private func values(of objects: [String: Objects]) async -> JSONValue? {
        var found: JSONObject = [:]
        for (className, wanted) in objects {
            guard !wanted.ids.isEmpty, let schema = backend.catalog.schema(className) else { continue }
            var request = ObjectStore.FindRequest(className: className)
            request.filter = .field(
                FieldPath("objectId"), .isIn(wanted.ids.prefix(AuditEntry.maxIds).map { .string($0) }))
            let known = Set(schema.fields.keys).union(["ACL"]).subtracting(["password"])
            request.keys = wanted.wantsAll ? known : wanted.fields.intersection(known)
            request.limit = AuditEntry.maxIds
            // Larger values wouldn't be stored anyway, and one large value must not displace the others.
            request.shorten = max(256, Self.maxBytes / 2 / wanted.ids.count)
            request.keys?.insert("objectId")
            let rows: [JSONObject]
            do {
                rows = try await backend.store.find(request).objects
            } catch {
                logger.warning(
                    "audit entry lacks old values", metadata: ["class": "\(className)", "error": "\(error)"])
                continue
            }
            for row in rows {
                guard let id = row["objectId"]?.stringValue else { continue }
                let kept = row.filter { request.keys?.contains($0.key) == true && $0.key != "objectId" }
                found[Name(id)] = .object(kept)
            }
            for name in wanted.fields where !known.contains(name) && name != "objectId" {
                for id in wanted.ids where found[Name(id)] != nil {
                    guard var row = found[Name(id)]?.objectValue else { continue }
                    row[name] = SecretValues.removed(from: .object([name: .null]))[name]
                    found[Name(id)] = .object(row)
                }
            }
        }
        guard !found.isEmpty else { return nil }
        let isOne = objects.values.reduce(0) { $0 + $1.ids.count } == 1
        return bounded(isOne ? found.values.first ?? .null : .object(found))
    }

    /// Removes secrets from a value. If it is too large, returns an object with its size instead.
    func bounded(_ value: JSONValue) -> JSONValue {
        let value = SecretValues.removed(from: value)
        let size = value.serialized().count
        return size <= Self.maxBytes ? value : ["__type": "Shortened", "bytes": .number(Double(size))]
    }
}
