import JSON
import OrderedCollections
import ParseModel
import Postgres

extension ObjectStore {
    /// Who may change an object, besides its id.
    public struct WriteAccess: Sendable {
        /// The caller's principals, any of which must be among an object's writers; nil to change every object.
        public var writers: [Name]?
        /// A further condition, by which pointer permissions let objects through.
        public var filter: Filter

        /// Makes an access; without arguments it reaches every object.
        public init(writers: [Name]? = nil, filter: Filter = .everything) {
            self.writers = writers
            self.filter = filter
        }
    }

    /// Makes sure that a class exists and has fields, and gives it as it is then.
    ///
    /// - Parameter most: The most fields that the class may have afterwards, default fields aside, or nil for any number.
    /// - Throws: 111 when a field exists with another type; 119 for too many fields.
    public func ensure(
        _ className: String, _ fields: OrderedDictionary<Name, Field>, atMost most: Int? = nil
    ) async throws -> ClassSchema {
        do {
            return try await catalog.ensure(className, fields, atMost: most)
        } catch let error as PostgresError {
            throw failure(error)
        }
    }

    /// Makes a new object with its relations, or nothing at all.
    ///
    /// - Throws: 137, 202, 203 or 208 for a value that must be unique; Parse's errors for values that do not fit.
    public func insert(_ className: String, objectId: String, _ write: ObjectWrite) async throws {
        try await insert([(className, objectId, write)])
    }

