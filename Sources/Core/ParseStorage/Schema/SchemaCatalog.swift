import JSON
import Logging
import OrderedCollections
import ParseModel
import Postgres
import Synchronization
import Tasks

/// The classes of the database: read once, kept in memory, changed in one place.
///
/// Changes made by other processes (parse-server's included) arrive by the channel `schema.change`, or are noticed when
/// a statement finds a column or table that it did not expect.
public final class SchemaCatalog: Sendable {
    private struct State {
        var snapshot: SchemaSnapshot
        /// Plans made for the snapshot, by what they were made of.
        var plans = BoundedTable<ReadPlanKey, ReadPlan>(capacity: 4 * 1024 * 1024)
        /// Counts reloads, so that an answer read before a change never replaces what was learned after it.
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
    /// In which manner the nearest objects of classes are best found.
    let nearestHistory = NearestHistory()
    /// Slow finds, for advice on indexes, or nil if it is off.
    public let findNotes: FindNotes?
    /// Distinguishes this process's notifications from those of others.
    public let senderId: String
    /// How classes lie on several servers; nil where there is one.
    let distribution: Distribution?

    /// Makes a catalogue that knows nothing yet; call ``reload()`` first.
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

    /// All classes as they are known now.
    public var snapshot: SchemaSnapshot { state.withLock { $0.snapshot } }

    /// One class, or nil when there is none.
    public func schema(_ name: String) -> ClassSchema? { state.withLock { $0.snapshot.classes[name] } }

    /// Counts the changes of the classes that this process learned of.
    public var version: Int { state.withLock { $0.version } }

    /// The plan that reads a class, made once for each set of wanted and hidden fields.
    func plan(_ schema: ClassSchema, keys: Set<Name>? = nil, excluded: Set<Name> = [], hidden: Set<Name> = [])
        -> ReadPlan
    {
        let key = ReadPlanKey(className: schema.name, keys: keys, excluded: excluded, hidden: hidden)
        if let known = state.withLock({ $0.plans.value(of: key) }) { return known }
        let (current, version) = state.withLock { ($0.snapshot.classes[schema.name], $0.version) }
        // The class as it is at this version: the caller's may be older.
        let plan = ReadPlan(current ?? schema, keys: key.keys, excluded: key.excluded, hidden: key.hidden)
        state.withLock {
            // A plan for a class that changed meanwhile is not kept.
            guard $0.version == version else { return }
            $0.plans.set(plan, for: key, weight: key.weight)
        }
        return plan
    }

    /// Reads all classes anew.
    public func reload() async throws {
        // What was read while a class was changed here may be older than the change: it is read again.
        while try await !readAll() {}
    }

    /// Reads all classes. Returns false if they changed meanwhile.
    private func readAll() async throws -> Bool {
        let before = state.withLock { $0.version }
        let result = try await client.query("SELECT \"className\", \"schema\" FROM \"_SCHEMA\"", [], readOnly: true)
        var classes: [Name: ClassSchema] = [:]
        for name in SystemClass.volatileNames { classes[name] = ClassSchema(name: name.text) }
        for row in 0..<result.rowCount {
            guard let name = result.string(row, 0), let bytes = result.jsonb(row, 1),
                let json = try? JSONValue(parsing: bytes)
            else { continue }
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

    /// What changes whenever a class does, in any process: cheap to ask for again and again.
    public func fingerprint() async throws -> String {
        let rows = try await client.query(
            "SELECT count(*)::text || ' ' || coalesce(sum(hashtextextended(ctid::text || ' ' || xmin::text, 0)), 0)::text "
                + "FROM \"_SCHEMA\"", [], readOnly: true)
        return rows.string(0, 0) ?? ""
    }

    /// Makes sure that a class exists and has fields, and gives it as it is then.
    ///
    /// Nothing is sent when the class is known to have them. Two writers adding the same field at once both succeed.
    ///
    /// - Parameter most: The most fields that the class may have afterwards, default fields aside, or nil for any number.
    /// - Throws: 111 when a field exists with another type; 119 for too many fields.
    public func ensure(
        _ className: String, _ fields: OrderedDictionary<Name, Field>, atMost most: Int? = nil
    ) async throws -> ClassSchema {
        @Sendable func grown(_ schema: ClassSchema) throws(ParseError) -> ClassSchema {
            var grown = schema
            for (name, field) in try schema.missing(fields) { grown.fields[name] = field }
            let count = grown.fields.keys.count { !SystemClass.isDefaultField($0.text, of: className) }
            if let most, count > most, grown.fields.count > schema.fields.count {
                throw ParseError(
                    ParseError.operationForbidden,
                    "Clients can't give class \(className) more than \(most) fields (maxClientFields).")
            }
            return grown
        }
        let known = schema(className)
        // Refuse before waiting for a lock.
        let wanted = try grown(known ?? ClassSchema(name: className))
        if let known, wanted.fields.count == known.fields.count { return known }
        return try await change(className) { try grown($0 ?? ClassSchema(name: className)) }
    }

    /// Changes a class in one transaction, under a lock that every Roost process takes, without keeping those waiting
    /// for long who use the class (``SchemaTransaction``).
    ///
    /// Indexes of a large table are built after it, beside the table; when that fails, all else is kept.
    ///
    /// - Parameters:
    ///   - listingHandmade: Whether indexes that were made by hand count as the class's.
    ///   - edit: Gives the class as it should be from what it is (nil when it does not exist).
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

    /// Builds indexes of a large table, then adds them to the schema.
    private func build(_ indexes: JSONObject, of schema: ClassSchema) async throws -> ClassSchema {
        let version = self.version
        let changed = try await IndexBuild(client: client, logger: logger).build(indexes, of: schema) { session in
            guard var current = try await SchemaChange.read(schema.name, session) else {
                throw ParseError(ParseError.invalidClassName, "Class \(schema.name) does not exist.")
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
        // The channel is parse-server's, and all apps of the database hear it.
        if let schema = client.schema { payload["schema"] = .string(schema) }
        _ = try await session.query("SELECT pg_notify('schema.change', $1)", [.text(JSONValue.object(payload).text)])
    }

    /// Whether classes of this app may have changed elsewhere, by what was announced.
    public func concerns(announcement: String) -> Bool {
        let payload = try? JSONValue(parsing: Array(announcement.utf8))
        guard payload?["senderId"]?.stringValue != senderId else { return false }
        guard let theirs = payload?["schema"]?.stringValue, let schema = client.schema else { return true }
        return theirs.hasSameBytes(as: schema)
    }

    /// Caches a class (nil: deleted) after its transaction was committed.
    ///
    /// - Parameter version: The version before the transaction read the class. If it has changed, what is known may be
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

    /// Removes a class with its table and join tables.
    ///
    /// - Parameter onlyIfEmpty: Whether a class that has objects stays. It is looked for objects while no request can
    ///   make one, so that none that was acknowledged goes with the class.
    /// - Returns: Whether the class is gone.
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

    /// Makes the columns that a class's schema lists and its table lacks, as old servers left some.
    func repair(_ className: String) async throws {
        guard let schema = schema(className) else { return }
        let columns = TableLayout.columnDefinitions(of: schema).filter { !$0.hasSuffix("PRIMARY KEY") }
            .map { "ADD COLUMN IF NOT EXISTS \($0)" }
        logger.warning("created columns that were missing in a table", metadata: ["class": "\(className)"])
        try await SchemaTransaction(client: client, gate: gate).run(
            "ALTER TABLE IF EXISTS \(SQL.identifier(className)) \(columns.joined(separator: ", "))")
    }
}
