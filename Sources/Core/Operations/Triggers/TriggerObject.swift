import JSON
import ParseModel

/// Objects in the form that save triggers receive.
extension Save {
    /// Returns the original with the changes applied, for `beforeSave`. Operators on whole fields remain operators.
    ///
    /// - Throws: `ParseError` if an operation is invalid.
    func objectBefore() throws -> JSONObject {
        var object = original ?? [:]
        for (key, value) in body {
            if isNew, key == "createdAt" || key == "updatedAt" { continue }
            let path = FieldPath(key)
            if path.steps.isEmpty {
                object[key] = Self.withoutRepetitions(value)
            } else {
                Self.apply(try FieldOperation(json: value, isCreating: isNew), at: path, to: &object)
            }
        }
        if let objectId = objectId ?? newId ?? sameId { object["objectId"] = .string(objectId) }
        return object
    }

    /// Returns the saved object: the original with all operations applied, plus the members of the response.
    ///
    /// - Throws: `ParseError` if an operation is invalid.
    func objectAfter(_ result: JSONObject) throws -> JSONObject {
        var object = original ?? [:]
        for (key, value) in body where key != "password" {
            let path = FieldPath(key)
            let operation = try FieldOperation(json: value, isCreating: isNew)
            if operation.isOnRelation {
                object[path.root] = Self.relation(of: operation) ?? object[key]
            } else {
                Self.apply(operation, at: path, to: &object)
            }
        }
        if let acl { object["ACL"] = .object(acl.json) }
        if let objectId = objectId ?? newId ?? sameId { object["objectId"] = .string(objectId) }
        for (key, value) in result where key != "authDataResponse" {
            // A conditional expression would turn nil into a JSON null.
            if value["__op"] == nil { object[key] = value } else { object.removeValue(forKey: key) }
        }
        if isNew, sameId == nil, object["updatedAt"] == nil { object["updatedAt"] = object["createdAt"] }
        if className == "_User" { addAccountFields(&object) }
        return object
    }

    /// Adapts a saved user to the format of parse-server: an update has the `authData` as sent, and a new user's ACL
    /// states explicitly that others can't write.
    private func addAccountFields(_ object: inout JSONObject) {
        if !isNew, let sentLoginData { object["authData"] = sentLoginData }
        guard isNew, body["ACL"] == nil, var acl = object["ACL"]?.objectValue,
            var everybody = acl["*"]?.objectValue, everybody["write"] == nil
        else { return }
        everybody["write"] = false
        acl["*"] = .object(everybody)
        object["ACL"] = .object(acl)
    }

    /// Removes duplicates from an `AddUnique` operation's list, as storing does.
    static func withoutRepetitions(_ value: JSONValue) -> JSONValue {
        guard value["__op"] == "AddUnique", case .object(var operation) = value,
            let objects = operation["objects"]?.arrayValue
        else { return value }
        operation["objects"] = FieldOperation.addUnique(objects).applied(to: nil)
        return .object(operation)
    }

    /// Returns the relation that an operator changes, in JSON format, or nil for other operators.
    static func relation(of value: JSONValue) -> JSONValue? {
        guard let operation = try? FieldOperation(json: value, isCreating: true), operation.isOnRelation else {
            return nil
        }
        return relation(of: operation)
    }

    private static func relation(of operation: FieldOperation) -> JSONValue? {
        guard case .relation(let target)? = try? operation.impliedType() else { return nil }
        return ["__type": "Relation", "className": .string(target.text)]
    }

    /// Moves the value while it changes, so it isn't copied for each of many dotted keys.
    private static func apply(_ operation: FieldOperation, at path: FieldPath, to object: inout JSONObject) {
        guard !path.steps.isEmpty else {
            object[path.root] = operation.applied(to: object[path.root])
            return
        }
        let steps = path.steps[...]
        var changed = object[path.root] ?? .object([:])
        object[path.root] = JSONValue.null
        if let new = operation.applied(to: changed.value(at: steps)) {
            changed.set(new, at: steps)
        } else {
            changed.remove(at: steps)
        }
        object[path.root] = changed
    }
}
