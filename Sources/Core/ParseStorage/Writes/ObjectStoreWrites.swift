import JSON
import OrderedCollections
import ParseModel
import Postgres

extension ObjectStore {
    /// The access that decides whether a caller may change an object.
    public struct WriteAccess: Sendable {
        /// The caller's principals, any of which must be among an object's writers, or nil to ignore the ACL.
        public var writers: [Name]?
        /// An additional condition, for example from pointer permissions.
        public var filter: Filter

        /// By default, every object can be changed.
        public init(writers: [Name]? = nil, filter: Filter = .everything) {
            self.writers = writers
            self.filter = filter
        }
    }

    /// Ensures that a class exists and has the given fields, and returns it.
    ///
    /// - Parameter limit: The maximum number of fields afterward, not counting default fields, or nil for no limit.
    /// - Throws: 111 if a field exists with a different type, 119 if there are too many fields.
    public func ensure(
        _ className: String, _ fields: OrderedDictionary<Name, Field>, atMost limit: Int? = nil
    ) async throws -> ClassSchema {
        try await convertingErrors { try await catalog.ensure(className, fields, atMost: limit) }
    }

    /// Creates an object with its relations, all or nothing.
    ///
    /// - Throws: 101 if the class doesn't exist, 137, 202, 203 or 208 for duplicates, others for values that don't fit.
    public func insert(_ className: String, objectId: String, _ write: ObjectWrite) async throws {
        try await insert([(className, objectId, write)])
    }

    /// Creates objects of any classes, all or none.
    public func insert(_ objects: [(className: String, objectId: String, write: ObjectWrite)]) async throws {
        try await retryingStaleSchema {
            var rows: [InsertRow] = []
            rows.reserveCapacity(objects.count)
            for object in objects {
                guard let schema = catalog.schema(object.className) else { throw ParseError.notFound }
                rows.append(try WriteCompiler(schema: schema).insertRow(objectId: object.objectId, object.write))
            }
            let statements = InsertRow.statements(rows)
            if objects.count == 1, let schema = catalog.schema(objects[0].className) {
                _ = try await change(schema, objects[0].objectId, statements)
            } else {
                // Many rows are worth a separate commit.
                _ = try await group(statements)
            }
        }
    }

    /// Creates objects of any classes, all or none, and returns those that are requested.
    ///
    /// - Parameter wants: Returns the details requested for a class. Without `.current`, its objects aren't returned.
    public func insert(
        _ objects: [(className: String, objectId: String, write: ObjectWrite)], wants: (String) -> ChangeWants
    ) async throws -> [ChangedObject] {
        try await retryingStaleSchema {
            var plans: [Name: ReadPlan] = [:]
            var rows: [Name: [InsertRow]] = [:]
            for object in objects {
                guard let schema = catalog.schema(object.className) else { throw ParseError.notFound }
                let name = Name(object.className)
                var row = try WriteCompiler(schema: schema).insertRow(objectId: object.objectId, object.write)
                let wanted = wants(object.className)
                if wanted.contains(.current) {
                    let plan = plans[name] ?? catalog.plan(schema)
                    plans[name] = plan
                    row.returning = "\(plan.selectList), \(wanted.numberSQL) AS _number"
                }
                rows[name, default: []].append(row)
            }
            var statements: [Statement] = []
            var classes: [Name] = []
            for (name, rows) in rows {
                statements += InsertRow.statements(rows)
                classes += repeatElement(name, count: statements.count - classes.count)
            }
            let results: [PostgresResult]
            if objects.count == 1, let schema = catalog.schema(objects[0].className) {
                results = try await change(schema, objects[0].objectId, statements)
            } else {
                results = try await group(statements)
            }
            return zip(results, classes).flatMap { result, name in
                guard let plan = plans[name], let id = plan.index(of: "objectId") else { return [ChangedObject]() }
                return (0..<result.rowCount).map { row in
                    ChangedObject(
                        className: name.text, objectId: result.string(row, id) ?? "",
                        number: result.int(row, result.columnCount - 1), isWhole: true, result: result, plan: plan,
                        formerRow: nil, currentRow: row)
                }
            }
        }
    }

