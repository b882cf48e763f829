import JSON
import ParseModel

package enum ObjectACL {
    /// The ACL that a body asks for; nil when it asks for none.
    ///
    /// What is neither an object nor absent admits no caller, rather than all.
    package static func requested(_ value: JSONValue?) throws(ParseError) -> ACL? {
        switch value {
        case nil, .null: return nil
        case .object(let object) where object["__op"] == nil: return try ACL(json: object)
        case .some(let value): return value.isTruthy ? ACL() : nil
        }
    }

    /// The ACL that the class gives to objects without one; nil where it gives none.
    package static func preset(_ schema: ClassSchema, _ caller: Caller) -> ACL? {
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
        // One that cannot be read admits no caller, rather than all.
        return (try? ACL(json: object)) ?? ACL()
    }

    /// The ACL of a user: always readable and writable by the user, and readable by all where users are public.
    package static func ofUser(
        _ value: JSONValue?, objectId: String, isUpdate: Bool = false, isPrivate: Bool
    ) throws(ParseError) -> ACL? {
        if isUpdate, value?.isNull ?? true { return nil }
        var acl: ACL
        if let value, value.isTruthy, let given = try requested(value) {
            acl = given
        } else {
            acl = ACL()
            if !isPrivate, !isUpdate { acl.readers.append("*") }
        }
        if !acl.readers.contains(objectId) { acl.readers.append(Name(objectId)) }
        if !acl.writers.contains(objectId) { acl.writers.append(Name(objectId)) }
        return acl
    }
}
