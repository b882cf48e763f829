import JSON
import Limits
import Logging
import OrderedCollections
import ParseModel
import Postgres
import Synchronization

/// The schema of all classes, cached in memory. All schema changes go through it.
///
/// Changes by other processes, including parse-server, arrive on the channel `schema.change`, or are noticed by polling
/// ``fingerprint()`` or when a statement fails because of an unexpected table or column.
public final class SchemaCatalog: Sendable {
    private struct State {
        var snapshot: SchemaSnapshot
        /// Read plans for the snapshot, by class and fields.
        var plans = BoundedTable<ReadPlanKey, ReadPlan>(capacity: 4 * 1024 * 1024)
        /// A counter of changes to the snapshot, so that a result read before a change never overwrites it.
        var version = 0

        mutating func set(_ className: String, _ schema: ClassSchema?) {
            snapshot.classes[className] = schema
            plans.removeAll()
            version += 1
        }
    }

    let client: PostgresClient
    private let logger: Logger
    private let state: Mutex<State>
    private let gate = SchemaChangeGate()
    /// Whether each nearest-objects search is faster with circles of increasing radius (``NearestSearch``).
    let nearestHistory = NearestHistory()
    /// Slow finds, for index advice, or nil if they aren't recorded.
    public let findNotes: FindNotes?
    /// The id that distinguishes this process's notifications from those of others.
    public let senderId: String
    /// The distribution of classes over Citus servers, or nil if none is configured.
    let distribution: Distribution?

    /// Creates an empty catalog. Call ``reload()`` before using it.
    public init(
        client: PostgresClient, senderId: String, refusesMixedMembership: Bool, findNotes: FindNotes? = nil,
        distribution: Distribution? = nil, logger: Logger
    ) {
        self.distribution = distribution
        self.findNotes = findNotes
        self.client = client
        self.senderId = senderId
        self.logger = logger
        state = Mutex(
            State(
                snapshot: SchemaSnapshot(
                    classes: [:], refusesMixedMembership: refusesMixedMembership,
                    isSpread: distribution?.isBySchema == false)))
    }

    public var snapshot: SchemaSnapshot { state.withLock { $0.snapshot } }

    /// Returns a class, or nil if it doesn't exist.
    public func schema(_ name: String) -> ClassSchema? { state.withLock { $0.snapshot.classes[name] } }

    /// A counter that every reload and every schema change by this process increments.
    public var version: Int { state.withLock { $0.version } }

    /// Returns the plan for reading a class, cached for each set of requested, excluded and hidden fields.
    func plan(_ schema: ClassSchema, keys: Set<Name>? = nil, excluded: Set<Name> = [], hidden: Set<Name> = [])
        -> ReadPlan
    {
        let key = ReadPlanKey(className: schema.name, keys: keys, excluded: excluded, hidden: hidden)
        if let known = state.withLock({ $0.plans.value(of: key) }) { return known }
        let (current, version) = state.withLock { ($0.snapshot.classes[schema.name], $0.version) }
        // Uses the class of this version, since the caller's may be older.
        let plan = ReadPlan(current ?? schema, keys: key.keys, excluded: key.excluded, hidden: key.hidden)
        state.withLock {
            // A plan for an outdated version isn't cached.
            guard $0.version == version else { return }
            $0.plans.set(plan, for: key, weight: key.weight)
        }
        return plan
    }

    /// Replaces the snapshot with all classes in the database.
    public func reload() async throws {
        // If this process changed a class during the read, the result may be older than the change.
        while try await !readAll() {}
    }

    /// Reads all classes. Returns false, without using them, if this process changed the snapshot meanwhile.
    private func readAll() async throws -> Bool {
        let before = state.withLock { $0.version }
        let result = try await client.query("SELECT \"className\", \"schema\" FROM \"_SCHEMA\"", [], readOnly: true)
        var classes: [Name: ClassSchema] = [:]
        for name in SystemClass.volatileNames { classes[name] = ClassSchema(name: name.text) }
        for row in 0..<result.rowCount {
            guard let name = result.string(row, 0), let json = result.json(row, 1) else { continue }
            classes[name] = TableLayout.schema(name: name, row: json)
        }
        if snapshot.isSpread {
            let placements = try await Distribution.placements { try await client.query($0, readOnly: true) }
            for (name, placement) in placements { classes[name]?.placement = placement }
        }
        return state.withLock {
            guard $0.version == before else { return false }
            $0.snapshot.classes = classes
            $0.plans.removeAll()
            $0.version += 1
            return true
        }
    }

