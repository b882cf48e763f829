import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// Prepares and runs transactional batches, and rejects repeated requests.
///
/// Before-triggers and checks run before the transaction begins, so the transaction holds its connection and locks only
/// briefly. All transactions acquire their locks in the same order.
public struct Transactions: Sendable, BackendPart {
    let backend: Backend

    /// Runs the checks and before-triggers of all calls before the transaction begins.
    ///
    /// - Parameter writes: The calls, with nil for calls that write no object.
    /// - Returns: The remaining step of each call. A rejected call fails only when its turn comes.
    public func plan(_ writes: [TransactionWrite?], _ context: RequestContext) async -> [TransactionStep] {
        var steps: [TransactionStep] = []
        var kept = 0
        for (index, write) in writes.enumerated() {
            do {
                try checkMemory(kept, context.caller)
                let step = await plan(write, after: writes[..<index], context)
                kept += step.keptSize
                steps.append(step)
            } catch {
                steps.append(.refused(error))
            }
        }
        return steps
    }

    /// Limits the memory of a client's transaction, which holds its objects and responses until it ends. The limit is a
    /// quarter of the maximum response size, because one network may run several transactions at once.
    ///
    /// - Throws: 116 if the transaction exceeds the limit.
    public func checkMemory(_ bytes: Int, _ caller: Caller) throws(ParseError) {
        guard bytes > configuration.maxResponseSize / 4, !caller.readsEverything else { return }
        throw ParseError(
            ParseError.objectTooLarge, "The transaction takes too much memory. Send fewer requests in it.")
    }

    private func plan(
        _ write: TransactionWrite?, after earlier: ArraySlice<TransactionWrite?>, _ context: RequestContext
    ) async -> TransactionStep {
        guard let write else { return .call }
        do {
            switch write.kind {
            case .create:
                var save = Save(write.className, nil, write.body, context)
                save.isPartOfTransaction = true
                return .save(try await SavePipeline(backend: backend).plan(save))
            case .update(let objectId):
                var save = Save(write.className, objectId, write.body, context)
                save.isPartOfTransaction = true
                // If the object exists, the earlier creation fails, so the rules for existing objects apply.
                if earlier.contains(where: { $0?.makes(write.className, objectId) ?? false }) {
                    save.isMadeInTransaction = try await store.imports.existing([objectId], of: write.className).isEmpty
                }
                return .save(try await SavePipeline(backend: backend).plan(save))
            case .delete(let objectId):
                return .delete(
                    write.className, objectId,
                    try await DeletePipeline(backend: backend).callTriggers(write.className, objectId, context))
            }
        } catch {
            return .refused(error)
        }
    }

    /// Runs a step within a transaction.
    ///
    /// - Parameter operatorName: The operator who moves the object to the trash, or nil to delete it permanently.
    public func carryOut(
        _ step: TransactionStep, _ context: RequestContext, keptFor operatorName: String? = nil
    ) async throws -> TransactionOutcome {
        switch step {
        case .call: return .nothing
        case .refused(let error): throw error
        case .save(.answered(let result)): return .saved(result)
        case .save(.planned(let planned)): return .stored(try await SavePipeline(backend: backend).store(planned))
        case .delete(let className, let objectId, let outcome):
            let pipeline = DeletePipeline(backend: backend)
            var planned = try await pipeline.plan(className, objectId, context, outcome: outcome)
            planned.operatorName = operatorName
            return .deleted(try await pipeline.store(planned))
        }
    }

    /// Notifies observers of the changes of a committed transaction. Several changes of one object are reported as one,
    /// because no reader saw the states between them.
    public func report(_ outcomes: [TransactionOutcome]) async {
        var changed: OrderedDictionary<[Name], (first: ObjectStore.ChangedObject, last: ObjectStore.ChangedObject)> =
            [:]
        for outcome in outcomes {
            let change: ObjectStore.ChangedObject?
            switch outcome {
            case .nothing, .saved: change = nil
            case .stored(let stored): change = stored.change
            case .deleted(let planned): change = planned.change
            }
            guard let change else { continue }
            let key = [Name(change.className), Name(change.objectId)]
            changed[key] = (changed[key]?.first ?? change, change)
        }
        for (first, last) in changed.values { await services.changes.report(last, after: first) }
    }

    /// Runs a step's follow-up work after the commit.
    ///
    /// - Returns: The result of a save, or nil for other steps.
    public func finish(_ outcome: TransactionOutcome) async throws -> WriteResult? {
        switch outcome {
        case .nothing: return nil
        case .saved(let result): return result
        case .stored(let stored): return try await SavePipeline(backend: backend).finish(stored)
        case .deleted(let planned):
            try await DeletePipeline(backend: backend).finish(planned)
            return nil
        }
    }

