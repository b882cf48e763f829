import JSON
import OrderedCollections
import ParseModel
import Rules

/// An object of an export, split into id, dates, ACL, internal columns and fields.
package struct ImportRow: Sendable {
    /// The object's id, or nil for a new object.
    package var objectId: String?
    /// The creation date in the row, if any.
    var createdAt: ParseDate?
    /// The date of the last change in the row, if any.
    var updatedAt: ParseDate?
    /// The ACL in the row, if any.
    package var acl: ACL?
    /// The other fields, as in a save.
    package var fields: JSONObject
    /// Internal columns, such as the hash of a user's password.
    package var hidden: OrderedDictionary<Name, JSONValue> = [:]
    /// A plain-text password, or nil if the row contains a hash or no password.
    var password: String?

    /// - Throws: `ParseError` if the row isn't an object, or its id, dates, ACL or password are invalid.
    package init(_ value: JSONValue, of className: String) throws(ParseError) {
        guard let object = value.objectValue else {
            throw ParseError(ParseError.invalidJSON, "A row must be an object.")
        }
        fields = object
        objectId = try Self.objectId(fields.removeValue(forKey: "objectId"), of: className)
        createdAt = try Self.date(fields.removeValue(forKey: "createdAt"), "createdAt", of: className)
        updatedAt = try Self.date(fields.removeValue(forKey: "updatedAt"), "updatedAt", of: className)
        if let createdAt, let updatedAt, updatedAt < createdAt {
            throw ParseError(ParseError.validationError, "updatedAt cannot occur before createdAt")
        }
        acl = try ObjectACL.requested(fields.removeValue(forKey: "ACL"))
        if className == "_User" { try extractSecrets() }
    }

    private static func objectId(_ value: JSONValue?, of className: String) throws(ParseError) -> String? {
        guard let value, value.isTruthy else { return nil }
        guard let id = value.stringValue ?? value.numberValue.map({ JSONValue.number($0).text }) else {
            throw ParseError(
                ParseError.incorrectType, "schema mismatch for \(className).objectId; expected String")
        }
        guard !id.utf8.contains(0) else {
            throw ParseError(ParseError.invalidJSON, "Strings can't contain the NUL character")
        }
        guard className != "_User" || !Principal.isReserved(Name(id)) else {
            throw ParseError(ParseError.operationForbidden, "Invalid object ID.")
        }
        return id
    }

    /// Reads `createdAt` or `updatedAt`: a plain string in exports, or a `Date` value from clients.
    private static func date(_ value: JSONValue?, _ name: String, of className: String) throws(ParseError) -> ParseDate?
    {
        guard let value, !value.isNull else { return nil }
        let isDate = value["__type"]?.stringValue == "Date"
        guard let text = isDate ? value["iso"]?.stringValue : value.stringValue, let date = ParseDate(iso: text) else {
            throw ParseError(
                ParseError.incorrectType, "schema mismatch for \(className).\(name); expected Date")
        }
        return date
    }

    /// Moves a user's secrets out of the fields. Exports of hosted Parse call the hash `bcryptPassword`.
    private mutating func extractSecrets() throws(ParseError) {
        for name in SystemClass.internalUserFields.keys {
            guard let value = fields.removeValue(forKey: name), !value.isNull else { continue }
            hidden[name] = value
        }
        if let hash = fields.removeValue(forKey: "bcryptPassword"), !hash.isNull, hidden["_hashed_password"] == nil {
            hidden["_hashed_password"] = hash
        }
        // Exports may contain an empty hash for users who log in only with auth providers.
        if hidden["_hashed_password"] == "" { hidden["_hashed_password"] = nil }
        try Permissions.checkHash(hidden)
        let password = fields.removeValue(forKey: "password")
        // The token of a legacy session from before `_Session` existed.
        fields["sessionToken"] = nil
        guard let password, !password.isNull, hidden["_hashed_password"] == nil else { return }
        guard let text = password.stringValue, !text.isEmpty else {
            throw ParseError(ParseError.passwordMissing, "password is required")
        }
        self.password = text
    }
}
