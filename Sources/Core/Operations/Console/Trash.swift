import JSON
import ParseModel
import ParseStorage
import Rules

/// What operators removed, for 30 days. Deletions that are given an operator's name put objects there
/// (``Deleting/delete(_:_:_:ifUpdatedAt:keptFor:)``).
public struct Trash: Sendable {
    let backend: Backend

    /// An object in the trash.
    public struct Item: Sendable {
        /// Where it is, and who put it there.
        public let entry: TrashRows.Entry
        /// The object as it was, long values shortened; its id alone where its class has become another.
        public var object: JSONObject
        /// What the object is called, by the first field that names objects; nil where none does.
        public var name: String? {
            Self.namingFields.lazy.compactMap { object[$0]?.stringValue }.first { !$0.isEmpty }
        }

        private static let namingFields: [Name] = ["name", "title", "username", "label", "subject", "email"]
    }

    /// Values of an object do not fit the types that their fields have by now.
    public struct Misfit: Error {
        /// The fields.
        public let fields: [String]
    }

    /// Days for which objects are kept.
    private static let days = 30
    private static let mostBytes: Int64 = 1 << 30
    /// Maximum objects in a list.
    private static let most = 200
    /// Bytes from which values are shortened.
    private static let shorten = 256

    /// What is in the trash, the last first.
    ///
    /// - Parameters:
    ///   - className: The class; nil for all.
    ///   - objectId: The object; nil for all.
    public func list(className: String? = nil, objectId: String? = nil, _ context: RequestContext) async throws
        -> [Item]
    {
        let rows = backend.store.trash
        let entries = try await rows.list(className: className, objectId: objectId, most: Self.most)
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

    /// Where an object of the trash is.
    ///
    /// - Throws: 101 when it is not there.
    public func entry(_ id: String) async throws -> TrashRows.Entry {
        guard let entry = try await backend.store.trash.entry(id) else { throw ParseError.notFound }
        return entry
    }

    /// Puts an object back as it was: its dates, its permissions, columns that no schema lists, the relations it owns. No
    /// trigger is called; subscribers of live queries get it as a new object.
    ///
    /// - Parameter without: Fields whose values are left out where they do not fit.
    /// - Returns: The object as it is stored, and the fields with a value that its class has lost since, or that was left
    ///   out.
    /// - Throws: ``Misfit`` where a field has got another type; 101 when it is not in the trash, 103 when its class is gone; 137, 202, 203 or 208 when its id, or a value
    ///   that must be unique, is taken.
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
        let dropped = try await backend.services.changes.reporting(className, objectId, by: context.caller) {
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
        case "_Session":
            if let owner = try await backend.sessions.owner(objectId) { await backend.caches.invalidate(user: owner) }
        default: break
        }
        return (try await backend.finding.object(className, objectId, context), dropped)
    }

    /// Forgets what was removed long ago, and the oldest of what is too much.
    func sweep() async throws { try await backend.store.trash.sweep(days: Self.days, mostBytes: Self.mostBytes) }
}
