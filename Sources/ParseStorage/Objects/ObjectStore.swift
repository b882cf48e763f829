import JSON
import Logging
import OrderedCollections
import ParseModel
import Postgres
import Tasks

/// Objects of classes, in PostgreSQL: every read and write of the server goes through here.
///
/// It knows what a class is, but not who may do what: conditions of permission arrive as part of each call.
public struct ObjectStore: Sendable {
    /// The connections.
    public let client: PostgresClient
    /// The transaction that everything is part of; nil when each call stands for itself.
    private let session: PostgresSession?
    /// The replicas; nil when there is none.
    let replicas: ReplicaSet?
    /// The classes.
    public let catalog: SchemaCatalog
    let logger: Logger

    /// Makes a store on an open client.
    ///
    /// - Parameter replicas: Replicas of the database, for reads that ask for one.
    public init(client: PostgresClient, replicas: ReplicaSet? = nil, catalog: SchemaCatalog, logger: Logger) {
        self.init(client: client, replicas: replicas, catalog: catalog, session: nil, logger: logger)
    }

    private init(
        client: PostgresClient, replicas: ReplicaSet?, catalog: SchemaCatalog, session: PostgresSession?,
        logger: Logger
    ) {
        self.client = client
        self.replicas = replicas
        self.catalog = catalog
        self.session = session
        self.logger = logger
    }

    /// Whether this is part of a transaction.
    /// The mails that wait to be sent.
    public var mails: MailRows { MailRows(store: self) }
    /// Jobs and their schedules.
    public var jobs: JobRows { JobRows(store: self) }
    /// Counted and named requests.
    public var requests: RequestRows { RequestRows(store: self) }
    /// What only the server reads and writes of users.
    public var accounts: AccountRows { AccountRows(store: self) }
    /// Sessions of users.
    public var sessions: SessionRows { SessionRows(store: self) }

    /// Many rows of one class at once.
    public var imports: ImportRows { ImportRows(store: self) }

    /// Settings of the deployment, and webhooks.
    public var settings: SettingsRows { SettingsRows(store: self) }

    /// What is computed of many objects at once.
    public var aggregates: Aggregates { Aggregates(store: self) }

    /// Notifications that wait to be sent.
    public var pushes: PushRows { PushRows(store: self) }

    var isInTransaction: Bool { session != nil }

    /// Runs calls in one transaction, all or nothing.
    ///
    /// - Parameters:
    ///   - purpose: What it is for.
    ///   - conflictKey: A name for what it locks first, where that is known: others who do so wait without a
    ///     connection.
    ///   - body: Is given a store whose every call is part of the transaction; what it throws undoes all of them.
    public func transaction<R: Sendable>(
        _ purpose: TransactionPurpose = .request, conflictKey: String? = nil,
        _ body: @escaping @Sendable (ObjectStore) async throws -> R
    ) async throws -> R {
        if session != nil { return try await body(self) }
        do {
            do {
                return try await attempt(purpose, conflictKey, body)
            } catch is StaleTransaction {
                try await catalog.reload()
                return try await attempt(purpose, conflictKey, body)
            }
        } catch let error as StaleTransaction {
            throw failure(error.cause)
        } catch let error as PostgresError {
            throw failure(error)
        }
    }

    private func attempt<R: Sendable>(
        _ purpose: TransactionPurpose, _ conflictKey: String?,
        _ body: @escaping @Sendable (ObjectStore) async throws -> R
    ) async throws -> R {
        let result = try await client.transaction(purpose: purpose, conflictKey: conflictKey) { session in
            try await body(
                ObjectStore(client: client, replicas: nil, catalog: catalog, session: session, logger: logger))
        }
        replicas?.ownWrites.note()
        return result
    }

