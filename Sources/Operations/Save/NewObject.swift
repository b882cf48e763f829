import JSON
import ParseModel
import Rules

extension Saving {
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
        guard given.isTruthy else {
            throw ParseError(ParseError.missingObjectId, "objectId must not be empty, null or undefined")
        }
        guard let id = given.stringValue else {
            let type = try FieldType.inferred(from: given) ?? .object
            throw ParseError(
                ParseError.incorrectType,
                "schema mismatch for \(className).objectId; expected String but got \(type)")
        }
        guard className != "_User" || !Principal.isReserved(Name(id)) else {
            throw ParseError(ParseError.operationForbidden, "Invalid object ID.")
        }
        return id
    }
}
