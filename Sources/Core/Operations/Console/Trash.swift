import JSON
import ParseModel
import ParseStorage
import Rules

/// Objects that operators deleted, retained for up to 30 days and 1 GB in total. Sessions are never retained, because
/// restoring one would make a revoked token valid again.
///
/// Deletions with an operator's name fill it, also as part of a transaction.
public struct Trash: Sendable {
    let backend: Backend

    public struct Item: Sendable {
        /// The object's class and id, and the operator who deleted it.
        public let entry: TrashRows.Entry
        /// The object with long values truncated, or only its id if its class changed too much to read it.
        public var object: JSONObject
        /// The first non-empty field that usually names objects, or nil if the object has none.
        public var name: String? {
            Self.namingFields.lazy.compactMap { object[$0]?.stringValue }.first { !$0.isEmpty }
        }

        private static let namingFields: [Name] = ["name", "title", "username", "label", "subject", "email"]
    }

    /// The error for values that no longer match the types of their fields.
    public struct Misfit: Error {
        public let fields: [String]
    }

    private static let days = 30
    private static let maxBytes: Int64 = 1 << 30
    private static let maxEntries = 200
    /// The length in bytes above which values are truncated.
    private static let shorten = 256

    /// Lists up to 200 objects in the trash, most recently deleted first.
    ///
    /// - Parameters:
    ///   - className: The class, or nil for all classes.
    ///   - objectId: The object, or nil for all objects.
    public func list(className: String? = nil, objectId: String? = nil, _ context: RequestContext) async throws
        -> [Item]
    {
        let rows = backend.store.trash
        let entries = try await rows.list(className: className, objectId: objectId, limit: Self.maxEntries)
        var objects: [Name: JSONObject] = [:]
        for (className, entries) in Dictionary(grouping: entries, by: { Name($0.className) }) {
            objects.merge(
                try await rows.objects(
                    entries.map(\.id), of: className.text, shorten: Self.shorten, links: backend.links(context),
                    hidden: context.caller.hiddenFields(of: className.text))
            ) { $1 }
        }
        return entries.map { Item(entry: $0, object: objects[$0.id] ?? ["objectId": .string($0.objectId)]) }
    }

    /// Returns an entry of the trash.
    ///
    /// - Throws: 101 if the entry doesn't exist.
    public func entry(_ id: String) async throws -> TrashRows.Entry {
        guard let entry = try await backend.store.trash.entry(id) else { throw ParseError.notFound }
        return entry
    }

    /// Restores an object with its dates, permissions, internal columns and relations. Calls no triggers. Live queries
    /// report it as a new object.
    ///
    /// - Parameter without: Fields to drop if their values don't match the current types.
    /// - Returns: The stored object, and the names of fields that were dropped or that its class no longer has.
    /// - Throws: ``Misfit`` if values don't match the types of their fields; 101 if the entry doesn't exist; 103 if the
    ///   class doesn't exist; 137, 202, 203 or 208 if the id or a unique value is taken.
    public func restore(_ id: String, without: Set<String> = [], _ context: RequestContext) async throws -> (
        object: JSONObject, dropped: [String]
    ) {
        let entry = try await entry(id)
        let misfits = Set(try await backend.store.trash.misfits(entry))
        guard misfits.isSubset(of: without) else { throw Misfit(fields: misfits.subtracting(without).sorted()) }
        let (className, objectId) = (entry.className, entry.objectId)
        let object =
            try await backend.store.trash.objects(
                [id], of: className, shorten: .max, links: backend.links(context), without: misfits)[id] ?? [:]
        let wants = backend.services.changes.wants(className)
        let dropped = try await backend.services.changes.reporting(className, objectId) {
            let restored = try await backend.transaction(conflictKey: objectId) { backend in
                if className.hasSameBytes(as: "_User") {
                    try await backend.store.accounts.claim(backend.users.claimedNames(object))
                    try await backend.users.checkUnique(object, except: objectId)
                }
                guard let entry = try await backend.store.trash.entry(id) else { throw ParseError.notFound }
                return try await backend.store.trash.restore(entry, without: misfits, wants: wants)
            }
            return (restored.dropped, restored.change)
        }
        switch Name(className) {
        case "_User": await backend.caches.invalidate(user: objectId)
        case "_Role": await backend.caches.invalidateRoles()
        default: break
        }
        return (try await backend.finding.object(className, objectId, context), dropped)
    }

    /// Deletes entries past the retention time, then the oldest ones until the trash is within its size limit.
    func sweep() async throws { try await backend.store.trash.sweep(days: Self.days, maxBytes: Self.maxBytes) }
}