    /// Makes new objects of any classes, all or none.
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
                // Many rows are worth a commit of their own.
                _ = try await group(statements)
            }
        }
    }

    /// Makes new objects of any classes, all or none, and reports those that are wanted.
    ///
    /// - Parameter wants: What is wanted of objects of a class.
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

    /// What became of an object that was changed.
    public struct Updated: Sendable {
        /// The new values of the fields that were asked for.
        public var echoed: JSONObject
        /// What was wanted besides; nil for nothing.
        public var change: ChangedObject?
    }

    /// Changes an object.
    ///
    /// - Parameter echo: The fields whose new values are wanted.
    /// - Returns: Those values, or nil when there is no such object or it may not be changed.
    public func update(
        _ className: String, objectId: String, _ write: ObjectWrite, access: WriteAccess = WriteAccess(),
        echo: [String] = [], links: FileLinks = FileLinks.none
    ) async throws -> JSONObject? {
        try await update(className, objectId: objectId, write, access: access, echo: echo, links: links, wants: [])?
            .echoed
    }

    /// Changes an object.
    ///
    /// - Parameters:
    ///   - echo: The fields whose new values are wanted.
    ///   - wants: What is wanted besides.
    /// - Returns: nil when there is no such object or it may not be changed.
    public func update(
        _ className: String, objectId: String, _ write: ObjectWrite, access: WriteAccess, echo: [String],
        links: FileLinks, wants: ChangeWants
    ) async throws -> Updated? {
        guard !objectId.utf8.contains(0) else { return nil }
        return try await retryingStaleSchema {
            guard let schema = catalog.schema(className) else { return nil }
            // The fields to give back are those of a plan, so that they are read as every other row is.
            let plan = wants.isEmpty ? catalog.plan(schema, keys: Set(echo.names)) : catalog.plan(schema)
            var compiler = WriteCompiler(schema: schema)
            var condition = try Self.condition(access, schema, &compiler)
            var write = write
            if let field = schema.placingField {
                let objects = DistributedObjects(store: self)
                guard let place = try await objects.condition(objectId, by: field, schema, &write, &compiler) else {
                    return nil
                }
                condition += " AND \(place)"
            }
            let isEchoing = !echo.isEmpty && wants.isEmpty
            let statement = try compiler.update(
                objectId: objectId, write, condition: condition,
                returning: isEchoing ? plan.columns.map(\.name) + (plan.hasACL ? ["_rperm", "_wperm"] : []) : [],
                observation: wants.isEmpty ? nil : Self.observation(plan, echo, wants))
            // What changes a part of a value reads and writes all of it: others do not wait for that.
            let isNested = write.operations.keys.contains { $0.utf8.contains(UInt8(ascii: ".")) }
            let result = try await change(schema, objectId, [statement], alone: isNested)[0]
            guard result.rowCount > 0 else { return nil }
            if !wants.isEmpty {
                guard result.rowCount == 2 else { return nil }
                return try await Self.updated(className, objectId, result, plan, echo, links, wants)
            }
            guard !echo.isEmpty else { return Updated(echoed: [:]) }
            let found = Found(
                result: result, plan: plan, access: ReadAccess(), included: IncludedObjects(), include: nil,
                links: links, unwritten: [], count: nil)
            return try await found.objects.first.map { Updated(echoed: $0) }
        }
    }

    private static func observation(_ plan: ReadPlan, _ echo: [String], _ wants: ChangeWants)
        -> WriteCompiler.Observation
    {
        var current = plan.selectList
        if !wants.contains(.current) {
            let echoed = Set(echo.names)
            var columns = plan.columns.map { echoed.contains(Name($0.name)) ? SQLBuilder.quote($0.name) : "NULL" }
            if plan.hasACL { columns += ["NULL", "NULL"] }
            current = columns.joined(separator: ", ")
        }
        return WriteCompiler.Observation(former: plan.selectList, current: current, number: wants.numberSQL)
    }

    private static func updated(
        _ className: String, _ objectId: String, _ result: PostgresResult, _ plan: ReadPlan, _ echo: [String],
        _ links: FileLinks, _ wants: ChangeWants
    ) async throws -> Updated {
        // The former row comes first: it is read before the update.
        let change = ChangedObject(
            className: className, objectId: objectId, number: result.int(1, result.columnCount - 1),
            isWhole: wants.contains(.current), result: result, plan: plan, formerRow: 0, currentRow: 1)
        guard !echo.isEmpty else { return Updated(echoed: [:], change: change) }
        let echoed = try await ChangedObject.fields(Set(echo.names), of: result, 1, plan, links)
        return Updated(echoed: echoed, change: change)
    }

    /// Removes an object. False when there is no such object or it may not be removed.
    public func delete(_ className: String, objectId: String, access: WriteAccess = WriteAccess()) async throws -> Bool
    {
        guard !objectId.utf8.contains(0) else { return false }
        return try await deleteAll(className, where: .field(FieldPath("objectId"), .equal(.string(objectId))), access)
            > 0
    }

    /// Removes an object, and gives what it was.
    ///
    /// - Returns: nil when there is no such object or it may not be removed.
    public func delete(
        _ className: String, objectId: String, access: WriteAccess = WriteAccess(), wants: ChangeWants
    ) async throws -> ChangedObject? {
        guard !objectId.utf8.contains(0) else { return nil }
        defer { replicas?.ownWrites.note() }
        return try await retryingStaleSchema {
            guard let schema = catalog.schema(className) else { return nil }
            let plan = catalog.plan(schema)
            var compiler = WriteCompiler(schema: schema)
            let condition = try Self.condition(access, schema, &compiler)
            let id = compiler.builder.bind(.text(objectId))
            let result = try await query(
                "DELETE FROM \(SQLBuilder.quote(className)) WHERE \"objectId\" = \(id) AND \(condition) "
                    + "RETURNING \(plan.selectList), \(wants.numberSQL) AS _number", compiler.builder.parameters)
            guard result.rowCount > 0 else { return nil }
            return ChangedObject(
                className: className, objectId: objectId, number: result.int(0, result.columnCount - 1), isWhole: true,
                result: result, plan: plan, formerRow: 0, currentRow: nil)
        }
    }

    /// Removes every object that a condition holds for, and says how many.
    @discardableResult
    public func deleteAll(_ className: String, where filter: Filter, _ access: WriteAccess = WriteAccess()) async throws
        -> Int
    {
        defer { replicas?.ownWrites.note() }
        return try await retryingStaleSchema {
            guard let schema = catalog.schema(className) else { return 0 }
            var compiler = WriteCompiler(schema: schema)
            let condition = try Self.condition(
                WriteAccess(writers: access.writers, filter: filter.and(access.filter)), schema, &compiler)
            let sql = "DELETE FROM \(SQLBuilder.quote(className)) WHERE \(condition)"
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

    /// Runs a write; when the class turns out to be another than was thought, learns what it is and runs it once more. In a
    /// transaction, which such an error ends, ``transaction(_:)`` does that.
    func retryingStaleSchema<R: Sendable>(_ body: () async throws -> R) async throws -> R {
        do {
            do {
                return try await body()
            } catch let error as PostgresError where DatabaseFailure.isStaleSchema(error) {
                if isInTransaction { throw StaleTransaction(cause: error) }
                try await catalog.reload()
                return try await body()
            }
        } catch let error as PostgresError {
            throw failure(error)
        }
    }
}

extension ObjectStore.ChangeWants {
    /// The number of the change as SQL, where a statement gives the row that it changed; NULL where none is wanted.
    var numberSQL: String {
        contains(.number) ? "roost_change_number(\"objectId\", '\"_roost_change\"')" : "NULL::bigint"
    }
}
