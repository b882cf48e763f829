import JSON
import ParseModel

/// What is special to saving objects of one class, or on one way, at the steps of ``SavePipeline``. Each save has its own,
/// so that it can remember at one step what another one needs.
protocol SaveRules: Sendable, BackendPart {
    /// The operations that the rules build on: those of a transaction while the save is stored in one.
    var backend: Backend { get set }

    /// Checks what can be said of a save before its class is looked at.
    func check(_ save: Save) throws(ParseError)

    /// Whether the caller may save this at all. It comes before the triggers.
    ///
    /// - Returns: An answer for a save that is one in name only, such as a log-in.
    mutating func authorize(_ save: inout Save) async throws -> WriteResult?

    /// Calls the trigger before the save, and loads the object for those who want to know what it was.
    mutating func callBefore(_ save: inout Save) async throws

    /// Completes what is saved, and checks it, after the triggers.
    mutating func complete(_ save: inout Save) async throws

    /// Whether what is written is found out while it is stored.
    var plansWhileStoring: Bool { get }

    /// Checks the save against its class, makes the fields that the class lacks, and says what is to be written.
    func plan(_ save: Save) async throws -> PlannedWrite

    /// Stores it: in one statement, or in a transaction of several.
    func store(_ planned: PlannedSave) async throws -> WriteResult

    /// What follows when it is stored and others can see it: caches, sessions, the answer.
    func finish(_ save: Save, _ result: inout WriteResult) async throws
}

extension SaveRules {
    /// The same rules over other operations, as those of a transaction.
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
    private static let makers: [Name: @Sendable (Backend) -> any SaveRules] = [
        "_User": { UserRules(backend: $0) }, "_Session": { SessionRules(backend: $0) },
        "_Installation": { InstallationRules(backend: $0) },
        "_Role": { RoleRules(backend: $0) },
    ]

    /// The rules for one save; nil for ordinary classes.
    static func saving(_ className: String, _ backend: Backend) -> (any SaveRules)? {
        guard className.utf8.first == UInt8(ascii: "_") else { return nil }
        return makers[Name(className)]?(backend)
    }
}

/// Roles: users that are remembered with roles may have others from now on.
struct RoleRules: SaveRules {
    var backend: Backend

    func finish(_ save: Save, _ result: inout WriteResult) async throws {
        await backend.caches.invalidateRoles()
    }
}