    /// Returns a value that changes whenever any process changes a class. Cheap enough to poll.
    public func fingerprint() async throws -> String {
        let rows = try await client.query(
            "SELECT count(*)::text || ' ' || coalesce(sum(hashtextextended(ctid::text || ' ' || xmin::text, 0)), 0)::text "
                + "FROM \"_SCHEMA\"", [], readOnly: true)
        return rows.string(0, 0) ?? ""
    }

    /// Ensures that a class exists and has the given fields, and returns it.
    ///
    /// Sends nothing if the class is known to have them. Two writers adding the same field at once both succeed.
    ///
    /// - Parameter limit: The maximum number of fields afterward, not counting default fields, or nil for no limit.
    /// - Throws: 111 if a field exists with a different type, 119 if there are too many fields.
    public func ensure(
        _ className: String, _ fields: OrderedDictionary<Name, Field>, atMost limit: Int? = nil
    ) async throws -> ClassSchema {
        @Sendable func grown(_ schema: ClassSchema) throws(ParseError) -> ClassSchema {
            var grown = schema
            for (name, field) in try schema.missing(fields) { grown.fields[name] = field }
            let count = grown.fields.keys.count { !SystemClass.isDefaultField($0.text, of: className) }
            if let limit, count > limit, grown.fields.count > schema.fields.count {
                throw ParseError(
                    ParseError.operationForbidden,
                    "Clients can't give class \(className) more than \(limit) fields (maxClientFields).")
            }
            return grown
        }
        let known = schema(className)
        // Refuse before waiting for a lock.
        let wanted = try grown(known ?? ClassSchema(name: className))
        if let known, wanted.fields.count == known.fields.count { return known }
        return try await change(className) { try grown($0 ?? ClassSchema(name: className)) }
    }

    /// Changes a class in one transaction under the schema-change lock, without blocking its users for long
    /// (``SchemaTransaction``).
    ///
    /// Indexes of a large table are built concurrently afterward. If that fails, all other changes are kept.
    ///
    /// - Parameters:
    ///   - listingHandmade: Whether `edit` also gets indexes that were created by hand.
    ///   - edit: Returns the wanted class for the current one, or for nil if the class doesn't exist.
    @discardableResult
    public func change(
        _ className: String, listingHandmade: Bool = false,
        _ edit: @escaping @Sendable (ClassSchema?) throws -> ClassSchema
    ) async throws -> ClassSchema {
        let (changed, later, isNew, version) = try await SchemaTransaction(client: client, gate: gate).run { session in
            let version = self.version
            var current = try await SchemaChange.read(className, session)
            if listingHandmade, current != nil {
                let rows = try await session.query(ClassIndexes.handmade, [.textArray([className])])
                current?.indexes.merge(try ClassIndexes.read(rows)[className] ?? [:]) { listed, _ in listed }
            }
            var wanted = try edit(current)
            if let distribution = self.distribution, !distribution.isBySchema {
                wanted.placement = try await distribution.placement(of: wanted, session)
                current?.placement = wanted.placement
                try wanted.checkPlacement(from: current)
            }
            let indexes = IndexChanges(from: current, to: &wanted)
            try wanted.checkUnique(indexes.made)
            var later: JSONObject = [:]
            if let current, !indexes.made.isEmpty,
                try await ClassIndexes(schema: current, session: session).areOnLargeTables()
            {
                later = indexes.made
                for name in later.keys { wanted.indexes[name] = nil }
                if current.indexes.isEmpty { wanted.indexes = [:] }
            }
            let change = SchemaChange(
                current: current, wanted: wanted, indexes: indexes, shards: self.distribution?.shards ?? 1,
                session: session)
            if change.isNeeded {
                try change.checkLengths()
                try await change.apply()
                try await announce(session)
            }
            return (wanted, later, change.isNeeded, version)
        }
        await remember(className, changed, since: version)
        if isNew { logger.info("schema changed", metadata: ["class": "\(className)"]) }
        return later.isEmpty ? changed : try await build(later, of: changed)
    }

