import JSON
import ParseModel

/// What a caller may do with a class, whatever its permissions are.
extension Caller {
    /// Classes whose rows are not objects: they lack the columns of objects.
    private static let ownRoutes: Set<Name> = ["_Hooks", "_GlobalConfig", "_GraphQLConfig"]

    /// Refuses clients what only the master key reaches.
    ///
    /// - Throws: 119.
    package func check(_ operation: String, of name: String) throws(ParseError) {
        let isWrite = operation != "get" && operation != "find"
        if power == .readOnlyMaster, isWrite {
            throw .denied(
                ParseError.operationForbidden,
                "read-only masterKey isn't allowed to perform the \(operation) operation.")
        }
        if isWrite, Self.ownRoutes.contains(name) {
            throw ParseError(
                ParseError.operationForbidden, "Objects of \(name) are written by routes of their own.")
        }
        guard power == .client else { return }
        if name == "_Installation", operation == "find" || operation == "delete" {
            throw .denied(
                ParseError.operationForbidden,
                "Clients aren't allowed to perform the \(operation) operation on the installation collection.")
        }
        guard SystemClass.masterOnlyNames.contains(name) || Name(name).hasPrefix("_Join:") else { return }
        throw .denied(
            ParseError.operationForbidden,
            "Clients aren't allowed to perform the \(operation) operation on the \(name) collection.")
    }
}
