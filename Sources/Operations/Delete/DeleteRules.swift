import JSON
import ParseModel
import Rules

/// What is special to deleting objects of one class, at the steps of ``DeletePipeline``. Each deletion has its own, so that
/// it can remember at one step what another one needs.
protocol DeleteRules: Sendable {
    /// Whether a caller whose rights are limited may remove the object at all.
    ///
    /// - Throws: `ParseError` when not.
    func authorize(_ objectId: String, _ caller: Caller, _ backend: Backend) async throws

    /// Notes what is needed when the object is gone.
    mutating func look(_ objectId: String, _ backend: Backend) async throws

    /// The error for an object that is not there.
    var notFound: ParseError { get }

    /// What follows when others can see that the object is gone: caches.
    func finish(_ objectId: String, _ backend: Backend) async
}

extension DeleteRules {
    func authorize(_ objectId: String, _ caller: Caller, _ backend: Backend) async throws {}
    mutating func look(_ objectId: String, _ backend: Backend) async throws {}
    var notFound: ParseError { .notFound }
}

extension ClassRules {
    private static let deleters: [Name: @Sendable () -> any DeleteRules] = [
        "_User": { UserDeleteRules() }, "_Session": { SessionDeleteRules() }, "_Role": { RoleDeleteRules() },
    ]

    /// The rules for one deletion; nil for ordinary classes.
    static func deleting(_ className: String) -> (any DeleteRules)? {
        guard className.utf8.first == UInt8(ascii: "_") else { return nil }
        return deleters[Name(className)]?()
    }
}

/// Users remove themselves alone.
private struct UserDeleteRules: DeleteRules {
    func authorize(_ objectId: String, _ caller: Caller, _ backend: Backend) async throws {
        guard caller.userId != nil else {
            throw ParseError(ParseError.sessionMissing, "Insufficient auth to delete user")
        }
        guard caller.isUser(objectId) else {
            throw ParseError.denied(ParseError.sessionMissing, "Insufficient auth.")
        }
    }

    func finish(_ objectId: String, _ backend: Backend) async { await backend.caches.invalidate(user: objectId) }
}

/// Sessions are removed by their users, who are forgotten then.
private struct SessionDeleteRules: DeleteRules {
    private var owner: String?

    func authorize(_ objectId: String, _ caller: Caller, _ backend: Backend) async throws {
        try await backend.sessions.checkOwn(objectId, caller)
    }

    mutating func look(_ objectId: String, _ backend: Backend) async throws {
        owner = try await backend.sessions.owner(objectId)
    }

    var notFound: ParseError { ParseError(ParseError.objectNotFound, "Object not found for delete.") }

    func finish(_ objectId: String, _ backend: Backend) async {
        if let owner { await backend.caches.invalidate(user: owner) }
    }
}

/// Users that are remembered with roles may have others when one is gone.
private struct RoleDeleteRules: DeleteRules {
    func finish(_ objectId: String, _ backend: Backend) async { await backend.caches.invalidateRoles() }
}
