import Foundation
import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import ServerConfiguration

/// What a written object must look like.
extension Backend {
    /// Keys of a write that never reach a column of their own.
    private static let managed: Set<Name> = ["objectId", "createdAt", "updatedAt", "ACL"]

    /// Reads the operations of a write, and checks the names of its keys.
    ///
    /// - Throws: 105 for names that no field can have; the operations' own errors.
    func operations(_ body: JSONObject, _ className: String, isCreating: Bool) throws
        -> OrderedDictionary<Name, FieldOperation>
    {
        // Values that take the place of others keep the keys as they are, which costs less than to enter each anew.
        let isMixed = body.keys.contains(where: Self.managed.contains)
        let values = isMixed ? body.filter { !Self.managed.contains($0.key) } : body
        if className == "_Role", let name = body["name"]?.nameValue, Principal.isReserved(name) {
            throw ParseError(139, "Invalid role name.")
        }
        try HardLimits.check(
            values.count, atMost: HardLimits.operations, "keys of an object", code: ParseError.invalidJSON)
        var dotted = 0
        for key in values.keys {
            let path = FieldPath(key)
            if !path.steps.isEmpty {
                dotted += 1
                guard Names.isFieldName(path.root, in: className), !path.steps.contains(""), path.root != "authData"
                else {
                    throw ParseError(
                        ParseError.invalidKeyName,
                        isCreating ? "Invalid field name: \(key)." : "Invalid field name for update: \(key)")
                }
                guard path.steps.count <= 100,
                    !path.steps.contains(where: { $0.utf8.contains(UInt8(ascii: "$")) || $0.utf8.contains(0) })
                else { throw ParseError(ParseError.invalidKeyName, "Invalid field name for update: \(key)") }
            } else if !Names.isFieldName(key.text, in: className) {
                throw ParseError(ParseError.invalidKeyName, "Invalid field name: \(key).")
            }
        }
        try HardLimits.check(
            dotted, atMost: HardLimits.dottedKeys, "dotted keys", code: ParseError.invalidJSON)
        return try values.mapValues { try FieldOperation(json: $0, isCreating: isCreating) }
    }

    /// The fields that a write brings and a class lacks, by name and type.
    ///
    /// - Throws: 111 for values that are of no type, or of another than the class's field.
    private static func newFields(_ operations: OrderedDictionary<Name, FieldOperation>, in schema: ClassSchema)
        throws(ParseError) -> OrderedDictionary<Name, Field>
    {
        var fields: OrderedDictionary<Name, Field> = [:]
        var reached: Set<Name> = []
        for (key, operation) in operations {
            let path = FieldPath(key)
            let type: FieldType
            if let first = path.steps.first {
                guard operations[path.root] == nil else {
                    // A field and a place inside it in one write: which of them counts would be chance.
                    throw ParseError(ParseError.invalidKeyName, "Invalid field name: \(key).")
                }
                if case .set(let value) = operation { _ = try FieldType.inferred(from: value) }
                if case .delete = operation { continue }
                // Of several places inside a field, the first says what it is.
                guard reached.insert(Name(path.root)).inserted else { continue }
                let isIndex = !first.isEmpty && first.utf8.allSatisfy { (48...57).contains($0) }
                type = isIndex ? .array : .object
            } else if let implied = try operation.impliedType() {
                type = implied
            } else {
                continue
            }
            if try schema.lacks(path.root, of: type) { fields[path.root] = Field(type) }
        }
        return fields
    }

    /// Checks a write against the class, makes the fields that it lacks, and gives the class as it is then.
    ///
    /// - Parameter objectId: The object that the write changes. Fields are made for one that the caller may change.
    /// - Returns: The class, and a condition on the object for a caller who may add fields to some objects only.
    /// - Throws: 101 for an object that is not there, 111 for a value of another type, 119 when the caller may not add
    ///   fields.
    func prepare(
        _ className: String, _ operations: OrderedDictionary<Name, FieldOperation>, _ caller: Caller,
        isCreating: Bool, objectId: String? = nil
    ) async throws -> (schema: ClassSchema, filter: Filter) {
        let known = catalog.schema(className)
        let current = known ?? ClassSchema(name: className)
        let fields: OrderedDictionary<Name, Field>
        do throws(ParseError) {
            fields = try Self.newFields(operations, in: current)
        } catch {
            // Whoever may not add fields is told that first.
            if let known, error.code == ParseError.incorrectType { try checkAddition(operations, to: known, caller) }
            throw error
        }
        guard let known else {
            guard Names.isClassName(className), !Names.isJoinName(className) else {
                throw ParseError(ParseError.invalidJSON, "schema class name does not revalidate")
            }
            try Self.checkPoints(fields, operations)
            if isInTransaction { throw isCreating ? Self.cannotAddFields : ParseError.notFound }
            return (try await store.ensure(className, fields), .everything)
        }
        guard let first = fields.keys.first else { return (known, .everything) }
        guard !SystemClass.volatileNames.contains(className) else {
            // Their columns are fixed: no row of the schema could remember another.
            throw ParseError(ParseError.invalidKeyName, "Invalid field name: \(first).")
        }
        let filter = try permit(.addField, on: known, caller)
        if isCreating, filter != .everything {
            throw ParseError.denied(
                ParseError.operationForbidden, "Permission denied for action addField on class \(className).")
        }
        try Self.checkPoints(fields, operations)
        if let objectId {
            let access = ObjectStore.WriteAccess(
                writers: caller.writePrincipals, filter: try permit(.update, on: known, caller).and(filter))
            guard try await store.canChange(className, objectId: objectId, access: access) else {
                throw ParseError.notFound
            }
        }
        if isInTransaction { throw Self.cannotAddFields }
        return (try await store.ensure(className, fields), filter)
    }

