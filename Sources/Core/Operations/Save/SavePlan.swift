import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

public struct WriteResult: Sendable {
    /// 201 for a new object, 200 for an existing one.
    public var status: Int
    /// The URL for the `Location` header, or nil to send none.
    public var location: String?
    /// The members of the response.
    public var body: JSONObject
    /// A trigger's response that replaces the members, or nil if no trigger set one.
    public var replacement: JSONValue?
    /// The changed object for observers and after-triggers, or nil if neither wants it.
    var change: ObjectStore.ChangedObject?

    /// The response body.
    public var answer: JSONValue { replacement ?? .object(body) }
}

extension ParseError {
    /// Returns the error for a field whose value must be a string.
    static func expectedString(_ field: String, _ value: JSONValue) throws(ParseError) -> ParseError {
        let type = try FieldType.inferred(from: value) ?? .object
        return ParseError(incorrectType, "schema mismatch for \(field); expected String but got \(type)")
    }
}

/// Plans and stores writes, by the rules common to all classes.
public struct Saving: Sendable, BackendPart {
    let backend: Backend

    /// Checks a save against its class, creates missing fields and returns the write.
    ///
    /// - Throws: 101 or 119 if the caller may not save the object, and `ParseError` if the object is invalid.
    func plan(_ save: Save) async throws -> PlannedWrite {
        try await services.clock.approach(save.context.now)
        if let objectId = save.objectId { return try await planUpdate(save, objectId) }
        return try await planInsert(save)
    }

    private func planInsert(_ save: Save) async throws -> PlannedWrite {
        let (caller, className) = (save.caller, save.className)
        let objectId = try save.newId ?? newObjectId(save.body, className)
        var operations = try WrittenFields.operations(save.body, className, isCreating: true)
        if let known = catalog.schema(className) { _ = try known.permit(.create, to: caller) }
        try ObjectDates.check(save.body, className, caller)
        let schema = try await prepare(className, operations, caller, isCreating: true).schema
        var write = ObjectWrite()
        write.acl = try save.acl ?? ObjectACL.requested(save.body["ACL"])
        let preset = write.acl == nil ? ObjectACL.preset(schema, caller) : nil
        if let preset { write.acl = preset }
        let filled = try WrittenFields.applyDefaults(&operations, hasACL: write.acl != nil, schema, isCreating: true)
        let (createdAt, updatedAt) = try ObjectDates.ofNew(save.body, save.context)
        write.createdAt = createdAt
        write.updatedAt = updatedAt
        write.operations = operations
        write.hidden = save.hidden
        write.sizeLimit = sizeLimit(save)
        var answer: JSONObject = ["objectId": .string(objectId), "createdAt": .string(createdAt.iso)]
        // If the request also writes a part of a default value, the stored value isn't known here, so the response
        // omits it.
        let parts =
            filled.isEmpty
            ? [] : Set(operations.keys.map { FieldPath($0) }.filter { !$0.steps.isEmpty }.map(\.root).names)
        for name in filled where !parts.contains(Name(name)) {
            answer[name] = operations[name]?.valueOnCreate.map(Self.closed)
        }
        for (key, operation) in operations where operation.isEchoed && FieldPath(key).steps.isEmpty {
            answer[key] = operation.valueOnCreate
        }
        if let preset { answer["ACL"] = .object(preset.json) }
        return PlannedWrite(
            className: className, objectId: objectId, write: write,
            result: WriteResult(status: 201, location: location(className, objectId, save.context), body: answer))
    }

    private func sizeLimit(_ save: Save) -> Int? {
        save.caller.writesEverything && !save.isOfClient ? nil : configuration.maxObjectSize
    }

    /// Returns the URL of an object for the `Location` header.
    func location(_ className: String, _ objectId: String, _ context: RequestContext) -> String {
        let base = configuration.publicServerURL ?? context.mountURL
        return "\(base)/\(ClassPath.path(of: className))/\(objectId)"
    }

    /// Closes a polygon's ring, since the response contains the stored form.
    private static func closed(_ value: JSONValue) -> JSONValue {
        guard case .object(var polygon) = value, polygon["__type"] == "Polygon",
            let corners = polygon["coordinates"]?.arrayValue, let first = corners.first, first != corners.last
        else { return value }
        polygon["coordinates"] = .array(corners + [first])
        return .object(polygon)
    }

