import JSON
import ParseModel
import ParseStorage
import Rules
import Telemetry

/// The life of a save: authorize, load the original where a trigger before it wants it, before-triggers,
/// complete and validate, make the fields that are missing, plan; store; what the class does then (caches, the session
/// of a sign-up), changes and after-triggers, present. Observers hear of it with the commit.
///
/// Every object that is created or changed takes this way: those of clients, rows of imports, sessions that log-ins open,
/// the parameters of `/config`. What is special to a class, or to one of these ways, is in ``SaveRules``. No connection is
/// held but while storing, so a transaction is a list of planned saves: no hash is computed, no field
/// made and no trigger called inside of one.
public struct SavePipeline {
    let backend: Backend

    /// What planning comes to.
    public enum Outcome: Sendable {
        /// To be stored.
        case planned(PlannedSave)
        /// It was a save in name only, and has its answer.
        case answered(WriteResult)
    }

    /// Takes a save through all steps.
    ///
    /// - Parameter rules: What is special to the way of the save; nil for what is special to its class.
    func run(_ save: Save, rules: (any SaveRules)? = nil) async throws -> WriteResult {
        switch try await plan(save, rules: rules) {
        case .answered(let result): return result
        case .planned(let planned): return try await finish(try await store(planned))
        }
    }

    /// Everything that comes before storing.
    ///
    /// - Parameter rules: What is special to the way of the save; nil for what is special to its class.
    func plan(_ save: Save, rules: (any SaveRules)? = nil) async throws -> Outcome {
        var save = save
        guard var rules = rules ?? ClassRules.saving(save.className, backend) else {
            let write = try await planOrdinary(&save)
            return .planned(PlannedSave(save: save, rules: nil, write: write))
        }
        try rules.check(save)
        if let answer = try await rules.authorize(&save) { return .answered(answer) }
        try await rules.callBefore(&save)
        try await rules.complete(&save)
        if rules.plansWhileStoring { return .planned(PlannedSave(save: save, rules: rules, write: nil)) }
        let write = try await rules.plan(save)
        return .planned(PlannedSave(save: save, rules: rules, write: write))
    }

    /// Everything that comes before storing an object of a class without rules of its own.
    func planOrdinary(_ save: inout Save) async throws -> PlannedWrite {
        try backend.saving.checkSave(save)
        if backend.triggers.isObserved { try await backend.saveTriggers.beforeSave(&save) }
        return try await backend.saving.plan(save)
    }

    /// Stores what was planned, and has observers know of it. The pipeline's backend may be that of a transaction: of what
    /// is stored in one, they know after its commit.
    func store(_ planned: PlannedSave) async throws -> StoredSave {
        guard backend.triggers.isObserved else { return StoredSave(planned: planned, result: try await write(planned)) }
        if backend.isInTransaction { return try await storeNoting(planned) }
        let save = planned.save
        var stored = try await backend.services.changes.reporting(
            save.className, save.objectId ?? planned.write?.objectId, by: save.caller
        ) {
            let stored = try await storeNoting(planned)
            return (stored, stored.change)
        }
        stored.change = nil
        return stored
    }

    private func write(_ planned: PlannedSave) async throws -> WriteResult {
        let (save, start) = (planned.save, ContinuousClock.now)
        let operation: DatabaseMeters.Operation = save.isNew ? .create : .update
        do {
            let result =
                if let rules = planned.rules {
                    try await rules.over(backend).store(planned)
                } else {
                    try await backend.saving.carryOut(planned)
                }
            backend.note(operation, save.className, save.context, since: start, nil)
            return result
        } catch {
            backend.note(operation, save.className, save.context, since: start, error)
            throw error
        }
    }

    /// Stores the save. The statement that changes the object also returns its previous state.
    private func storeNoting(_ planned: PlannedSave) async throws -> StoredSave {
        var stored = StoredSave(planned: planned, result: try await write(planned))
        stored.change = stored.result.change
        stored.result.change = nil
        let save = planned.save
        if let change = stored.change, !save.isNew, !save.isMadeInTransaction,
            let original = await backend.saveTriggers.formerObject(change, save)
        {
            stored.planned.save.original = original
        }
        return stored
    }

    /// What follows when others can see what was stored.
    func finish(_ stored: StoredSave) async throws -> WriteResult {
        let save = stored.planned.save
        var result = stored.result
        if !save.responseFields.isEmpty { backend.saveTriggers.addFieldsOfBeforeSave(save, &result) }
        try await stored.planned.rules?.over(backend).finish(save, &result)
        if backend.triggers.isObserved { backend.saveTriggers.addTriggeredFields(save, &result) }
        let answer = backend.triggers.isObserved ? await backend.saveTriggers.afterSave(save, result) : nil
        if let answer { backend.saveTriggers.addFieldsOfAfterSave(save, answer.responseFields, &result) }
        result = try await backend.saving.shown(result, save.className, save.objectId, save.context)
        result.replacement = answer?.answer
        return result
    }
}

extension Saving {
    /// Creates an object.
    public func create(_ className: String, _ body: JSONObject, _ context: RequestContext) async throws -> WriteResult {
        try await SavePipeline(backend: backend).run(Save(className, nil, body, context))
    }

    /// Changes an object.
    ///
    /// - Parameter date: When the object was changed last, as far as the caller saw; nil for at any time.
    /// - Throws: ``ObjectChanged`` when it was changed at another time.
    public func update(
        _ className: String, _ objectId: String, _ body: JSONObject, _ context: RequestContext,
        ifUpdatedAt date: ParseDate? = nil
    ) async throws -> WriteResult {
        var save = Save(className, objectId, body, context)
        guard let date else { return try await SavePipeline(backend: backend).run(save) }
        save.condition = .changed(at: date)
        do {
            return try await SavePipeline(backend: backend).run(save)
        } catch {
            throw await backend.finding.conflict(error, className, objectId, date, context)
        }
    }

    /// Checks what can be said of a save before its class is looked at.
    func checkSave(_ save: Save) throws(ParseError) {
        try save.caller.check(save.isNew ? "create" : "update", of: save.className)
        try backend.permissions.checkClassCreation(save.className, save.caller)
        try configuration.requestKeywordDenylist.check(save.body)
        try FileURLRules.check(.object(save.body), allowed: configuration.fileUpload.allowedFileUrlDomains)
    }

    func carryOut(_ planned: PlannedSave) async throws -> WriteResult {
        guard let write = planned.write else { throw ParseError.notFound }
        return try await carryOut(write, planned.save.context)
    }
}
