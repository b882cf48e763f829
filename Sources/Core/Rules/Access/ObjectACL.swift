import JSON
import ParseModel

package enum ObjectACL {
    /// Returns the ACL in a request body, or nil if it is missing or falsy. Other values that aren't plain objects
    /// result in an empty ACL, so that a mistake doesn't make the object public.
    ///
    /// - Throws: 123 if the ACL is invalid.
    package static func requested(_ value: JSONValue?) throws(ParseError) -> ACL? {
        switch value {
        case nil, .null: return nil
        case .object(let object) where object["__op"] == nil: return try ACL(json: object)
        case .some(let value): return value.isTruthy ? ACL() : nil
        }
    }

    /// Returns the class's default ACL for an object without an ACL, or nil if such objects are public.
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
        // An invalid default ACL becomes empty, so that a mistake doesn't make objects public.
        return (try? ACL(json: object)) ?? ACL()
    }

    /// Returns the ACL to store for a user, or nil if an update contains none.
    ///
    /// The user can always read and write. If a new user is created without an ACL, everybody can read it unless
    /// `isPrivate` is set.
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
