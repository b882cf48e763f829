import JSON
import ParseModel
import Rules

/// Class-specific steps of ``DeletePipeline``.
protocol DeleteRules: PipelineRules {
    /// Checks whether a caller without full rights may delete the object.
    ///
    /// - Throws: `ParseError` if the caller may not.
    func authorize(_ objectId: String, _ caller: Caller) async throws

    /// Reads data that later steps need after the object is deleted.
    mutating func prepare(_ objectId: String) async throws

    var notFound: ParseError { get }

    /// Invalidates caches after the deletion is committed.
    func finish(_ objectId: String) async
}

extension DeleteRules {
    func authorize(_ objectId: String, _ caller: Caller) async throws {}
    mutating func prepare(_ objectId: String) async throws {}
    var notFound: ParseError { .notFound }
}

extension ClassRules {
    private static let deleters: [Name: @Sendable (Backend) -> any DeleteRules] = [
        "_User": { UserDeleteRules(backend: $0) }, "_Session": { SessionDeleteRules(backend: $0) },
        "_Role": { RoleDeleteRules(backend: $0) },
    ]

    /// Returns the rules for a deletion, or nil for ordinary classes.
    static func deleting(_ className: String, _ backend: Backend) -> (any DeleteRules)? {
        guard className.utf8.first == UInt8(ascii: "_") else { return nil }
        return deleters[Name(className)]?(backend)
    }
}

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

private struct SessionDeleteRules: DeleteRules {
    var backend: Backend

    private var owner: String?

    init(backend: Backend) { self.backend = backend }

    func authorize(_ objectId: String, _ caller: Caller) async throws {
        try await backend.sessions.checkOwn(objectId, caller)
    }

    mutating func prepare(_ objectId: String) async throws {
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
