import JSON
import ParseModel
import Rules

/// What is special to deleting objects of one class, at the steps of ``DeletePipeline``. Each deletion has its own, so that
/// it can remember at one step what another one needs.
protocol DeleteRules: Sendable, BackendPart {
    /// The operations that the rules build on: those of a transaction while the object is deleted in one.
    var backend: Backend { get set }

    /// Whether a caller whose rights are limited may remove the object at all; throws `ParseError` when not.
    func authorize(_ objectId: String, _ caller: Caller) async throws

    /// Notes what is needed when the object is gone.
    mutating func look(_ objectId: String) async throws

    var notFound: ParseError { get }

    /// What follows when others can see that the object is gone: caches.
    func finish(_ objectId: String) async
}

extension DeleteRules {
    /// The same rules over other operations, as those of a transaction.
    func over(_ backend: Backend) -> Self {
        var rules = self
        rules.backend = backend
        return rules
    }

    func authorize(_ objectId: String, _ caller: Caller) async throws {}
    mutating func look(_ objectId: String) async throws {}
    var notFound: ParseError { .notFound }
}

extension ClassRules {
    private static let deleters: [Name: @Sendable (Backend) -> any DeleteRules] = [
        "_User": { UserDeleteRules(backend: $0) }, "_Session": { SessionDeleteRules(backend: $0) },
        "_Role": { RoleDeleteRules(backend: $0) },
    ]

    /// The rules for one deletion; nil for ordinary classes.
    static func deleting(_ className: String, _ backend: Backend) -> (any DeleteRules)? {
        guard className.utf8.first == UInt8(ascii: "_") else { return nil }
        return deleters[Name(className)]?(backend)
    }
}

/// Users delete only themselves.
private struct UserDeleteRules: DeleteRules {
    var backend: Backend

    func authorize(_ objectId: String, _ caller: Caller) async throws {
        guard caller.userId != nil else {
            throw ParseError(ParseError.sessionMissing, "Insufficient auth to delete user")
        }
        guard caller.isUser(objectId) else {
            throw ParseError.denied(ParseError.sessionMissing, "Insufficient auth.")
        }
    }

    func finish(_ objectId: String) async { await backend.caches.invalidate(user: objectId) }
}

/// Users delete their own sessions, which evicts cached entries.
private struct SessionDeleteRules: DeleteRules {
    var backend: Backend

    private var owner: String?

    init(backend: Backend) { self.backend = backend }

    func authorize(_ objectId: String, _ caller: Caller) async throws {
        try await backend.sessions.checkOwn(objectId, caller)
    }

    mutating func look(_ objectId: String) async throws {
        owner = try await backend.sessions.owner(objectId)
    }

    var notFound: ParseError { ParseError(ParseError.objectNotFound, "Object not found for delete.") }

    func finish(_ objectId: String) async {
        if let owner { await backend.caches.invalidate(user: owner) }
    }
}

/// Deleting a role may change the roles of cached users.
private struct RoleDeleteRules: DeleteRules {
    var backend: Backend

    func finish(_ objectId: String) async { await backend.caches.invalidateRoles() }
}
