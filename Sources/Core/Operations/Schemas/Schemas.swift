import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// The schemas API: reads and changes classes.
public struct Schemas: Sendable, BackendPart {
    let backend: Backend

    /// Returns all classes except those without a row in `_SCHEMA`, sorted by name.
    public func all() async throws -> [JSONObject] {
        try await reloadedCatalog()
        let classes = catalog.snapshot.classes.values
            .filter { !SystemClass.volatileNames.contains($0.name) }.sorted { $0.name < $1.name }
        let handmade = try await handmadeIndexes(of: classes.map(\.name))
        return classes.map { description($0, handmade[$0.name]) }
    }

    /// Returns a class in the format of the schemas API.
    ///
    /// - Throws: 103 if the class doesn't exist.
    public func describe(_ name: String) async throws -> JSONObject {
        if catalog.schema(name) == nil { try await reloadedCatalog() }
        guard let schema = catalog.schema(name) else { throw ParseError.missingClass(name) }
        return description(schema, try await handmadeIndexes(of: [name])[name])
    }

    /// Creates a class.
    ///
    /// - Throws: 102, 103, 105, 107, 111, 135 or 136 if the definition is invalid, 119 without the master key or if
    ///   schemas are locked.
    public func create(_ pathName: String?, _ body: JSONObject, _ context: RequestContext) async throws
        -> JSONObject
    {
        try checkUnlocked()
        try checkSchemaWrite("create", context)
        let bodyName = body["className"]?.stringValue
        if let pathName, let bodyName, !pathName.hasSameBytes(as: bodyName) {
            throw ParseError(
                ParseError.invalidClassName, "Class name mismatch between \(bodyName) and \(pathName).")
        }
        guard let name = pathName ?? bodyName, !name.isEmpty else {
            throw ParseError(135, "POST \(pathName.map { "/schemas/\($0)" } ?? "/schemas") needs a class name.")
        }
        guard catalog.schema(name) == nil else {
            throw ParseError(ParseError.invalidClassName, "Class \(name) already exists.")
        }
        guard Names.isClassName(name), !Names.isJoinName(name) else { throw Self.invalidName(name) }
        let fields = try SchemaRules.newFields(body["fields"], of: name, known: ClassSchema(name: name))
        let permissions = try SchemaRules.permissions(
            body["classLevelPermissions"] ?? .null, fields: ClassSchema(name: name, fields: fields), configuration)
        let indexes = try SchemaRules.indexes(
            body["indexes"], of: ClassSchema(name: name, fields: fields), configuration)
        let schema = try await change(name) { current in
            guard current == nil else {
                throw ParseError(ParseError.invalidClassName, "Class \(name) already exists.")
            }
            return ClassSchema(name: name, fields: fields, permissions: permissions, indexes: indexes)
        }
        return description(schema)
    }

    /// Updates a class: adds, deletes (`Delete`) or changes fields, replaces permissions, and adds or deletes indexes.
    /// Nothing changes if any part is invalid.
    ///
    /// - Throws: 103 if the class doesn't exist, 119 without the master key or if schemas are locked, or the error of
    ///   an invalid change.
    public func update(_ name: String, _ body: JSONObject, _ context: RequestContext) async throws -> JSONObject {
        try checkUnlocked()
        try checkSchemaWrite("update", context)
        if let bodyName = body["className"]?.stringValue, !bodyName.hasSameBytes(as: name) {
            throw ParseError(ParseError.invalidClassName, "Class name mismatch between \(bodyName) and \(name).")
        }
        if catalog.schema(name) == nil { try await reloadedCatalog() }
        guard catalog.schema(name) != nil else { throw ParseError.missingClass(name) }
        guard !SystemClass.volatileNames.contains(name) else {
            throw ParseError(
                ParseError.invalidSchemaOperation, "Class \(name) belongs to the server, cannot update.")
        }
        let configuration = configuration
        let schema = try await change(name, listingHandmade: body["indexes"] != nil) { current in
            guard var schema = current else { throw ParseError.missingClass(name) }
            try SchemaRules.apply(fields: body["fields"], to: &schema)
            if let permissions = body["classLevelPermissions"] {
                schema.permissions = try SchemaRules.permissions(
                    permissions, fields: schema, stored: schema.permissions?.source ?? [:], configuration)
            }
            schema.indexes = try SchemaRules.indexes(body["indexes"], of: schema, configuration)
            return schema
        }
        return services.protectedFields.describe(schema.name, in: description(schema))
    }

