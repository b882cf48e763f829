import JSON
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// Class-level permissions, where they need to know more than the class.
public struct Permissions: Sendable, BackendPart {
    let backend: Backend
    var protectedFields: ProtectedFields { backend.protectedFields }

    /// Whether a count is answered as an empty list: up to line 7 to a caller without a user, in a class that lets
    /// through to some objects only.
    func countsNothing(_ className: String, _ caller: Caller) -> Bool {
        guard configuration.preset < 8, caller.userId == nil, let schema = catalog.schema(className),
            let filter = try? schema.permit(.count, to: caller)
        else { return false }
        return filter == .any([])
    }

    /// Refuses clients a class that does not exist, where they may not make classes.
    ///
    /// - Throws: 119.
    func checkClassCreation(_ name: String, _ caller: Caller) throws(ParseError) {
        guard !configuration.allowClientClassCreation, !caller.readsEverything, !SystemClass.names.contains(name),
            catalog.schema(name) == nil
        else { return }
        throw .denied(
            ParseError.operationForbidden, "This user is not allowed to access non-existent class: \(name)")
    }
}
