import JSON
import OrderedCollections
import ParseModel
import ServerConfiguration

/// Validates the fields and operations of written objects.
package enum WrittenFields {
    private static let managed: Set<Name> = ["objectId", "createdAt", "updatedAt", "ACL"]

    /// Parses the operations of a write and validates its field names.
    ///
    /// - Throws: 105 for an invalid field name, 107 for too many fields or too large array indexes, 139 for an invalid
    ///   role name, or the error of an invalid operation.
    package static func operations(_ body: JSONObject, _ className: String, isCreating: Bool) throws
        -> OrderedDictionary<Name, FieldOperation>
    {
        // `mapValues` keeps the hash table of the keys, which is cheaper than building a new dictionary.
        let isMixed = body.keys.contains(where: managed.contains)
        let values = isMixed ? body.filter { !managed.contains($0.key) } : body
        try HardLimits.check(
            values.count, atMost: HardLimits.operations, "keys of an object", code: ParseError.invalidJSON)
        var (dotted, numbers) = (0, 0)
        for key in values.keys {
            let path = FieldPath(key)
            if !path.steps.isEmpty {
                dotted += 1
                for step in path.steps where (1...6).contains(step.utf8.count) {
                    numbers += max(0, Int(step) ?? 0)
                }
                guard Names.isFieldName(path.root, in: className), !path.steps.contains(""), path.root != "authData"
                else {
                    throw ParseError(
                        ParseError.invalidKeyName,
                        isCreating ? "Invalid field name: \(key)." : "Invalid field name for update: \(key)")
                }
                guard path.steps.count <= 100,
                    path.steps.count + depth(of: values[key] ?? .null)
                        <= JSONValue.greatestDepthFromOutside,
                    !path.steps.contains(where: { $0.utf8.contains(UInt8(ascii: "$")) || $0.utf8.contains(0) })
                else { throw ParseError(ParseError.invalidKeyName, "Invalid field name for update: \(key)") }
            } else if !Names.isFieldName(key.text, in: className) {
                throw ParseError(ParseError.invalidKeyName, "Invalid field name: \(key).")
            }
        }
        try HardLimits.check(
            dotted, atMost: HardLimits.dottedKeys, "dotted keys", code: ParseError.invalidJSON)
        try HardLimits.check(
            numbers, atMost: HardLimits.elementNumbers, "skipped array elements", code: ParseError.invalidJSON)
        let operations = try values.mapValues { try FieldOperation(json: $0, isCreating: isCreating) }
        if className == "_Role", case .set(.string(let name)) = operations["name"],
            name.utf8.count > HardLimits.roleName || Principal.isReserved(Name(name))
        {
            throw ParseError(139, "Invalid role name: it is reserved or longer than \(HardLimits.roleName) bytes.")
        }
        return operations
    }

    private static func depth(of value: JSONValue) -> Int {
        switch value {
        case .object(let object): 1 + (object.values.lazy.map(depth).max() ?? 0)
        case .array(let list): 1 + (list.lazy.map(depth).max() ?? 0)
        default: 0
        }
    }

    /// Returns the fields that a write adds to the class, with their types.
    ///
    /// - Throws: 105 if the write sets both a field and a path inside it, or 111 if a value's type is unknown or
    ///   differs from that of the class's field.
    package static func newFields(_ operations: OrderedDictionary<Name, FieldOperation>, in schema: ClassSchema)
        throws(ParseError) -> OrderedDictionary<Name, Field>
    {
        var fields: OrderedDictionary<Name, Field> = [:]
        var reached: Set<Name> = []
        for (key, operation) in operations {
            let path = FieldPath(key)
            let type: FieldType
            if let first = path.steps.first {
                guard operations[path.root] == nil else {
                    // The result of writing a field and a path inside it would be undefined.
                    throw ParseError(ParseError.invalidKeyName, "Invalid field name: \(key).")
                }
                if case .set(let value) = operation { _ = try FieldType.inferred(from: value) }
                if case .delete = operation { continue }
                // The first of several paths into a field determines its type.
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

    /// Checks that the caller may add the new fields of a write, if it has any.
    ///
    /// - Throws: 119, or 101 if adding fields requires authentication and nobody is logged in.
    package static func checkAddition(
        _ operations: OrderedDictionary<Name, FieldOperation>, to schema: ClassSchema, _ caller: Caller,
        isCreating: Bool
    ) throws(ParseError) {
        let addsFields = operations.contains { key, operation in
            if case .delete = operation { return false }
            return schema.fields[FieldPath(key).root] == nil
        }
        if addsFields { _ = try permitAddition(to: schema, caller, isCreating: isCreating) }
    }

    /// Returns a filter for the objects that a caller may add fields to. For a new object it is always `.everything`.
    ///
    /// - Throws: 119, or 101 if adding fields requires authentication and nobody is logged in.
    package static func permitAddition(
        to schema: ClassSchema, _ caller: Caller, isCreating: Bool
    ) throws(ParseError) -> Filter {
        let filter = try schema.permit(.addField, to: caller)
        guard !isCreating || filter == .everything else {
            throw .denied(
                ParseError.operationForbidden, "Permission denied for action addField on class \(schema.name).")
        }
        return filter
    }

    /// Rejects an object that adds a GeoPoint field and sets more than one GeoPoint.
    ///
    /// - Throws: 111 in that case.
    package static func checkPoints(
        _ fields: OrderedDictionary<Name, Field>, _ operations: OrderedDictionary<Name, FieldOperation>
    ) throws(ParseError) {
        guard fields.values.contains(where: { $0.type == .geoPoint }) else { return }
        let points = operations.values.count { operation in
            guard case .set(let value) = operation else { return false }
            return value["__type"]?.stringValue == "GeoPoint"
        }
        guard points <= 1 else {
            throw ParseError(ParseError.incorrectType, "there can only be one geopoint field in a class")
        }
    }
}

/// Handles `createdAt` and `updatedAt` in written objects.
package enum ObjectDates {
    /// Checks the type of `createdAt` and `updatedAt`, which saves ignore unless a new object is written with the
    /// maintenance key. Callers with the master or maintenance key may send ISO 8601 strings, as migration scripts do.
    ///
    /// - Throws: 111 if the type is wrong.
    package static func check(_ body: JSONObject, _ className: String, _ caller: Caller) throws(ParseError) {
        for name in ["createdAt", "updatedAt"] {
            guard let value = body[name], let type = try FieldType.inferred(from: value), type != .date else {
                continue
            }
            if caller.writesEverything, let text = value.stringValue, ParseDate(iso: text) != nil { continue }
            throw ParseError(
                ParseError.incorrectType, "schema mismatch for \(className).\(name); expected Date but got \(type)")
        }
    }

    /// Returns the dates of a new object: the current time, or the body's dates if the maintenance key was used and the
    /// body contains `createdAt`.
    ///
    /// - Throws: 142 if `updatedAt` is before `createdAt`.
    package static func ofNew(_ body: JSONObject, _ context: RequestContext) throws(ParseError)
        -> (created: ParseDate, updated: ParseDate)
    {
        func date(_ name: String) -> ParseDate? {
            (body[name]?["iso"] ?? body[name])?.stringValue.flatMap(ParseDate.init(iso:))
        }
        guard context.caller.power == .maintenance, let created = date("createdAt") else {
            return (context.now, context.now)
        }
        let updated = date("updatedAt") ?? created
        guard updated >= created else {
            throw ParseError(ParseError.validationError, "updatedAt cannot occur before createdAt")
        }
        return (created, updated)
    }
}

extension KeywordRules {
    /// Rejects prohibited keywords at any depth.
    ///
    /// - Throws: 105 if the body contains one.
    package func check(_ body: JSONObject) throws(ParseError) {
        if !isEmpty { try check(.object(body)) }
    }

    private func check(_ value: JSONValue) throws(ParseError) {
        switch value {
        case .object(let object):
            for (key, member) in object { try check(key.text, member) }
        case .array(let list):
            for (index, element) in list.enumerated() { try check(String(index), element) }
        default: break
        }
    }

    private func check(_ key: String, _ member: JSONValue) throws(ParseError) {
        if let rule = broken(byKey: key, value: member) {
            throw ParseError(ParseError.invalidKeyName, "Prohibited keyword in request data: \(rule.text).")
        }
        try check(member)
    }
}