    /// Runs one statement.
    ///
    /// - Throws: `PostgresError`.
    public func query(_ sql: String, _ parameters: [PostgresParameter] = [], readOnly: Bool = false) async throws
        -> PostgresResult
    {
        try await noting(sql) {
            if let session { return try await session.query(sql, parameters) }
            return try await client.query(sql, parameters, readOnly: readOnly)
        }
    }

    /// Runs one statement.
    ///
    /// - Throws: `PostgresError`.
    public func query(_ statement: Statement, readOnly: Bool = false) async throws -> PostgresResult {
        try await noting(statement.sql) {
            if let session { return try await session.query(statement) }
            return try await client.query(statement, readOnly: readOnly)
        }
    }

    /// Runs statements as one: all or none, in one round trip.
    func group(_ statements: [Statement], readOnly: Bool = false) async throws -> [PostgresResult] {
        try await noting(statements.first?.sql) {
            if let session { return try await session.group(statements) }
            let results = try await client.group(statements, readOnly: readOnly)
            if !readOnly { replicas?.ownWrites.note() }
            return results
        }
    }

    /// Runs statements that add or change one object as one. Unless objects of the class must be unique in some
    /// field, they may share a transaction with other changes.
    ///
    /// - Parameter alone: Whether they may take long, so that no other change should wait for them.
    func change(_ schema: ClassSchema, _ objectId: String, _ statements: [Statement], alone: Bool = false) async throws
        -> [PostgresResult]
    {
        if session != nil { return try await group(statements) }
        // Also after an error, which may say no more than that the answer was lost.
        defer { replicas?.ownWrites.note() }
        return try await noting(statements.first?.sql) {
            if alone || schema.hasUniqueFields { return try await client.group(statements, conflictKey: objectId) }
            return try await client.change(conflictKey: objectId, statements)
        }
    }

    /// Notes for the log which statement took long, where one did.
    func noting<R>(_ sql: String?, _ body: () async throws -> R) async throws -> R {
        let start = ContinuousClock.now
        defer {
            if let sql, ContinuousClock.now - start >= Self.notable { CallerPresence.current?.note(slowStatement: sql) }
        }
        return try await body()
    }

    /// From how long on it is noted which statement it was.
    private static let notable = Duration.milliseconds(20)

    /// A find, ready to be compiled.
    public struct FindRequest: Sendable {
        /// The class.
        public var className: String
        /// Which objects.
        public var filter: Filter = .everything
        /// In which order; none leaves the order open.
        public var order: [SortKey] = []
        /// At most so many; nil for all.
        public var limit: Int?
        /// How many to leave out first.
        public var skip = 0
        /// Whether the number of all matching objects is wanted too.
        public var wantsCount = false
        /// Which objects the caller may count, where these are others than those that it may find; nil for the same.
        public var countedBy: Filter?
        /// The fields wanted; nil for all.
        public var keys: Set<Name>?
        /// Fields not wanted.
        public var excluded: Set<Name> = []
        /// Fields that are read for a rule's sake and left out of what is written.
        public var unwritten: Set<Name> = []
        /// How long a statement with a regular expression may run; nil for as long as any other.
        public var patternTimeLimit: Duration?
        /// With whose eyes.
        public var access = ReadAccess()
        /// What is included; nil for nothing.
        public var include: IncludeNode?
        /// Where the objects are read.
        public var place = ReadPlace.primary
        /// Where what is included is read.
        public var placeOfIncluded = ReadPlace.primary
        /// The access to included classes.
        public var accessToIncluded: @Sendable (String) async throws -> ReadAccess = { _ in ReadAccess() }
        /// How many bytes the row of a find by id took before, where the caller knows that; 0 where it may be large, and is
        /// not known. Nil for objects that are small, as most are.
        public var expectedBytes: Int?
        /// The most bytes that the answer may have.
        public var sizeLimit = AnswerSize.standard
        /// How file names become URLs.
        public var links = FileLinks.none

        /// Asks for every object of a class.
        public init(className: String) { self.className = className }
    }