    private func planUpdate(_ save: Save, _ objectId: String) async throws -> PlannedWrite {
        let (caller, className) = (save.caller, save.className)
        var operations = try WrittenFields.operations(save.body, className, isCreating: false)
        var filter = Filter.everything
        if let known = catalog.schema(className) { filter = try known.permit(.update, to: caller) }
        try ObjectDates.check(save.body, className, caller)
        let (schema, addFilter) = try await prepare(
            className, operations, caller, isCreating: false, objectId: save.isMadeInTransaction ? nil : objectId)
        let removesACL = save.body["ACL"].map { $0.isNull || $0["__op"] != nil } ?? false
        _ = try WrittenFields.applyDefaults(&operations, hasACL: !removesACL, schema, isCreating: false)
        var write = ObjectWrite()
        write.operations = operations
        write.hidden = save.hidden
        write.sizeLimit = sizeLimit(save)
        write.acl = try save.acl ?? ObjectACL.requested(save.body["ACL"])
        write.updatedAt = save.context.now
        return PlannedWrite(
            className: className, objectId: objectId, write: write,
            access: ObjectStore.WriteAccess(
                writers: caller.writePrincipals, filter: filter.and(addFilter).and(save.condition)),
            echoed: operations.filter { $0.value.isEchoed }.keys.elements,
            result: WriteResult(status: 200, location: nil, body: [:]))
    }

    /// Stores a write.
    ///
    /// - Throws: 101 if the object doesn't exist or the caller may not change it.
    func carryOut(_ planned: PlannedWrite, _ context: RequestContext) async throws -> WriteResult {
        let wants = backend.saveTriggers.changeWants(planned.className)
        guard let access = planned.access else {
            var result = planned.result
            if wants.contains(.current) {
                result.change = try await store.insert(
                    [(planned.className, planned.objectId, planned.write)], wants: { _ in wants }
                ).first
            } else {
                try await store.insert(planned.className, objectId: planned.objectId, planned.write)
            }
            services.clock.record(context.now)
            return result
        }
        let updated = try await store.update(
            planned.className, objectId: planned.objectId, planned.write, access: access,
            echo: Array(Set(planned.echoed.map { FieldPath($0).root })), links: backend.links(context), wants: wants)
        guard let updated else { throw ParseError.notFound }
        let changed = updated.echoed
        services.clock.record(context.now)
        var answer = planned.result.body
        for key in planned.echoed {
            let path = FieldPath(key)
            guard let value = changed[path.root] else { continue }
            answer[path.root] =
                path.steps.isEmpty ? value : Self.branch(path.steps[...], of: value, into: answer[path.root])
        }
        answer["updatedAt"] = .string(context.now.iso)
        return WriteResult(status: planned.result.status, location: nil, body: answer, change: updated.change)
    }

    private static func branch(_ steps: ArraySlice<String>, of value: JSONValue, into known: JSONValue?) -> JSONValue {
        guard let step = steps.first else { return value }
        guard let object = value.objectValue else { return value }
        var branch = known?.objectValue ?? [:]
        if let member = object[step] { branch[step] = self.branch(steps.dropFirst(), of: member, into: branch[step]) }
        return .object(branch)
    }

    /// Returns the id of a new object: the client's if custom ids are allowed, or a random id.
    ///
    /// - Throws: `ParseError` if the client's id is invalid or not allowed.
    func newObjectId(_ body: JSONObject, _ className: String) throws(ParseError) -> String {
        guard configuration.allowCustomObjectId else {
            for key in ["objectId", "id"] {
                if let value = body[key], value.isTruthy {
                    throw ParseError(ParseError.invalidKeyName, "\(key) is an invalid field name.")
                }
            }
            return Identifiers.alphanumeric(configuration.objectIdSize)
        }
        guard let given = body["objectId"] else { return Identifiers.alphanumeric(configuration.objectIdSize) }
        guard given.isTruthy else {
            throw ParseError(ParseError.missingObjectId, "objectId must not be empty, null or undefined")
        }
        guard let id = given.stringValue else { throw try ParseError.expectedString("\(className).objectId", given) }
        guard className != "_User" || !Principal.isReserved(Name(id)) else {
            throw ParseError(ParseError.operationForbidden, "Invalid object ID.")
        }
        return id
    }

    /// Response members that aren't fields, or are never protected.
    private static let alwaysShown: Set<Name> = [
        "objectId", "createdAt", "updatedAt", "sessionToken", "authDataResponse",
    ]

    /// Removes protected fields from a save's response if `protectedFieldsSaveResponseExempt` is off.
    ///
    /// - Parameter objectId: The id of the object, or nil for a new object, whose response contains the id.
    func redacted(
        _ result: WriteResult, _ className: String, _ objectId: String?, _ context: RequestContext
    ) async throws -> WriteResult {
        let caller = context.caller
        guard !configuration.protectedFieldsSaveResponseExempt, !caller.readsEverything,
            let schema = catalog.schema(className), let id = objectId ?? result.body["objectId"]?.stringValue
        else { return result }
        var access = ReadAccess()
        services.protectedFields.protect(schema, caller, isOwnUser: caller.isOwn(className, id), &access)
        let doubtful = access.hidden.intersection(result.body.keys).subtracting(Self.alwaysShown)
        guard !doubtful.isEmpty else { return result }
        // A field of the object can determine who sees its protected fields, so the object is read.
        var request = ObjectStore.FindRequest(className: className, objectId: id)
        request.access = access
        let visible = try await store.find(request).objects.first ?? [:]
        var redacted = result
        for name in doubtful where visible[name] == nil { redacted.body[name] = nil }
        return redacted
    }
}