    /// What adds fields waits for all who use the table, a transaction of its own included.
    private static let cannotAddFields = ParseError(
        ParseError.operationForbidden, "Classes and fields cannot be made inside a transaction.")

    /// Checks that a caller may add the fields that a write brings and a class lacks, if there are any.
    ///
    /// - Throws: 119.
    private func checkAddition(
        _ operations: OrderedDictionary<Name, FieldOperation>, to schema: ClassSchema, _ caller: Caller
    ) throws(ParseError) {
        let addsFields = operations.contains { key, operation in
            if case .delete = operation { return false }
            return schema.fields[FieldPath(key).root] == nil
        }
        if addsFields { _ = try permit(.addField, on: schema, caller) }
    }

    /// An object that makes a field of type GeoPoint brings no other place; the class may have one from before.
    private static func checkPoints(
        _ fields: OrderedDictionary<Name, Field>, _ operations: OrderedDictionary<Name, FieldOperation>
    ) throws(ParseError) {
        guard fields.values.contains(where: { $0.type == .geoPoint }) else { return }
        let places = operations.values.count { operation in
            guard case .set(let value) = operation else { return false }
            return value["__type"]?.stringValue == "GeoPoint"
        }
        guard places <= 1 else {
            throw ParseError(ParseError.incorrectType, "there can only be one geopoint field in a class")
        }
    }

    /// Refuses words that the deployment does not want in data, at any depth.
    ///
    /// - Throws: 105.
    public func checkKeywords(_ body: JSONObject) throws(ParseError) {
        let denied = configuration.requestKeywordDenylist
        guard !denied.isEmpty else { return }
        try checkKeywords(.object(body), denied)
    }

    private func checkKeywords(_ value: JSONValue, _ denied: KeywordRules) throws(ParseError) {
        switch value {
        case .object(let object):
            for (key, member) in object { try checkKeywords(key.text, member, denied) }
        case .array(let list):
            for (index, element) in list.enumerated() { try checkKeywords(String(index), element, denied) }
        default: break
        }
    }

    private func checkKeywords(_ key: String, _ member: JSONValue, _ denied: KeywordRules) throws(ParseError) {
        if let rule = denied.broken(byKey: key, value: member) {
            throw ParseError(ParseError.invalidKeyName, "Prohibited keyword in request data: \(rule.text).")
        }
        try checkKeywords(member, denied)
    }

    /// Refuses files whose URL leads to a host that the deployment does not want, at any depth.
    ///
    /// - Throws: 130.
    func checkFileLinks(_ value: JSONValue) throws(ParseError) {
        let allowed = configuration.fileUpload.allowedFileUrlDomains
        guard !allowed.contains("*") else { return }
        switch value {
        case .object(let object):
            if object["__type"] == "File", let url = object["url"]?.stringValue, !url.isEmpty {
                let host = URLComponents(string: url)?.host?.lowercased() ?? ""
                let isAllowed = allowed.contains { domain in
                    let domain = domain.lowercased()
                    return domain == host || (domain.hasPrefix("*.") && host.hasSuffix(domain.dropFirst()))
                }
                guard isAllowed else {
                    throw ParseError(ParseError.fileSaveError, "File URL domain '\(host)' is not allowed.")
                }
            }
            for member in object.values { try checkFileLinks(member) }
        case .array(let list):
            for element in list { try checkFileLinks(element) }
        default: break
        }
    }

    /// Checks fields that a class demands, and fills in defaults on a new object.
    ///
    /// - Returns: The names of the fields that a default filled in.
    /// - Throws: 111 or 142 for a field that is missing.
    func applyDefaults(
        _ operations: inout OrderedDictionary<Name, FieldOperation>, hasACL: Bool, _ schema: ClassSchema,
        isCreating: Bool
    ) throws(ParseError) -> [String] {
        for column in SystemClass.requiredFields[schema.name] ?? [] {
            let isMissing: Bool
            switch (column, operations[column]) {
            case ("ACL", _): isMissing = !hasACL
            case (_, nil): isMissing = isCreating
            case (_, .delete), (_, .set(.null)): isMissing = true
            case (_, .set(.string(let text))): isMissing = text.isEmpty
            default: isMissing = false
            }
            if isMissing { throw ParseError(ParseError.incorrectType, "\(column) is required.") }
        }
        var filled: [String] = []
        // By place, since most fields are passed over, and a copy of one is not cheap.
        let fields = schema.fields
        for index in fields.values.indices where fields.values[index].concernsAbsence {
            let (name, field) = fields.elements[index]
            let operation = operations[name]
            if isCreating, let value = field.defaultValue, Self.isEmpty(operation) {
                operations[name] = .set(value)
                filled.append(name.text)
                continue
            }
            guard field.isRequired else { continue }
            switch operation {
            case nil where isCreating, .delete, .set(.null), .set(.string("")):
                throw ParseError(ParseError.validationError, "\(name) is required")
            default: break
            }
        }
        return filled
    }

    /// Whether a new object's field has no value, so that the default applies.
    private static func isEmpty(_ operation: FieldOperation?) -> Bool {
        switch operation {
        case nil, .delete, .set(.null): true
        default: false
        }
    }
}
