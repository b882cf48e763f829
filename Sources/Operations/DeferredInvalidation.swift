import JSON
import Synchronization

/// What is to be forgotten when a transaction has been committed.
final class DeferredInvalidation: Sendable {
    private struct State: Sendable {
        var users: Set<Name> = []
        var invalidatesRoles = false
    }

    private let state = Mutex(State())

    /// The users whose sessions are to be forgotten.
    var users: Set<Name> { state.withLock { $0.users } }

    /// Whether everybody's roles are.
    var invalidatesRoles: Bool { state.withLock { $0.invalidatesRoles } }

    func add(user id: String) { state.withLock { _ = $0.users.insert(Name(id)) } }

    func addRoles() { state.withLock { $0.invalidatesRoles = true } }
}
