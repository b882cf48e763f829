import JSON
import ParseModel
import ParseStorage

/// What is done for a transaction before its first change, so that it holds its connection and its locks for a short time,
/// and takes the locks in the order in which every other transaction does.
extension Backend {
    /// Makes the fields that the calls of a transaction need, before it begins.
    ///
    /// A field is made where the caller may make it, as far as that can be known before the calls before it are carried
    /// out. Refusals are left to the calls themselves, in their order.
    ///
    /// - Parameter writes: The calls; nil for those that write no object.
    /// - Throws: 124 when a class is in use for too long.
    public func prepareFields(_ writes: [TransactionWrite?], _ context: RequestContext) async throws {
        for case let write? in writes {
            do {
                try await prepareFields(write, among: writes, context)
            } catch let error as ParseError where error.code != ParseError.timeout {
                // The call itself is refused with it, if those before it are not.
            }
        }
    }

    /// Makes the class and the fields that a write needs, where the caller may.
    private func prepareFields(_ write: TransactionWrite, among writes: [TransactionWrite?], _ context: RequestContext)
        async throws
    {
        let caller = context.caller
        let className = write.className
        var body = write.body
        if className == "_User" {
            for name in ["password", "authData"] { body[name] = nil }
            _ = try takeInternalFields(&body, caller)
        }
        switch write.kind {
        case .create:
            try checkCreation(className, body, caller)
            if let known = catalog.schema(className) { _ = try permit(.create, on: known, caller) }
            _ = try await prepare(
                className, try operations(body, className, isCreating: true), caller, isCreating: true)
        case .update(let objectId):
            try checkChange("update", className, caller)
            guard let known = catalog.schema(className) else { return }
            try checkKeywords(body)
            try checkFileLinks(.object(body))
            _ = try permit(.update, on: known, caller)
            let isMadeBefore = writes.contains { other in
                guard let other, case .create = other.kind else { return false }
                return other.className == className && other.body["objectId"]?.stringValue == objectId
            }
            _ = try await prepare(
                className, try operations(body, className, isCreating: false), caller, isCreating: false,
                objectId: isMadeBefore ? nil : objectId)
        case .delete: break
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
            if write.className == "_User" { names.formUnion(claimedNames(write.body)) }
        }
        try await store.lock(rows, after: Self.claims(names))
    }

    private func lockedRow(
        _ className: String, _ objectId: String, _ operation: ClassOperation, _ caller: Caller
    ) -> ObjectStore.LockedRow? {
        guard let schema = catalog.schema(className), !objectId.utf8.contains(0),
            (try? checkChange(operation.rawValue, className, caller)) != nil,
            var filter = try? permit(operation, on: schema, caller)
        else { return nil }
        if className == "_Session", !caller.writesEverything {
            // Sessions have no ACL, and are changed by their own users.
            guard let userId = caller.userId else { return nil }
            filter = filter.and(Self.sessions(of: userId))
        }
        return ObjectStore.LockedRow(
            className: className, objectId: objectId,
            access: ObjectStore.WriteAccess(writers: caller.writePrincipals, filter: filter))
    }

    /// Refuses what nobody with the caller's keys may do with objects of a class.
    private func checkChange(_ operation: String, _ className: String, _ caller: Caller) throws(ParseError) {
        try checkClass(className, operation, caller)
        guard caller.power != .readOnlyMaster else {
            throw .denied(
                ParseError.operationForbidden, "Cannot perform a write operation when using readOnlyMasterKey")
        }
        try checkClassCreation(className, caller)
    }
}
