import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// What is done for a transaction before its first change, so that it holds its connection and its locks for a short
/// time, and takes the locks in the order in which every other transaction does.
public struct Transactions: Sendable, BackendPart {
    let backend: Backend

    /// What is done of the calls of a transaction before it begins.
    ///
    /// - Parameter writes: The calls; nil for those that write no object.
    /// - Returns: For each what is left to do. What was refused is refused in its turn, when those before it were not.
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

    /// Bounds the memory of a client's transaction, which keeps its objects and answers until it ends. Some transactions
    /// of a network run at once, so each has a quarter of an answer.
    ///
    /// - Throws: 116.
    public func checkMemory(_ bytes: Int, _ caller: Caller) throws(ParseError) {
        guard bytes > configuration.maxResponseSize / 4, !caller.readsEverything else { return }
        throw ParseError(
            ParseError.objectTooLarge, "The transaction takes too much memory; send fewer requests in it.")
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
                // One that is there already cannot be made: its own rules hold.
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

    /// Carries out a step inside of a transaction.
    ///
    /// - Parameter operatorName: The name under which the trash keeps what is removed; nil where it is gone for good.
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

    /// Has observers know what became of objects in a transaction that is committed. Of what it did to one object in
    /// several steps, they hear as of one change: no reader saw what was between.
    public func report(_ outcomes: [TransactionOutcome], _ context: RequestContext) async {
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
        for (first, last) in changed.values { await services.changes.report(last, after: first, by: context.caller) }
    }

    /// What follows a step when the transaction is committed.
    ///
    /// - Returns: The answer to a save; nil for what has none.
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

    /// Locks, at the start of a transaction, all objects that its calls change, in one order that is the same for every
    /// transaction, so that none waits for another that waits for it.
    ///
    /// Only objects that the caller may change are locked.
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
            // Sessions have no ACL, and are changed by their own users.
            guard let userId = caller.userId else { return nil }
            filter = filter.and(SessionReadRules.sessions(of: userId))
        }
        return ObjectStore.LockedRow(
            className: className, objectId: objectId,
            access: ObjectStore.WriteAccess(writers: caller.writePrincipals, filter: filter))
    }

    /// Refuses what no caller with these keys may do with objects of a class.
    func checkChange(_ operation: String, _ className: String, _ caller: Caller) throws(ParseError) {
        try caller.check(operation, of: className)
        try backend.permissions.checkClassCreation(className, caller)
    }

    /// Takes note of a request's id where the deployment wants it for the path.
    ///
    /// - Throws: 159 when the id was used before.
    public func claim(request id: String, path: String, _ context: RequestContext) async throws {
        let options = configuration.idempotencyOptions
        guard options.paths.contains(where: { Self.matches(path, $0) }) else { return }
        let end = ParseDate(milliseconds: context.now.milliseconds + Int64(options.ttl * 1000))
        let isNew = try await store.requests.claim(
            requestId: id, objectId: Identifiers.alphanumeric(10), until: end, now: context.now)
        guard isNew else { throw ParseError(ParseError.duplicateRequest, "Duplicate request") }
    }

    /// Patterns are anchored at the start of the path.
    private static func matches(_ path: String, _ pattern: String) -> Bool {
        RegularExpression(pattern)?.isPrefix(of: path) == true
    }
}

/// A call of a transaction, as far as it was carried out before the transaction began.
public enum TransactionStep: Sendable {
    /// It writes no object: all of it is left to do.
    case call
    /// Saves an object.
    case save(SavePipeline.Outcome)
    /// It removes an object.
    case delete(String, String, DeletePipeline.TriggerOutcome)
    /// Rejected.
    case refused(any Error)

    /// About how many bytes of stored objects it keeps.
    var keptSize: Int {
        switch self {
        case .save(.planned(let planned)): planned.save.original?.roughSize ?? 0
        case .delete(_, _, let outcome): outcome.original?.roughSize ?? 0
        case .call, .save(.answered), .refused: 0
        }
    }
}

/// What a call of a transaction came to, before it was committed.
public enum TransactionOutcome: Sendable {
    /// It wrote no object.
    case nothing
    /// It was a save in name only, and has its answer.
    case saved(WriteResult)
    /// An object was stored.
    case stored(StoredSave)
    /// An object was removed.
    case deleted(DeletePipeline.Planned)

    /// About how many bytes its answer takes.
    public var answerSize: Int {
        switch self {
        case .saved(let result): result.body.roughSize
        case .stored(let stored): stored.result.body.roughSize
        case .nothing, .deleted: 0
        }
    }

    /// About how many bytes of stored objects it keeps besides.
    public var keptSize: Int {
        switch self {
        case .stored(let stored): (stored.planned.save.original?.roughSize ?? 0) + (stored.change?.size ?? 0)
        case .deleted(let planned): (planned.outcome.original?.roughSize ?? 0) + (planned.change?.size ?? 0)
        case .nothing, .saved: 0
        }
    }
}

/// A call of a transaction that makes, changes or removes one object.
public struct TransactionWrite: Sendable {
    /// What becomes of the object.
    public enum Kind: Sendable {
        /// Creates it.
        case create
        /// Updates it.
        case update(objectId: String)
        /// Deletes it.
        case delete(objectId: String)
    }

    /// What becomes of the object.
    public var kind: Kind
    /// The object's class.
    public var className: String
    /// The object's sent fields.
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