    /// Locks the objects, user names and addresses that the calls write, in a fixed order, which prevents deadlocks.
    ///
    /// Objects that the caller may not change are not locked.
    public func lock(_ writes: [TransactionWrite?], _ context: RequestContext) async throws {
        var rows: [ObjectStore.LockedRow] = []
        var names: Set<Name> = []
        for case let write? in writes {
            switch write.kind {
            case .create:
                break
            case .update(let objectId):
                if let row = lockedRow(write.className, objectId, .update, context.caller) { rows.append(row) }
            case .delete(let objectId):
                if let row = lockedRow(write.className, objectId, .delete, context.caller) { rows.append(row) }
                continue
            }
            if write.className == "_User" { names.formUnion(backend.users.claimedNames(write.body)) }
        }
        try await store.lock(rows, claiming: names)
    }

    private func lockedRow(
        _ className: String, _ objectId: String, _ operation: ClassOperation, _ caller: Caller
    ) -> ObjectStore.LockedRow? {
        guard let schema = catalog.schema(className), !objectId.utf8.contains(0),
            (try? checkChange(operation.rawValue, className, caller)) != nil,
            var filter = try? schema.permit(operation, to: caller)
        else { return nil }
        if className == "_Session", !caller.writesEverything {
            // Sessions have no ACL. Only their own user may change them.
            guard let userId = caller.userId else { return nil }
            filter = filter.and(ReadRules.sessions(of: userId))
        }
        return (
            className: className, objectId: objectId,
            access: ObjectStore.WriteAccess(writers: caller.writePrincipals, filter: filter)
        )
    }

    /// Rejects writes that the caller's power doesn't allow, and writes to missing classes that clients may not create.
    ///
    /// - Throws: 119 in both cases.
    func checkChange(_ operation: String, _ className: String, _ caller: Caller) throws(ParseError) {
        try caller.check(operation, of: className)
        try backend.permissions.checkClassCreation(className, caller)
    }

    /// Records a request id if idempotency is enabled for the path.
    ///
    /// - Throws: 159 if the id was used within `idempotencyOptions.ttl`.
    public func claim(request id: String, path: String, _ context: RequestContext) async throws {
        let options = configuration.idempotencyOptions
        // Patterns are anchored at the start of the path.
        guard options.paths.contains(where: { RegularExpression($0)?.isPrefix(of: path) == true }) else { return }
        let end = ParseDate(milliseconds: context.now.milliseconds + Int64(options.ttl * 1000))
        let isNew = try await store.requests.claim(
            requestId: id, objectId: Identifiers.alphanumeric(10), until: end, now: context.now)
        guard isNew else { throw ParseError(ParseError.duplicateRequest, "Duplicate request") }
    }
}

/// The remaining work of a transaction's call after the preparation.
public enum TransactionStep: Sendable {
    /// The call writes no object and runs entirely within the transaction.
    case call
    case save(SavePipeline.Outcome)
    /// The call deletes an object.
    case delete(String, String, DeletePipeline.TriggerOutcome)
    /// The call was rejected during the preparation.
    case refused(any Error)

    /// The approximate size in bytes of the original object that the step holds.
    var keptSize: Int {
        switch self {
        case .save(.planned(let planned)): planned.save.original?.roughSize ?? 0
        case .delete(_, _, let outcome): outcome.original?.roughSize ?? 0
        case .call, .save(.answered), .refused: 0
        }
    }
}

/// The result of a step before the commit.
public enum TransactionOutcome: Sendable {
    /// The call wrote no object.
    case nothing
    /// The save stored nothing, and its result is complete.
    case saved(WriteResult)
    case stored(StoredSave)
    case deleted(DeletePipeline.Planned)

    /// The approximate size in bytes of the response, or 0 for deletions and other calls.
    public var answerSize: Int {
        switch self {
        case .saved(let result): result.body.roughSize
        case .stored(let stored): stored.result.body.roughSize
        case .nothing, .deleted: 0
        }
    }

    /// The approximate size in bytes of the objects held for observers and after-triggers.
    public var keptSize: Int {
        switch self {
        case .stored(let stored): (stored.planned.save.original?.roughSize ?? 0) + (stored.change?.size ?? 0)
        case .deleted(let planned): (planned.outcome.original?.roughSize ?? 0) + (planned.change?.size ?? 0)
        case .nothing, .saved: 0
        }
    }
}

/// A call of a transaction that creates, updates or deletes an object.
public struct TransactionWrite: Sendable {
    public enum Kind: Sendable {
        case create
        case update(objectId: String)
        case delete(objectId: String)
    }

    public var kind: Kind
    public var className: String
    /// The fields as sent by the client.
    public var body: JSONObject

    public init(_ kind: Kind, _ className: String, _ body: JSONObject = [:]) {
        self.kind = kind
        self.className = className
        self.body = body
    }

    func makes(_ className: String, _ objectId: String) -> Bool {
        guard case .create = kind, className.hasSameBytes(as: self.className) else { return false }
        return objectId.hasSameBytes(as: body["objectId"]?.stringValue)
    }
}
