import JSON
internal import Operations
package import ParseModel
internal import ParseStorage
import Rules

/// Explains which operations a user or an anonymous client may perform on a class or one of its objects.
package struct Allowances: Sendable {
    let backend: Backend

    /// An operation's permission, with the rules behind it.
    package struct Allowance: Sendable {
        package let operation: ClassOperation
        package let isAllowed: Bool
        /// Whether the operation is allowed for only some objects of the class.
        var isLimited = false
        /// The rules that allow or deny the operation, and those that hide fields.
        package let reasons: [PermissionReason]
    }

    /// Returns the permission for each operation. Permissions on an object are tested in the database, under the same
    /// conditions as the operations themselves.
    ///
    /// - Parameters:
    ///   - userId: The user, or nil for an anonymous client.
    ///   - objectId: The object, or nil for the class as a whole.
    /// - Throws: 101 if the user or the object doesn't exist, 103 if the class doesn't exist.
    package func allowances(of userId: String?, _ className: String, _ objectId: String?) async throws -> [Allowance] {
        guard let schema = backend.catalog.schema(className) else { throw ParseError.missingClass(className) }
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
        func refused(_ reasons: [PermissionReason]) -> Allowance {
            Allowance(operation: operation, isAllowed: false, reasons: reasons)
        }
        do throws(ParseError) {
            try caller.check(operation == .count ? "find" : operation.rawValue, of: schema.name)
            try ReadRules.authorize(caller, toRead: schema.name)
        } catch {
            return refused([PermissionReason(.master)])
        }
        let reasons = schema.reasons(operation, for: caller)
        let filter: Filter
        let access: ReadAccess
        do throws(ParseError) {
            filter = try schema.permit(operation, to: caller)
            let isOwn = caller.isOwn(schema.name, object?["objectId"]?.stringValue)
            access = try backend.permissions.readAccess(schema, operation, caller, isOwnUser: isOwn)
        } catch {
            return refused(reasons)
        }
        if schema.name == "_User", [.update, .addField].contains(operation), caller.userId == nil {
            return refused([PermissionReason(.master)])
        }
        if let field = Self.ownField(operation, schema.name) {
            guard let userId = caller.userId else { return refused([PermissionReason(.master)]) }
            guard let value = object?[field] else {
                let isOwn = PermissionReason(.pointer, who: Name(userId), field: field)
                return Allowance(operation: operation, isAllowed: true, isLimited: true, reasons: [isOwn])
            }
            guard caller.isUser(Pointer(json: value)?.objectId ?? value.stringValue) else {
                return refused([PermissionReason(.pointer, field: field)])
            }
        }
        guard operation != .create, let object, let id = object["objectId"]?.stringValue else {
            guard filter != .any([]) else { return refused(reasons) }
            return Allowance(
                operation: operation, isAllowed: true, isLimited: filter != .everything, reasons: reasons)
        }
        let isRead = [.find, .get, .count].contains(operation)
        var visible: JSONObject?
        if isRead {
            visible = try await self.object(schema, id, access)
            guard visible != nil else { return refused(refusals(operation, schema, object, "read", caller)) }
        } else {
            let canChange = try await backend.store.canChange(
                schema.name, objectId: id,
                access: ObjectStore.WriteAccess(writers: caller.writePrincipals, filter: filter))
            guard canChange else { return refused(refusals(operation, schema, object, "write", caller)) }
        }
        if operation == .addField {
            // Adding a field to an object is an update.
            let update = try await allowance(.update, schema, object, caller)
            guard update.isAllowed else { return refused(update.reasons) }
        }
        var because = reasons.filter { points($0, in: object, to: caller) }
        because += acl(object, isRead ? "read" : "write", caller).map { PermissionReason(.acl, who: $0) }
        if let visible {
            for field in object.keys.sorted() where visible[field] == nil {
                because.append(PermissionReason(.protected, field: field))
            }
        }
        return Allowance(operation: operation, isAllowed: true, reasons: because)
    }

    /// The field that must name the caller, whatever the permissions say: users delete only themselves, and see and
    /// change only their own sessions.
    private static func ownField(_ operation: ClassOperation, _ className: String) -> Name? {
        switch (className, operation) {
        case ("_User", .delete): "objectId"
        case ("_Session", .create): nil
        case ("_Session", _): "user"
        default: nil
        }
    }

    private func refusals(
        _ operation: ClassOperation, _ schema: ClassSchema, _ object: JSONObject, _ right: Name, _ caller: Caller
    ) -> [PermissionReason] {
        let reasons = schema.reasons(operation, for: caller)
        var refusals: [PermissionReason] = []
        if !reasons.contains(where: { $0.who != nil && points($0, in: object, to: caller) }) {
            let pointers = reasons.filter { $0.rule == .pointer }
            refusals += pointers.map { PermissionReason(.pointer, field: $0.field) } + [schema.refusal(operation)]
        }
        if let acl = object["ACL"]?.objectValue, self.acl(object, right, caller).isEmpty {
            let allows = acl.keys.filter { acl[$0]?[right]?.isTruthy == true }.sorted()
            refusals.append(PermissionReason(.acl, allows: allows))
        }
        return refusals.isEmpty ? [PermissionReason(.master)] : refusals
    }

    private func object(_ schema: ClassSchema, _ id: String, _ access: ReadAccess) async throws -> JSONObject? {
        var request = ObjectStore.FindRequest(className: schema.name, objectId: id)
        request.access = access
        request.shorten = access.readers == nil ? nil : 256
        return try await backend.store.find(request).objects.first
    }

    /// Whether the reason applies to the object. Only pointer permissions depend on the object.
    private func points(_ reason: PermissionReason, in object: JSONObject, to caller: Caller) -> Bool {
        guard reason.rule == .pointer, let field = reason.field, let value = object[field] else {
            return reason.rule != .pointer
        }
        return (value.arrayValue ?? [value]).contains { caller.isUser(Pointer(json: $0)?.objectId) }
    }

    private func acl(_ object: JSONObject, _ right: Name, _ caller: Caller) -> [Name] {
        guard let acl = object["ACL"]?.objectValue else { return ["*"] }
        return caller.principals.filter { acl[$0]?[right]?.isTruthy == true }
    }
}