    /// The result of an update.
    public struct Updated: Sendable {
        /// The new values of the requested fields.
        public var echoed: JSONObject
        /// The details requested with `wants`, or nil if none were.
        public var change: ChangedObject?
    }

    /// Updates an object.
    ///
    /// - Parameters:
    ///   - echo: The fields whose new values are returned.
    ///   - wants: Further details to return.
    /// - Returns: The new values and details, or nil if the object doesn't exist or the caller may not change it.
    public func update(
        _ className: String, objectId: String, _ write: ObjectWrite, access: WriteAccess = WriteAccess(),
        echo: [String] = [], links: FileLinks = FileLinks.none, wants: ChangeWants = []
    ) async throws -> Updated? {
        guard !objectId.utf8.contains(0) else { return nil }
        return try await retryingStaleSchema {
            guard let schema = catalog.schema(className) else { return nil }
            // The returned fields use a read plan, so that they are decoded like any other row.
            let plan = wants.isEmpty ? catalog.plan(schema, keys: Set(echo.names)) : catalog.plan(schema)
            var compiler = WriteCompiler(schema: schema)
            var condition = try Self.condition(access, schema, &compiler)
            var write = write
            if let field = schema.placingField {
                let place = try await schema.placeCondition(objectId, by: field, &write, &compiler, in: self)
                guard let place else { return nil }
                condition += " AND \(place)"
            }
            let isEchoing = !echo.isEmpty && wants.isEmpty
            let statement = try compiler.update(
                objectId: objectId, write, condition: condition,
                returning: isEchoing ? plan.columns.map(\.name) + (plan.hasACL ? ["_rperm", "_wperm"] : []) : [],
                observation: wants.isEmpty ? nil : Self.observation(plan, echo, wants))
            // Changing part of a value rewrites all of it, so other changes shouldn't wait for it.
            let isNested = write.operations.keys.contains { $0.utf8.contains(UInt8(ascii: ".")) }
            let result = try await change(schema, objectId, [statement], alone: isNested)[0]
            guard result.rowCount > 0 else { return nil }
            if !wants.isEmpty {
                guard result.rowCount == 2 else { return nil }
                return try await Self.updated(className, objectId, result, plan, echo, links, wants)
            }
            guard !echo.isEmpty else { return Updated(echoed: [:]) }
            return try await Found(result: result, plan: plan, links: links).objects.first.map { Updated(echoed: $0) }
        }
    }

    private static func observation(_ plan: ReadPlan, _ echo: [String], _ wants: ChangeWants)
        -> WriteCompiler.Observation
    {
        var current = plan.selectList
        if !wants.contains(.current) {
            let echoed = Set(echo.names)
            var columns = plan.columns.map { echoed.contains(Name($0.name)) ? SQL.identifier($0.name) : "NULL" }
            if plan.hasACL { columns += ["NULL", "NULL"] }
            current = columns.joined(separator: ", ")
        }
        return WriteCompiler.Observation(former: plan.selectList, current: current, number: wants.numberSQL)
    }

    private static func updated(
        _ className: String, _ objectId: String, _ result: PostgresResult, _ plan: ReadPlan, _ echo: [String],
        _ links: FileLinks, _ wants: ChangeWants
    ) async throws -> Updated {
        // The former row comes first, since it is read before the update.
        let change = ChangedObject(
            className: className, objectId: objectId, number: result.int(1, result.columnCount - 1),
            isWhole: wants.contains(.current), result: result, plan: plan, formerRow: 0, currentRow: 1)
        guard !echo.isEmpty else { return Updated(echoed: [:], change: change) }
        let echoed = try await ChangedObject.fields(Set(echo.names), of: result, 1, plan, links)
        return Updated(echoed: echoed, change: change)
    }