    /// Checks new indexes of a class before they are built.
    ///
    /// - Throws: 102, 103, 107 or 119 if ``update(_:_:_:)`` would reject them.
    public func check(indexes: JSONObject, of name: String, _ context: RequestContext) throws {
        try checkUnlocked()
        try checkSchemaWrite("update", context)
        guard let schema = catalog.schema(name), !SystemClass.volatileNames.contains(name) else {
            throw ParseError.missingClass(name)
        }
        _ = try SchemaRules.indexes(.object(indexes), of: schema, configuration)
    }

    /// Deletes an empty class. Ignores a missing class.
    ///
    /// - Throws: 255 if the class has objects or belongs to the server, 103 if the name is invalid, 119 without the
    ///   master key.
    public func delete(_ name: String, _ context: RequestContext) async throws {
        try checkSchemaWrite("delete", context)
        guard Names.isClassName(name) else { throw Self.invalidName(name) }
        guard !SystemClass.volatileNames.contains(name) else {
            throw ParseError(
                ParseError.invalidSchemaOperation, "Class \(name) belongs to the server, cannot drop schema.")
        }
        if catalog.schema(name) == nil { try await reloadedCatalog() }
        guard catalog.schema(name) != nil else { return }
        // Rejects most non-empty classes without acquiring a lock.
        var count = try await countObjects(of: name)
        if count == 0 {
            if try await store.convertingErrors({ try await catalog.drop(name, onlyIfEmpty: true) }) { return }
            count = try await countObjects(of: name)
        }
        throw ParseError(
            ParseError.invalidSchemaOperation,
            "Class \(name) is not empty, contains \(count) objects, cannot drop schema.")
    }

    private func countObjects(of name: String) async throws -> Int {
        var request = ObjectStore.FindRequest(className: name)
        request.limit = 0
        request.wantsCount = true
        return try await store.find(request).count ?? 0
    }

    /// Deletes all objects of a class and keeps the class.
    ///
    /// - Throws: 119 without the master key.
    public func purge(_ name: String, _ context: RequestContext) async throws {
        guard context.caller.power == .master else { throw ParseError.readOnly("purge a schema") }
        try await store.deleteAll(name, where: .everything)
        if name == "_Session" || name == "_User" || name == "_Role" { await backend.caches.invalidateRoles() }
    }

    private func change(
        _ name: String, listingHandmade: Bool = false, _ edit: @escaping @Sendable (ClassSchema?) throws -> ClassSchema
    ) async throws -> ClassSchema {
        try await store.convertingErrors { try await catalog.change(name, listingHandmade: listingHandmade, edit) }
    }

    private func handmadeIndexes(of names: [String]) async throws -> [Name: JSONObject] {
        try await store.convertingErrors { try await catalog.handmadeIndexes(of: names) }
    }

    private func reloadedCatalog() async throws {
        try await store.convertingErrors { try await catalog.reload() }
    }

    /// The option `lockSchemas` forbids changes, but classes can still be deleted.
    private func checkUnlocked() throws(ParseError) {
        guard configuration.schema?.lockSchemas != true else {
            throw ParseError(
                ParseError.operationForbidden, "Cannot perform this operation when schemas options is used.")
        }
    }

    private func checkSchemaWrite(_ verb: String, _ context: RequestContext) throws(ParseError) {
        guard context.caller.power == .master else { throw .readOnly("\(verb) a schema") }
    }

    private static func invalidName(_ name: String) -> ParseError {
        ParseError(
            ParseError.invalidClassName,
            "Invalid classname: \(name), classnames can only have alphanumeric characters and _, and must start "
                + "with an alpha character ")
    }

    /// - Parameter handmade: Indexes of the table that the stored schema doesn't list, or nil if none were found.
    private func description(_ schema: ClassSchema, _ handmade: JSONObject? = nil) -> JSONObject {
        var fields: JSONObject = [:]
        for (name, field) in schema.fields { fields[name] = .object(field.json) }
        var permissions = schema.effectivePermissions.source
        if SystemClass.volatileNames.contains(schema.name) {
            // Classes without a schema row have no permissions.
            return [
                "className": .string(schema.name), "fields": .object(fields), "classLevelPermissions": [:],
            ]
        }
        for operation in ClassOperation.allCases where permissions[operation.rawValue] == nil {
            permissions[operation.rawValue] = [:]
        }
        if permissions["protectedFields"] == nil { permissions["protectedFields"] = [:] }
        if configuration.preset >= 8, permissions["ACL"] == nil {
            permissions["ACL"] = ["*": ["read": true, "write": true]]
        }
        var object: JSONObject = [
            "className": .string(schema.name), "fields": .object(fields),
            "classLevelPermissions": .object(permissions),
        ]
        var indexes = schema.indexes
        if let handmade {
            indexes.merge(handmade) { listed, _ in listed }
            indexes["_id_"] = ["_id": 1]
        }
        if !indexes.isEmpty { object["indexes"] = .object(indexes) }
        return object
    }
}
