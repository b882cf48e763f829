import JSON
import ParseModel
import ParseStorage
import Rules

/// What a user, or a client without one, may do with a class and one of its objects, and by which rule.
public struct Allowances: Sendable, BackendPart {
    let backend: Backend

    /// Whether an operation is allowed, and why.
    public struct Allowance: Sendable {
        /// The operation.
        public let operation: ClassOperation
        /// Whether it is allowed.
        public let isAllowed: Bool
        /// The rules that decide, and those that hide fields.
        public let reasons: [PermissionReason]
    }

    /// What a caller may do. It is asked as the operations themselves ask: the database decides about an object.
    ///
    /// - Parameters:
    ///   - userId: The user; nil for a client without one.
    ///   - objectId: The object; nil for the class as a whole, where some operations may be allowed for some objects only.
    /// - Throws: 101 when there is no such user or object, 103 when there is no such class.
    public func allowances(of userId: String?, _ className: String, _ objectId: String?) async throws -> [Allowance] {
        guard let schema = catalog.schema(className) else {
            throw ParseError(ParseError.invalidClassName, "Class \(className) does not exist.")
        }
        var caller = Caller()
        if let userId { caller.user = try await backend.sessions.user(viewedAs: userId) }
        var object: JSONObject?
        if let objectId {
            object = try await self.object(schema, objectId, ReadAccess())
            guard object != nil else { throw ParseError.notFound }
        }
        var allowances: [Allowance] = []
        for operation in ClassOperation.allCases {
            allowances.append(try await allowance(operation, schema, object, caller))
        }
        return allowances
    }

    private func allowance(
        _ operation: ClassOperation, _ schema: ClassSchema, _ object: JSONObject?, _ caller: Caller
    ) async throws -> Allowance {
        do throws(ParseError) {
            try caller.check(operation.rawValue, of: schema.name)
            try ClassRules.reading(schema.name)?.authorize(caller)
        } catch {
            return Allowance(operation: operation, isAllowed: false, reasons: [PermissionReason(.master)])
        }
        let reasons = schema.reasons(operation, for: caller)
        let filter: Filter
        let access: ReadAccess
        do throws(ParseError) {
            filter = try schema.permit(operation, to: caller)
            let isOwn = caller.isOwn(schema.name, object?["objectId"]?.stringValue)
            access = try backend.permissions.readAccess(schema, operation, caller, isOwnUser: isOwn)
        } catch {
            return Allowance(operation: operation, isAllowed: false, reasons: reasons)
        }
        let isRead = [.find, .get, .count].contains(operation)
        guard operation != .create, let object, let id = object["objectId"]?.stringValue else {
            return Allowance(operation: operation, isAllowed: filter != .any([]), reasons: reasons)
        }
        if isRead {
            let visible = try await self.object(schema, id, access)
            var because = reasons.filter { points($0, in: object, to: caller) } + acl(object, "read", caller)
            if let visible {
                for field in object.keys.sorted() where visible[field] == nil {
                    because.append(PermissionReason(.protected, field: field))
                }
            }
            return Allowance(operation: operation, isAllowed: visible != nil, reasons: because)
        }
        let isAllowed = try await backend.store.canChange(
            schema.name, objectId: id,
            access: ObjectStore.WriteAccess(writers: caller.writePrincipals, filter: filter))
        return Allowance(
            operation: operation, isAllowed: isAllowed,
            reasons: reasons.filter { points($0, in: object, to: caller) } + acl(object, "write", caller))
    }

    /// An object as it is read with an access; nil where it is not visible.
    private func object(_ schema: ClassSchema, _ id: String, _ access: ReadAccess) async throws -> JSONObject? {
        var request = ObjectStore.FindRequest(className: schema.name, objectId: id)
        request.access = access
        request.shorten = access.readers == nil ? nil : 256
        return try await backend.store.find(request).objects.first
    }

    /// Whether a reason that names a field holds for an object; others always do.
    private func points(_ reason: PermissionReason, in object: JSONObject, to caller: Caller) -> Bool {
        guard reason.rule == .pointer, let field = reason.field, let value = object[field] else {
            return reason.rule != .pointer
        }
        return (value.arrayValue ?? [value]).contains { caller.isUser(Pointer(json: $0)?.objectId) }
    }

    /// What the ACL of an object says: whom of the caller's names it lets in, or that it lets none.
    private func acl(_ object: JSONObject, _ right: Name, _ caller: Caller) -> [PermissionReason] {
        guard let acl = object["ACL"]?.objectValue else { return [PermissionReason(.acl, who: "*")] }
        let who = caller.principals.filter { acl[$0]?[right]?.isTruthy == true }
        return who.isEmpty ? [PermissionReason(.acl)] : who.map { PermissionReason(.acl, who: $0) }
    }
}