    /// Finds objects.
    ///
    /// A class, table or column that does not exist gives no objects, not an error.
    /// - Throws: `ParseError`.
    public func find(_ request: FindRequest) async throws -> Found {
        do {
            return try await fresh(request.className, otherwise: Self.nothing(request)) { try await find(request, $0) }
        } catch let error as PostgresError {
            throw failure(error)
        }
    }

    private static func nothing(_ request: FindRequest) -> Found {
        Found(
            result: nil, plan: nil, access: request.access, included: IncludedObjects(), include: nil,
            links: request.links, unwritten: [], count: request.wantsCount ? 0 : nil)
    }

    private func find(_ request: FindRequest, _ schema: ClassSchema) async throws -> Found {
        // Rules that look into an object need to see fields that are hidden from others.
        let isDecidedPerRow = !request.access.ownerRules.isEmpty
        var plan = catalog.plan(
            schema, keys: request.keys, excluded: request.excluded,
            hidden: isDecidedPerRow ? [] : request.access.hidden)
        let snapshot = catalog.snapshot
        var statements: [Statement] = []
        let isFetching = request.limit != 0
        let byId = isFetching ? Self.byId(request, schema, plan) : nil
        if isFetching {
            statements.append(try byId ?? Self.statement(request, schema, &plan, snapshot))
        }
        if request.wantsCount {
            var compiler = FilterCompiler(schemas: snapshot)
            var counted = request
            if let countedBy = request.countedBy { counted.access.filter = countedBy }
            let condition = try Self.condition(counted, schema, &compiler)
            statements.append(
                Statement(
                    "SELECT count(*) FROM \(SQLBuilder.quote(schema.name)) WHERE \(condition)",
                    compiler.builder.parameters))
        }
        guard !statements.isEmpty else { return Self.nothing(request) }
        let results: [PostgresResult]
        if byId != nil, !request.wantsCount {
            results =
                request.place == .primary
                ? [try await row(statements[0], request)]
                : try await reading(schema.name, request.place) { [try await $0.row(statements[0], request)] }
        } else if session == nil, let nearest = NearestSearch(request) {
            results = [
                try await reading(schema.name, request.place) { store in
                    try await nearest.run(statements[0], catalog.nearestHistory) { radius in
                        var (narrowed, plan) = (request, plan)
                        narrowed.filter = nearest.filter(within: radius)
                        return try Self.statement(narrowed, schema, &plan, snapshot)
                    } read: {
                        try await store.search([$0], request, trialTime: $1)[0]
                    }
                }
            ]
        } else {
            results =
                request.place == .primary
                ? try await search(statements, request)
                : try await reading(schema.name, request.place) { try await $0.search(statements, request) }
        }
        var included = IncludedObjects()
        if isFetching, let include = request.include {
            let loader = IncludeLoader(
                store: self, place: request.placeOfIncluded, access: request.accessToIncluded,
                sizeLimit: request.sizeLimit)
            included = try await loader.load(results[0], plan, include)
            results[0].hold(with: included.size)
        }
        return Found(
            result: isFetching ? results[0] : nil, plan: isFetching ? plan : nil, access: request.access,
            included: included, include: request.include, links: request.links,
            unwritten: request.unwritten, sizeLimit: request.sizeLimit,
            count: request.wantsCount ? results.last?.int(0, 0).map(Int.init) : nil)
    }

    /// How PostgreSQL would carry a find out, as its own JSON.
    public func explain(_ request: FindRequest) async throws -> JSONValue {
        do {
            return try await fresh(request.className, otherwise: []) { schema in
                var plan = ReadPlan(schema)
                let statement = try Self.statement(request, schema, &plan, catalog.snapshot)
                let explanation = Statement("EXPLAIN (FORMAT JSON) \(statement.sql)", statement.parameters)
                let rows = try await run([explanation], isSlow: true, timeLimit: request.patternTimeLimit)[0]
                return try rows.jsonb(0, 0).map { try JSONValue(parsing: $0) } ?? []
            }
        } catch let error as PostgresError {
            throw failure(error)
        }
    }