    private func build(_ indexes: JSONObject, of schema: ClassSchema) async throws -> ClassSchema {
        let version = self.version
        let changed = try await IndexBuild(client: client, logger: logger).build(indexes, of: schema) { session in
            guard var current = try await SchemaChange.read(schema.name, session) else {
                throw ParseError.missingClass(schema.name)
            }
            current.placement = schema.placement
            let made = ClassIndexes(schema: current, session: session)
            current.indexes[IndexChanges.primary] = ["_id": 1]
            for (name, fields) in indexes {
                guard current.indexes[name] == nil else {
                    throw ParseError(ParseError.invalidQuery, "Index \(name) exists, cannot update.")
                }
                try await made.adopt(name.text, fields.objectValue ?? [:])
                current.indexes[name] = fields
            }
            _ = try await session.query(
                "UPDATE \"_SCHEMA\" SET \"schema\" = $2 WHERE \"className\" = $1",
                [.text(schema.name), .jsonb(TableLayout.schemaRow(of: current).serialized())])
            try await announce(session)
            return current
        }
        await remember(schema.name, changed, since: version)
        return changed
    }

    private func announce(_ session: PostgresSession) async throws {
        var payload: JSONObject = ["senderId": .string(senderId)]
        // The channel is parse-server's, and all apps in the database listen on it.
        if let schema = client.schema { payload["schema"] = .string(schema) }
        _ = try await session.query("SELECT pg_notify('schema.change', $1)", [.text(JSONValue.object(payload).text)])
    }

    /// Whether a notification may be about a change of this app's classes by another process.
    public func concerns(announcement: String) -> Bool {
        let payload = try? JSONValue(parsing: announcement)
        guard payload?["senderId"]?.stringValue != senderId else { return false }
        guard let theirs = payload?["schema"]?.stringValue, let schema = client.schema else { return true }
        return theirs.hasSameBytes(as: schema)
    }

    /// Caches a class after its transaction is committed, or removes it if `changed` is nil.
    ///
    /// - Parameter version: The version before the transaction read the class. If it is outdated, the cache may be
    ///   newer than this change, so all classes are read again.
    private func remember(_ className: String, _ changed: ClassSchema?, since version: Int) async {
        func row(_ schema: ClassSchema?) -> JSONObject? { schema.map(TableLayout.schemaRow(of:)) }
        let isRemembered = state.withLock {
            guard $0.version == version else { return row($0.snapshot.classes[className]) == row(changed) }
            $0.set(className, changed)
            return true
        }
        guard !isRemembered else { return }
        do {
            try await reload()
        } catch {
            logger.warning("schema could not be read", metadata: ["error": "\(error)"])
            state.withLock { $0.set(className, changed) }
        }
    }

    /// Deletes a class with its table and join tables.
    ///
    /// - Parameter onlyIfEmpty: Whether to keep a class that has objects. The check locks out writers, so no
    ///   acknowledged object is lost.
    /// - Returns: Whether the class was deleted.
    @discardableResult
    public func drop(_ className: String, onlyIfEmpty: Bool = false) async throws -> Bool {
        let dropped = try await SchemaTransaction(client: client, gate: gate).run {
            session -> (isGone: Bool, version: Int) in
            let version = self.version
            let current = try await SchemaChange.read(className, session)
            if onlyIfEmpty, try await !SchemaChange.isEmpty(className, session) { return (false, version) }
            try await SchemaChange.drop(className, current, session)
            try await announce(session)
            return (true, version)
        }
        if dropped.isGone { await remember(className, nil, since: dropped.version) }
        return dropped.isGone
    }

    /// Adds columns that the schema lists but the table lacks, for example because an older server created it.
    func repair(_ className: String) async throws {
        guard let schema = schema(className) else { return }
        try await SchemaTransaction(client: client, gate: gate).run(
            "ALTER TABLE IF EXISTS \(SQL.identifier(className)) \(TableLayout.missingColumns(of: schema))")
        logger.warning("added missing columns to a table", metadata: ["class": "\(className)"])
    }
}
