import JSON
import OrderedCollections
import ParseModel
import ParseStorage

/// What a new object has besides its fields: an id, an ACL, dates.
extension Backend {
    /// The id of a new object: the client's, where it may choose one, or a random one.
    func newObjectId(_ body: JSONObject, _ className: String) throws(ParseError) -> String {
        guard configuration.allowCustomObjectId else {
            for key in ["objectId", "id"] {
                if let value = body[key], value.isTruthy {
                    throw ParseError(ParseError.invalidKeyName, "\(key) is an invalid field name.")
                }
            }
            return Identifiers.alphanumeric(configuration.objectIdSize)
        }
        guard let given = body["objectId"] else { return Identifiers.alphanumeric(configuration.objectIdSize) }
        guard let id = given.stringValue ?? given.numberValue.map({ JSONValue.number($0).text }), !id.isEmpty else {
            throw ParseError(ParseError.missingObjectId, "objectId must not be empty, null or undefined")
        }
        guard className != "_User" || !Principal.isReserved(Name(id)) else {
            throw ParseError(ParseError.operationForbidden, "Invalid object ID.")
        }
        return id
    }

    /// The ACL that a body asks for; nil when it asks for none.
    ///
    /// What is neither an object nor absent lets nobody in, rather than everybody.
    static func acl(_ value: JSONValue?) throws(ParseError) -> ACL? {
        switch value {
        case nil, .null: return nil
        case .object(let object) where object["__op"] == nil: return try ACL(json: object)
        case .some(let value): return value.isTruthy ? ACL() : nil
        }
    }

    /// The ACL that the class gives to objects without one; nil where it gives none.
    static func defaultACL(_ schema: ClassSchema, _ caller: Caller) -> ACL? {
        guard let preset = schema.permissions?.defaultACL, preset != ["*": ["read": true, "write": true]] else {
            return nil
        }
        var object: JSONObject = [:]
        for (principal, flags) in preset {
            if principal == "currentUser" {
                if let userId = caller.userId, !Principal.isReserved(Name(userId)) { object[userId] = flags }
            } else {
                object[principal] = flags
            }
        }
        return try? ACL(json: object)
    }

    /// Dates of the object itself may be sent, as dates, and are the server's all the same.
    ///
    /// Scripts that move apps send them as they were read: as plain texts, which the keys of servers may.
    static func checkDates(_ body: JSONObject, _ className: String, _ caller: Caller) throws(ParseError) {
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
    func creationDates(_ body: JSONObject, _ context: RequestContext) throws(ParseError)
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
