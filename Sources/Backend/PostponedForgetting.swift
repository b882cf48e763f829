import JSON
import Synchronization

/// What is to be forgotten when a transaction has been committed.
final class PostponedForgetting: Sendable {
    private struct State: Sendable {
        var users: Set<Name> = []
        var mustForgetRoles = false
    }

    private let state = Mutex(State())

    /// The users whose sessions are to be forgotten.
    var users: Set<Name> { state.withLock { $0.users } }

    /// Whether everybody's roles are.
    var mustForgetRoles: Bool { state.withLock { $0.mustForgetRoles } }

    func add(user id: String) { state.withLock { _ = $0.users.insert(Name(id)) } }

    func addRoles() { state.withLock { $0.mustForgetRoles = true } }
}
