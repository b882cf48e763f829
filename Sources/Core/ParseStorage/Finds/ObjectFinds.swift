public import JSON
import Limits
import ParseModel
import Postgres

/// Finds objects of one class and the objects that they include.
extension ObjectStore {
    /// Finds objects. An unknown class yields no objects instead of an error, and an unknown field counts as missing.
    ///
    /// - Throws: `ParseError` or `ServiceUnavailable`, or an error of `accessToIncluded`.
    public func find(_ request: FindRequest) async throws -> Found {
        let nothing = Found(
            result: nil, plan: nil, access: request.access, links: request.links, count: request.wantsCount ? 0 : nil)
        return try await convertingErrors {
            try await fresh(request.className, otherwise: nothing) { try await find(request, $0) ?? nothing }
        }
    }

    /// Returns nil if neither objects nor their number are requested.
    private func find(_ request: FindRequest, _ schema: ClassSchema) async throws -> Found? {
        // Owner rules may need fields that are hidden from others.
        let isDecidedPerRow = !request.access.ownerRules.isEmpty
        let hidden = isDecidedPerRow ? [] : request.access.hidden
        var plan =
            request.shorten.map {
                ReadPlan(
                    schema, keys: request.keys, excluded: request.excluded, hidden: hidden,
                    shortening: Shortening(limit: $0, whole: request.access.fieldsOfRules))
            } ?? catalog.plan(schema, keys: request.keys, excluded: request.excluded, hidden: hidden)
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
                    "SELECT count(*) FROM \(SQL.identifier(schema.name)) WHERE \(condition)",
                    compiler.builder.parameters))
        }
        guard !statements.isEmpty else { return nil }
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
                sizeLimit: request.sizeLimit, shorten: request.shorten)
            included = try await loader.load(results[0], plan, include)
            results[0].hold(with: included.size)
        }
        return Found(
            result: isFetching ? results[0] : nil, plan: isFetching ? plan : nil, access: request.access,
            included: included, include: request.include, links: request.links,
            unwritten: request.unwritten, sizeLimit: request.sizeLimit,
            count: request.wantsCount ? results.last?.int(0, 0).map(Int.init) : nil)
    }

    /// Returns PostgreSQL's plan for a find as JSON, or an empty list if the class doesn't exist.
    public func explain(_ request: FindRequest) async throws -> JSONValue {
        try await convertingErrors {
            try await fresh(request.className, otherwise: []) { schema in
                var plan = ReadPlan(schema)
                let statement = try Self.statement(request, schema, &plan, catalog.snapshot)
                let explanation = Statement("EXPLAIN (FORMAT JSON) \(statement.sql)", statement.parameters)
                let rows = try await run([explanation], isSlow: true, timeLimit: request.patternTimeLimit)[0]
                return try rows.jsonb(0, 0).map { try JSONValue(parsing: $0) } ?? []
            }
        }
    }

    /// Returns the statement for a find. If the search score is requested, it is added to the plan.
    static func statement(
        _ request: FindRequest, _ schema: ClassSchema, _ plan: inout ReadPlan, _ snapshot: SchemaSnapshot
    ) throws(ParseError) -> Statement {
        if let statement = byId(request, schema, plan) { return statement }
        var compiler = FilterCompiler(schemas: snapshot)
        let condition = try condition(request, schema, &compiler)
        if let rank = compiler.rank, request.keys?.contains("$score") == true { plan = plan.adding(score: rank) }
        var sql = "SELECT \(plan.selectList) FROM \(SQL.identifier(schema.name)) WHERE \(condition)"
        var order = try compiler.orderBy(request.order, schema)
        // Nearest first, unless the caller requested another order.
        if order.isEmpty, let distance = compiler.distance {
            order = schema.lastSortKey.map { "\(distance), \($0)" } ?? distance
        }
        if !order.isEmpty { sql += " ORDER BY \(order)" }
        if let limit = request.limit { sql += " LIMIT \(compiler.builder.bind(.int(Int64(limit))))" }
        if request.skip > 0 { sql += " OFFSET \(compiler.builder.bind(.int(Int64(request.skip))))" }
        return Statement(sql, compiler.builder.parameters)
    }

    /// Returns the statement of a find by id with no other condition than the ACL, or nil for other finds. Most
    /// finds are of this kind, so the text is built once per read plan.
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

    /// Reads an object by id. If it may be large, this waits for memory like other finds, without blocking small ones.
    private func row(_ statement: Statement, _ request: FindRequest) async throws -> PostgresResult {
        if let session { return try await session.query(statement) }
        // A read by key is fast unless the row is large.
        guard let cost = request.cost, !cost.isSlow, cost.bytes == 0 || cost.bytes > PostgresClient.maxSharedBytes
        else { return try await client.row(statement, of: request.className) }
        return try await client.search(statement, PostgresClient.Search(maxRows: 1, cost: cost))
    }

    /// Runs the statements of a find, which may be slow or return many rows.
    ///
    /// - Parameter trialTime: The time limit after which the caller tries another method, or nil if it won't.
    private func search(_ statements: [Statement], _ request: FindRequest, trialTime: Duration? = nil) async throws
        -> [PostgresResult]
    {
        let cost = request.filter.cost
        let timeLimit = cost.hasPattern ? request.patternTimeLimit : nil
        guard session == nil else { return try await run(statements, isSlow: false, timeLimit: timeLimit) }
        var results: [PostgresResult] = []
        for statement in statements {
            let givesRows = results.isEmpty && request.limit != 0
            let search = PostgresClient.Search(
                of: request.className, maxRows: givesRows ? request.limit ?? Self.usualRows : 1,
                leadsToMore: givesRows && request.include != nil,
                cost: Cost(isSlow: request.cost?.isSlow == true || cost.isSlow),
                timeLimit: trialTime ?? timeLimit, isTrial: trialTime != nil)
            results.append(
                try await timed(
                    statement.sql,
                    catalog.schema(request.className).flatMap { QueryShape(request, $0, isCount: !givesRows) },
                    isTrial: trialTime != nil
                ) {
                    try await client.search(statement, search)
                })
        }
        return results
    }

    /// The expected number of rows for a find without a limit.
    private static let usualRows = 1000

    private func run(_ statements: [Statement], isSlow: Bool, timeLimit: Duration? = nil) async throws
        -> [PostgresResult]
    {
        if isSlow, session == nil {
            var results: [PostgresResult] = []
            for statement in statements {
                results.append(
                    try await timed(statement.sql) { try await client.slowQuery(statement, timeLimit: timeLimit) })
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
    ///
    /// - Parameter shorten: The size in bytes above which values are shortened, or nil for never.
    func fetch(_ ids: [Name: [String]], _ accesses: [Name: ReadAccess], shorten: Int? = nil) async throws -> [Fetched] {
        var statements: [Statement] = []
        var plans: [(ReadPlan, ReadAccess)] = []
        let snapshot = catalog.snapshot
        for (className, ids) in ids {
            guard let schema = snapshot[className.text], let access = accesses[className] else { continue }
            let hidden = access.ownerRules.isEmpty ? access.hidden : []
            let plan =
                shorten.map {
                    ReadPlan(
                        schema, hidden: hidden, shortening: Shortening(limit: $0, whole: access.fieldsOfRules))
                } ?? catalog.plan(schema, hidden: hidden)
            var compiler = FilterCompiler(schemas: snapshot)
            var request = FindRequest(className: className.text)
            request.access = access
            let condition = try Self.condition(request, schema, &compiler)
            let list = compiler.builder.bind(.textArray(ids))
            statements.append(
                Statement(
                    "SELECT \(plan.selectList) FROM \(SQL.identifier(className.text)) "
                        + "WHERE \"objectId\" = ANY(\(list)) AND \(condition)", compiler.builder.parameters))
            plans.append((plan, access))
        }
        guard !statements.isEmpty else { return [] }
        let results =
            session == nil
            ? try await client.searchMore(statements, maxRows: ids.values.reduce(0) { $0 + $1.count })
            : try await run(statements, isSlow: false)
        return zip(results, plans)
            .map { Fetched(result: $0, plan: $1.0, access: $1.1) }
    }
}
