import JSON
import Synchronization

/// What is to be done when a transaction has been committed.
final class DeferredEffects: Sendable {
    private struct State: Sendable {
        var users: Set<Name> = []
        var invalidatesRoles = false
        var hasMails = false
    }

    private let state = Mutex(State())

    /// The users whose sessions are to be forgotten.
    var users: Set<Name> { state.withLock { $0.users } }

    /// Whether everybody's roles are.
    var invalidatesRoles: Bool { state.withLock { $0.invalidatesRoles } }

    /// Whether mails wait.
    var hasMails: Bool { state.withLock { $0.hasMails } }

    func add(user id: String) { state.withLock { _ = $0.users.insert(Name(id)) } }

    func addRoles() { state.withLock { $0.invalidatesRoles = true } }

    func addMails() { state.withLock { $0.hasMails = true } }
}
