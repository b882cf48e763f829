import JSON
import ParseModel
import Rules

/// The steps of a save: authorize, load the original if a before-trigger needs it, call before-triggers, complete and
/// validate, create missing fields, plan, store, notify observers, run the follow-up of the class (caches, session of a
/// sign-up), call after-triggers, write the response.
///
/// Objects written by clients, imports, log-ins (sessions) and `/config` are planned here. ``SaveRules`` contains the
/// differences between classes and sources. A database connection is held only while storing, so a transaction is a
/// list of planned saves: password hashing, field creation and triggers run outside.
public struct SavePipeline {
    let backend: Backend

    /// The result of planning.
    public enum Outcome: Sendable {
        /// The save is ready to be stored.
        case planned(PlannedSave)
        /// The request stores nothing, and its response is complete.
        case answered(WriteResult)
    }

    /// Runs all steps of a save.
    ///
    /// - Parameter rules: The rules of the save's source, or nil for the rules of its class.
    func run(_ save: Save, rules: (any SaveRules)? = nil) async throws -> WriteResult {
        switch try await plan(save, rules: rules) {
        case .answered(let result): return result
        case .planned(let planned): return try await finish(try await store(planned))
        }
    }

    /// Runs all steps before storing.
    ///
    /// - Parameter rules: The rules of the save's source, or nil for the rules of its class.
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

    /// Runs all steps before storing, for classes without special rules.
    func planOrdinary(_ save: inout Save) async throws -> PlannedWrite {
        try backend.saving.checkSave(save)
        if backend.triggers.isObserved { try await backend.saveTriggers.beforeSave(&save) }
        return try await backend.saving.plan(save)
    }

    /// Stores a planned save and notifies observers. Within a transaction the notification follows the commit.
    func store(_ planned: PlannedSave) async throws -> StoredSave {
        guard backend.triggers.isObserved else { return StoredSave(planned: planned, result: try await write(planned)) }
        if backend.isInTransaction { return try await storeNoting(planned) }
        let save = planned.save
        var stored = try await backend.services.changes.reporting(
            save.className, save.objectId ?? planned.write?.objectId
        ) {
            let stored = try await storeNoting(planned)
            return (stored, stored.change)
        }
        stored.change = nil
        return stored
    }

    private func write(_ planned: PlannedSave) async throws -> WriteResult {
        let save = planned.save
        return try await backend.timed(save.isNew ? .create : .update, save.className, save.context) {
            if let rules = planned.rules { return try await rules.over(backend).store(planned) }
            return try await backend.saving.carryOut(planned)
        }
    }

    /// The statement that changes the object also returns its previous state.
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

    /// Runs the steps after the commit.
    func finish(_ stored: StoredSave) async throws -> WriteResult {
        let save = stored.planned.save
        var result = stored.result
        if !save.responseFields.isEmpty { backend.saveTriggers.addFieldsOfBeforeSave(save, &result) }
        try await stored.planned.rules?.over(backend).finish(save, &result)
        if backend.triggers.isObserved { backend.saveTriggers.addTriggeredFields(save, &result) }
        let answer = backend.triggers.isObserved ? await backend.saveTriggers.afterSave(save, result) : nil
        if let answer { backend.saveTriggers.addFieldsOfAfterSave(save, answer.responseFields, &result) }
        result = try await backend.saving.redacted(result, save.className, save.objectId, save.context)
        result.replacement = answer?.answer
        return result
    }
}

extension Saving {
    public func create(_ className: String, _ body: JSONObject, _ context: RequestContext) async throws -> WriteResult {
        try await SavePipeline(backend: backend).run(Save(className, nil, body, context))
    }

    /// Updates an object.
    ///
    /// - Parameter date: The object's expected `updatedAt`, or nil to skip the check.
    /// - Throws: 101 if the object doesn't exist or the caller may not change it, ``ObjectChanged`` if its `updatedAt`
    ///   differs, and the errors of checks and triggers.
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

    /// Runs the checks that don't need the class schema.
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
