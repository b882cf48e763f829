import JSON
import OrderedCollections
import ParseModel
import ServerConfiguration

/// What a written object must look like: its keys, its operations, the fields that it brings.
package enum WrittenFields {
    /// Keys of a write that never reach a column of their own.
    private static let managed: Set<Name> = ["objectId", "createdAt", "updatedAt", "ACL"]

    /// Reads the operations of a write, and checks the names of its keys.
    ///
    /// - Throws: 105 for names that no field can have; 139 for those that no role can have; the operations' own errors.
    package static func operations(_ body: JSONObject, _ className: String, isCreating: Bool) throws
        -> OrderedDictionary<Name, FieldOperation>
    {
        // Values that take the place of others keep the keys as they are, which costs less than to enter each anew.
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
            numbers, atMost: HardLimits.elementNumbers, "elements before those named", code: ParseError.invalidJSON)
        let operations = try values.mapValues { try FieldOperation(json: $0, isCreating: isCreating) }
        if className == "_Role", case .set(.string(let name)) = operations["name"],
            name.utf8.count > HardLimits.roleName || Principal.isReserved(Name(name))
        {
            throw ParseError(139, "Invalid role name.")
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

    /// The fields that a write brings and a class lacks, by name and type.
    ///
    /// - Throws: 111 for values that are of no type, or of another than the class's field.
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
                    // A field and a place inside it in one write: which of them counts would be chance.
                    throw ParseError(ParseError.invalidKeyName, "Invalid field name: \(key).")
                }
                if case .set(let value) = operation { _ = try FieldType.inferred(from: value) }
                if case .delete = operation { continue }
                // Of several paths into a field, the first says what it is.
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

    /// Checks that a caller may add the fields that a write brings and a class lacks, if there are any.
    ///
    /// - Throws: 119.
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

    /// The objects of a class to which a caller may add fields: an object that is not there yet is none of some only.
    ///
    /// - Throws: 119.
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

    /// An object that makes a field of type GeoPoint brings no other place; the class may have one from before.
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

/// The dates of an object, which are the server's.
package enum ObjectDates {
    /// Dates of the object itself may be sent, as dates, and are the server's all the same.
    ///
    /// Scripts that move apps send them as they were read: as plain texts, which the keys of servers may.
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

    /// When a new object was made: now, or what the maintenance key says.
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
    /// Refuses words that the deployment does not want in data, at any depth.
    ///
    /// - Throws: 105.
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