    /// The statement that gives a find's rows. The score of a text search, when it is wanted, is added to the plan.
    private static func statement(
        _ request: FindRequest, _ schema: ClassSchema, _ plan: inout ReadPlan, _ snapshot: SchemaSnapshot
    ) throws(ParseError) -> Statement {
        if let statement = byId(request, schema, plan) { return statement }
        var compiler = FilterCompiler(schemas: snapshot)
        let condition = try condition(request, schema, &compiler)
        if let rank = compiler.rank, request.keys?.contains("$score") == true { plan = plan.adding(score: rank) }
        var sql = "SELECT \(plan.selectList) FROM \(SQLBuilder.quote(schema.name)) WHERE \(condition)"
        var order = try compiler.orderBy(request.order, schema)
        // Nearest first, unless another order was asked for.
        if order.isEmpty, let distance = compiler.distance { order = distance }
        if !order.isEmpty { sql += " ORDER BY \(order)" }
        if let limit = request.limit { sql += " LIMIT \(compiler.builder.bind(.int(Int64(limit))))" }
        if request.skip > 0 { sql += " OFFSET \(compiler.builder.bind(.int(Int64(request.skip))))" }
        return Statement(sql, compiler.builder.parameters)
    }

    /// The statement of a find that names one object by its id, which most finds are; nil for all others. Its text is
    /// made once for a class.
    private static func byId(_ request: FindRequest, _ schema: ClassSchema, _ plan: ReadPlan) -> Statement? {
        guard case .field(let path, .equal(.string(let id))) = request.filter, path.root == "objectId",
            path.steps.isEmpty, !id.utf8.contains(0), case .all([]) = request.access.filter, request.skip == 0,
            request.limit != 0, request.access.writers == nil,
            TableLayout.hasColumn("objectId", of: schema.name, type: .string)
        else { return nil }
        guard let readers = request.access.readers, !TableLayout.classesWithoutACL.contains(schema.name) else {
            return Statement(plan.anyById, [.text(id)])
        }
        return Statement(plan.readableById, [.text(id), .textArray(readers.texts)])
    }

    private static func condition(_ request: FindRequest, _ schema: ClassSchema, _ compiler: inout FilterCompiler)
        throws(ParseError) -> String
    {
        var conditions = [try compiler.compile(request.filter.and(request.access.filter), schema)]
        if let readers = request.access.readers, !TableLayout.classesWithoutACL.contains(schema.name) {
            conditions.append(compiler.permission("_rperm", readers))
        }
        if let writers = request.access.writers, !TableLayout.classesWithoutACL.contains(schema.name) {
            conditions.append(compiler.permission("_wperm", writers))
        }
        return conditions.joined(separator: " AND ")
    }

    /// Reads an object by its id. One that may be large is read as finds are: it waits for memory, and others do not wait
    /// behind it.
    private func row(_ statement: Statement, _ request: FindRequest) async throws -> PostgresResult {
        if let session { return try await session.query(statement) }
        guard let expected = request.expectedBytes, expected == 0 || expected > PostgresClient.mostShared else {
            return try await client.row(statement)
        }
        return try await client.search(
            statement, PostgresClient.Search(mostRows: 1, expectedBytes: expected > 0 ? expected : nil))
    }

