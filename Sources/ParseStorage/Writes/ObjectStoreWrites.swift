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
    /// - Throws: 111 when a field exists with another type.
    public func ensure(_ className: String, _ fields: OrderedDictionary<Name, Field>) async throws -> ClassSchema {
        do {
            return try await catalog.ensure(className, fields)
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

    /// Changes an object.
    ///
    /// - Parameter echo: The fields whose new values are wanted.
    /// - Returns: Those values, or nil when there is no such object or it may not be changed.
    public func update(
        _ className: String, objectId: String, _ write: ObjectWrite, access: WriteAccess = WriteAccess(),
        echo: [String] = [], links: FileLinks = FileLinks.none
    ) async throws -> JSONObject? {
        guard !objectId.utf8.contains(0) else { return nil }
        return try await retryingStaleSchema {
            guard let schema = catalog.schema(className) else { return nil }
            // The fields to give back are those of a plan, so that they are read as every other row is.
            let plan = catalog.plan(schema, keys: Set(echo.names))
            let columns = plan.columns.map(\.name)
            var compiler = WriteCompiler(schema: schema)
            let condition = try Self.condition(access, schema, &compiler)
            let statement = try compiler.update(
                objectId: objectId, write, condition: condition,
                returning: echo.isEmpty ? [] : columns + (plan.hasACL ? ["_rperm", "_wperm"] : []))
            // What changes a part of a value reads and writes all of it: others do not wait for that.
            let isNested = write.operations.keys.contains { $0.utf8.contains(UInt8(ascii: ".")) }
            let results = try await change(schema, objectId, [statement], alone: isNested)
            guard let result = results.first, result.rowCount > 0 else {
                return nil
            }
            guard !echo.isEmpty else { return [:] }
            let found = Found(
                result: result, plan: plan, access: ReadAccess(), included: IncludedObjects(), include: nil,
                links: links, unwritten: [], count: nil)
            return try await found.objects.first
        }
    }

    /// Removes an object. False when there is no such object or it may not be removed.
    public func delete(_ className: String, objectId: String, access: WriteAccess = WriteAccess()) async throws -> Bool
    {
        guard !objectId.utf8.contains(0) else { return false }
        return try await deleteAll(className, where: .field(FieldPath("objectId"), .equal(.string(objectId))), access)
            > 0
    }

    /// Removes every object that a condition holds for, and says how many.
    @discardableResult
    public func deleteAll(_ className: String, where filter: Filter, _ access: WriteAccess = WriteAccess()) async throws
        -> Int
    {
        try await retryingStaleSchema {
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
