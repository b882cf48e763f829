import ParseModel

/// Steps of ``SavePipeline`` specific to a class or a source of saves. Each save has its own instance, which can carry
/// state between steps.
protocol SaveRules: Sendable, BackendPart {
    /// The backend to use. Within a transaction, the transaction's backend.
    var backend: Backend { get set }

    /// Runs the checks that don't need the class schema.
    func check(_ save: Save) throws(ParseError)

    /// Checks whether the caller may save the object at all. Runs before the triggers.
    ///
    /// - Returns: The response if the request stores nothing, such as a log-in, or nil to continue.
    /// - Throws: `ParseError` if the caller may not.
    mutating func authorize(_ save: inout Save) async throws -> WriteResult?

    /// Calls the before-trigger, and loads the original object if a trigger needs it.
    mutating func callBefore(_ save: inout Save) async throws

    /// Completes and checks the fields after the triggers.
    mutating func complete(_ save: inout Save) async throws

    /// Whether the write is determined only while storing.
    var plansWhileStoring: Bool { get }

    /// Checks the save against its class, creates missing fields and returns the write.
    func plan(_ save: Save) async throws -> PlannedWrite

    /// Stores the save in one statement or a transaction.
    func store(_ planned: PlannedSave) async throws -> WriteResult

    /// Runs after the commit: updates caches, sessions and the response.
    func finish(_ save: Save, _ result: inout WriteResult) async throws
}

extension SaveRules {
    /// Returns the same rules with another backend, such as a transaction's.
    func over(_ backend: Backend) -> Self {
        var rules = self
        rules.backend = backend
        return rules
    }

    func check(_ save: Save) throws(ParseError) { try backend.saving.checkSave(save) }
    mutating func authorize(_ save: inout Save) async throws -> WriteResult? { nil }
    mutating func callBefore(_ save: inout Save) async throws {
        if backend.triggers.isObserved { try await backend.saveTriggers.beforeSave(&save) }
    }
    mutating func complete(_ save: inout Save) async throws {}
    var plansWhileStoring: Bool { false }
    func plan(_ save: Save) async throws -> PlannedWrite { try await backend.saving.plan(save) }
    func store(_ planned: PlannedSave) async throws -> WriteResult {
        try await backend.saving.carryOut(planned)
    }
    func finish(_ save: Save, _ result: inout WriteResult) async throws {}
}

enum ClassRules {
    /// Returns the rules for a save, or nil for ordinary classes.
    static func saving(_ className: String, _ backend: Backend) -> (any SaveRules)? {
        switch className {
        case "_User": UserRules(backend: backend)
        case "_Session": SessionRules(backend: backend)
        case "_Installation": InstallationRules(backend: backend)
        case "_Role": RoleRules(backend: backend)
        default: nil
        }
    }
}

/// Saves roles, which may change the roles of cached users.
struct RoleRules: SaveRules {
    var backend: Backend

    func finish(_ save: Save, _ result: inout WriteResult) async throws {
        await backend.caches.invalidateRoles()
    }
}