    /// Runs the statements of a find that may give any number of rows, and take any time.
    ///
    /// - Parameter trialTime: How long they may take before they are done in another way; nil where there is none.
    private func search(_ statements: [Statement], _ request: FindRequest, trialTime: Duration? = nil) async throws
        -> [PostgresResult]
    {
        let cost = request.filter.cost
        let isSlow = request.wantsCount || cost != .short
        let timeLimit = cost == .pattern ? request.patternTimeLimit : nil
        guard session == nil else { return try await run(statements, isSlow: isSlow, timeLimit: timeLimit) }
        var results: [PostgresResult] = []
        for statement in statements {
            let givesRows = results.isEmpty && request.limit != 0
            let search = PostgresClient.Search(
                mostRows: givesRows ? request.limit ?? Self.usualRows : 1,
                leadsToMore: givesRows && request.include != nil, takesLong: isSlow,
                timeLimit: trialTime ?? timeLimit, isTrial: trialTime != nil)
            results.append(try await noting(statement.sql) { try await client.search(statement, search) })
        }
        return results
    }

    /// How many rows are expected of a find without a limit.
    private static let usualRows = 1000

    private func run(_ statements: [Statement], isSlow: Bool, timeLimit: Duration? = nil) async throws
        -> [PostgresResult]
    {
        if isSlow, session == nil {
            var results: [PostgresResult] = []
            for statement in statements {
                results.append(
                    try await noting(statement.sql) { try await client.slowQuery(statement, timeLimit: timeLimit) })
            }
            return results
        }
        if let timeLimit, let session {
            let reset = Statement("SET LOCAL statement_timeout TO DEFAULT")
            return Array(
                try await session.group([.limitingTime(to: timeLimit)] + statements + [reset]).dropFirst().dropLast())
        }
        if statements.count == 1 {
            return [try await query(statements[0], readOnly: true)]
        }
        return try await group(statements, readOnly: true)
    }

    /// Fetches objects of several classes by id, in one round trip.
    func fetch(_ ids: [Name: [String]], _ accesses: [Name: ReadAccess]) async throws -> [Fetched] {
        var statements: [Statement] = []
        var plans: [(ReadPlan, ReadAccess)] = []
        let snapshot = catalog.snapshot
        for (className, ids) in ids {
            guard let schema = snapshot[className.text], let access = accesses[className] else { continue }
            let plan = catalog.plan(schema, hidden: access.ownerRules.isEmpty ? access.hidden : [])
            var compiler = FilterCompiler(schemas: snapshot)
            var request = FindRequest(className: className.text)
            request.access = access
            let condition = try Self.condition(request, schema, &compiler)
            let list = compiler.builder.bind(.textArray(ids))
            statements.append(
                Statement(
                    "SELECT \(plan.selectList) FROM \(SQLBuilder.quote(className.text)) "
                        + "WHERE \"objectId\" = ANY(\(list)) AND \(condition)", compiler.builder.parameters))
            plans.append((plan, access))
        }
        guard !statements.isEmpty else { return [] }
        let results =
            session == nil
            ? try await client.searchMore(statements, mostRows: ids.values.reduce(0) { $0 + $1.count })
            : try await run(statements, isSlow: false)
        return zip(results, plans)
            .map { Fetched(result: $0, plan: $1.0, access: $1.1) }
    }

    /// What a caller gets for whom there is no connection.
    public static let tooBusy = ServiceUnavailable("The database has too much to do. Please try again later.")

    /// The error for a failed statement; what the client does not get goes to the log.
    public func failure(_ error: PostgresError) -> any Error {
        if error.kind == .busy { return Self.tooBusy }
        if error.kind == .tooLarge { return AnswerSize.tooMuchMemory }
        let answer = DatabaseFailure.parseError(error)
        if case .cancelled = error.kind {
            // The client has left: nothing is wrong with the database.
            logger.debug("a statement was given up", metadata: ["message": "\(error.message)"])
        } else if answer.code == ParseError.internalServerError || error.sqlState.hasPrefix("42") {
            // A statement that PostgreSQL cannot read is a fault of the server also where the request is blamed for it.
            logger.error(
                "database failure",
                metadata: ["sqlstate": "\(error.sqlState)", "message": "\(error.message)", "kind": "\(error.kind)"])
        }
        return answer
    }
}