    /// Deletes an object. Returns false if it doesn't exist or the caller may not delete it.
    public func delete(_ className: String, objectId: String, access: WriteAccess = WriteAccess()) async throws -> Bool
    {
        guard !objectId.utf8.contains(0) else { return false }
        return try await deleteAll(className, where: .field(FieldPath("objectId"), .equal(.string(objectId))), access)
            > 0
    }

    /// Deletes an object and returns its last state.
    ///
    /// - Returns: The deleted object, or nil if it doesn't exist or the caller may not delete it.
    public func delete(
        _ className: String, objectId: String, access: WriteAccess = WriteAccess(), wants: ChangeWants
    ) async throws -> ChangedObject? {
        guard !objectId.utf8.contains(0) else { return nil }
        defer { recordWrite() }
        return try await retryingStaleSchema {
            guard let schema = catalog.schema(className) else { return nil }
            let plan = catalog.plan(schema)
            var compiler = WriteCompiler(schema: schema)
            let condition = try Self.condition(access, schema, &compiler)
            let id = compiler.builder.bind(.text(objectId))
            let result = try await query(
                "DELETE FROM \(SQL.identifier(className)) WHERE \"objectId\" = \(id) AND \(condition) "
                    + "RETURNING \(plan.selectList), \(wants.numberSQL) AS _number", compiler.builder.parameters)
            guard result.rowCount > 0 else { return nil }
            return ChangedObject(
                className: className, objectId: objectId, number: result.int(0, result.columnCount - 1), isWhole: true,
                result: result, plan: plan, formerRow: 0, currentRow: nil)
        }
    }

    /// Deletes all objects that match a condition and that the caller may delete, and returns their number.
    @discardableResult
    public func deleteAll(_ className: String, where filter: Filter, _ access: WriteAccess = WriteAccess()) async throws
        -> Int
    {
        defer { recordWrite() }
        return try await retryingStaleSchema {
            guard let schema = catalog.schema(className) else { return 0 }
            var compiler = WriteCompiler(schema: schema)
            let condition = try Self.condition(
                WriteAccess(writers: access.writers, filter: filter.and(access.filter)), schema, &compiler)
            let sql = "DELETE FROM \(SQL.identifier(className)) WHERE \(condition)"
            return try await query(sql, compiler.builder.parameters).affectedRows
        }
    }

    static func condition(_ access: WriteAccess, _ schema: ClassSchema, _ compiler: inout WriteCompiler)
        throws(ParseError) -> String
    {
        var filter = FilterCompiler(
            schemas: SchemaSnapshot(classes: [Name(schema.name): schema]), builder: compiler.builder)
        var conditions = [try filter.compile(access.filter, schema)]
        if let writers = access.writers, !TableLayout.classesWithoutACL.contains(schema.name) {
            conditions.append(filter.permission("_wperm", writers))
        }
        compiler.builder = filter.builder
        return conditions.joined(separator: " AND ")
    }

    /// Runs statements. If the schema turns out to be stale, reloads it and runs them again. In a transaction, which
    /// the error aborts, ``transaction(_:conflictKey:_:)`` reloads the schema and retries instead.
    func retryingStaleSchema<R: Sendable>(_ body: () async throws -> R) async throws -> R {
        try await convertingErrors {
            do {
                return try await body()
            } catch let error as PostgresError where DatabaseFailure.isStaleSchema(error) {
                if isInTransaction { throw StaleTransaction(cause: error) }
                try await catalog.reload()
                return try await body()
            }
        }
    }
}

extension ObjectStore.ChangeWants {
    /// The SQL expression for the number of the change, in a statement that returns the changed row, or NULL if the
    /// number isn't requested.
    var numberSQL: String {
        contains(.number) ? "roost_change_number(\"objectId\", '\"_roost_change\"')" : "NULL::bigint"
    }
}
