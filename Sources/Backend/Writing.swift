import JSON
import OrderedCollections
import ParseModel
import ParseStorage

/// What a write gives back.
public struct WriteResult: Sendable {
    /// 201 for a new object, 200 for one that was there.
    public var status: Int
    /// The URL of the object, for a new one.
    public var location: String?
    /// The answer's members.
    public var body: JSONObject
}

/// Creating, changing and removing objects.
extension Backend {
    /// Makes an object of a class.
    public func create(_ className: String, _ body: JSONObject, _ context: RequestContext) async throws -> WriteResult {
        try checkCreation(className, body, context.caller)
        switch className {
        case "_User": return try await createUser(body, context)
        case "_Session": return try await createSession(body, context)
        case "_Installation": return try await saveInstallation(nil, body, context)
        default:
            let result = try await insert(className, body, context)
            if className == "_Role" { await forgetRoles() }
            return result
        }
    }

    /// Makes several objects of ordinary classes, in one round trip where that is possible.
    ///
    /// - Returns: What became of each, in its place: one that is refused does not keep the others from being made.
    public func createAll(_ objects: [(className: String, body: JSONObject)], _ context: RequestContext) async throws
        -> [Result<WriteResult, any Error>]
    {
        var outcomes: [Result<WriteResult, any Error>] = []
        var inserts: [(place: Int, insert: PreparedInsert)] = []
        for object in objects {
            do {
                try checkCreation(object.className, object.body, context.caller)
                let insert = try await prepareInsert(object.className, object.body, context)
                inserts.append((outcomes.count, insert))
                outcomes.append(.success(insert.result))
            } catch {
                outcomes.append(.failure(error))
            }
        }
        do {
            try await store.insert(
                inserts.map { ($0.insert.className, $0.insert.objectId, $0.insert.write) })
        } catch let error as ParseError where error.code == ParseError.internalServerError {
            // The database did not answer: whether anything was made is not known, so nothing is said to be.
            for (place, _) in inserts { outcomes[place] = .failure(error) }
        } catch {
            // Nothing was made. One by one, each fails or succeeds for itself.
            for (place, insert) in inserts {
                do {
                    try await store.insert(insert.className, objectId: insert.objectId, insert.write)
                } catch {
                    outcomes[place] = .failure(error)
                }
            }
        }
        return outcomes
    }

    /// Checks what can be said of a new object before its class is looked at.
    func checkCreation(_ className: String, _ body: JSONObject, _ caller: Caller) throws(ParseError) {
        try checkClass(className, "create", caller)
        guard caller.power != .readOnlyMaster else {
            throw .denied(
                ParseError.operationForbidden, "Cannot perform a write operation when using readOnlyMasterKey")
        }
        try checkClassCreation(className, caller)
        try checkKeywords(body)
        try checkFileLinks(.object(body))
    }

    /// A new object that passed every rule, and the answer that says so once it is stored.
    private struct PreparedInsert {
        var className: String
        var objectId: String
        var write: ObjectWrite
        var result: WriteResult
    }

    /// Makes an object as it stands, by the rules that hold for every class.
    ///
    /// - Parameters:
    ///   - hidden: Values of columns that no schema lists.
    ///   - acl: The ACL when it is not the body's.
    ///   - id: The id when it is decided already.
    func insert(
        _ className: String, _ body: JSONObject, _ context: RequestContext,
        hidden: OrderedDictionary<Name, JSONValue> = [:], acl: ACL? = nil, id: String? = nil
    ) async throws -> WriteResult {
        let insert = try await prepareInsert(className, body, context, hidden: hidden, acl: acl, id: id)
        try await store.insert(className, objectId: insert.objectId, insert.write)
        return insert.result
    }

    private func prepareInsert(
        _ className: String, _ body: JSONObject, _ context: RequestContext,
        hidden: OrderedDictionary<Name, JSONValue> = [:], acl: ACL? = nil, id: String? = nil
    ) async throws -> PreparedInsert {
        let caller = context.caller
        let objectId = try id ?? newObjectId(body, className)
        var operations = try operations(body, className, isCreating: true)
        if let known = catalog.schema(className) { _ = try permit(.create, on: known, caller) }
        try Self.checkDates(body, className, caller)
        let schema = try await prepare(className, operations, caller, isCreating: true).schema
        var write = ObjectWrite()
        write.acl = try acl ?? Self.acl(body["ACL"])
        var echo: JSONObject = [:]
        if write.acl == nil, let preset = Self.defaultACL(schema, caller) {
            write.acl = preset
            echo["ACL"] = .object(preset.json)
        }
        let filled = try applyDefaults(
            &operations, hasACL: write.acl != nil, schema, isCreating: true)
        let (createdAt, updatedAt) = try creationDates(body, context)
        write.createdAt = createdAt
        write.updatedAt = updatedAt
        write.operations = operations
        write.hidden = hidden
        var answer: JSONObject = ["objectId": .string(objectId), "createdAt": .string(createdAt.iso)]
        for name in filled { answer[name] = operations[name]?.valueOnCreate.map(Self.closed) }
        for (key, operation) in operations where operation.isEchoed && FieldPath(key).steps.isEmpty {
            answer[key] = operation.valueOnCreate
        }
        for (key, value) in echo { answer[key] = value }
        let base = configuration.publicServerURL ?? context.mountURL
        let path = className == "_User" ? "users" : "classes/\(className)"
        return PreparedInsert(
            className: className, objectId: objectId, write: write,
            result: WriteResult(status: 201, location: "\(base)/\(path)/\(objectId)", body: answer))
    }

    /// A value as it is stored and will be read: the ring of a polygon is closed.
    private static func closed(_ value: JSONValue) -> JSONValue {
        guard case .object(var polygon) = value, polygon["__type"] == "Polygon",
            let corners = polygon["coordinates"]?.arrayValue, let first = corners.first, first != corners.last
        else { return value }
        polygon["coordinates"] = .array(corners + [first])
        return .object(polygon)
    }

    /// Changes an object.
    public func update(_ className: String, _ objectId: String, _ body: JSONObject, _ context: RequestContext)
        async throws -> WriteResult
    {
        let caller = context.caller
        try checkClass(className, "update", caller)
        guard caller.power != .readOnlyMaster else {
            throw ParseError.denied(
                ParseError.operationForbidden, "Cannot perform a write operation when using readOnlyMasterKey")
        }
        try checkClassCreation(className, caller)
        try checkKeywords(body)
        try checkFileLinks(.object(body))
        switch className {
        case "_User": return try await updateUser(objectId, body, context)
        case "_Session": return try await updateSession(objectId, body, context)
        case "_Installation": return try await saveInstallation(objectId, body, context)
        default:
            let answer = try await modify(className, objectId, body, context)
            if className == "_Role" { await forgetRoles() }
            return WriteResult(status: 200, location: nil, body: answer)
        }
    }

    /// Changes an object by the rules that hold for every class, and gives the members of the answer.
    ///
    /// - Throws: 101 when there is no such object or the caller may not change it.
    func modify(
        _ className: String, _ objectId: String, _ body: JSONObject, _ context: RequestContext,
        hidden: OrderedDictionary<Name, JSONValue> = [:], acl: ACL? = nil
    ) async throws -> JSONObject {
        let caller = context.caller
        var operations = try operations(body, className, isCreating: false)
        var filter = Filter.everything
        if let known = catalog.schema(className) { filter = try permit(.update, on: known, caller) }
        try Self.checkDates(body, className, caller)
        let (schema, addFilter) = try await prepare(
            className, operations, caller, isCreating: false, objectId: objectId)
        let removesACL = body["ACL"].map { $0.isNull || $0["__op"] != nil } ?? false
        _ = try applyDefaults(&operations, hasACL: !removesACL, schema, isCreating: false)
        var write = ObjectWrite()
        write.operations = operations
        write.hidden = hidden
        write.acl = try acl ?? Self.acl(body["ACL"])
        write.updatedAt = context.now
        let echoed = operations.filter { $0.value.isEchoed }.keys
        let changed = try await store.update(
            className, objectId: objectId, write,
            access: ObjectStore.WriteAccess(
                writers: caller.writePrincipals, filter: filter.and(addFilter)),
            echo: Array(Set(echoed.map { FieldPath($0).root })), links: links(context))
        guard let changed else { throw ParseError.notFound }
        var answer: JSONObject = [:]
        for key in echoed {
            let path = FieldPath(key)
            guard let value = changed[path.root] else { continue }
            answer[path.root] =
                path.steps.isEmpty ? value : Self.branch(path.steps[...], of: value, into: answer[path.root])
        }
        answer["updatedAt"] = .string(context.now.iso)
        return answer
    }

    /// The part of a value that a dotted key names, with the objects around it.
    private static func branch(_ steps: ArraySlice<String>, of value: JSONValue, into known: JSONValue?) -> JSONValue {
        guard let step = steps.first else { return value }
        guard let object = value.objectValue else { return value }
        var branch = known?.objectValue ?? [:]
        if let member = object[step] { branch[step] = self.branch(steps.dropFirst(), of: member, into: branch[step]) }
        return .object(branch)
    }

    /// Removes an object.
    ///
    /// - Throws: 101 when there is no such object or the caller may not remove it.
    public func delete(_ className: String, _ objectId: String, _ context: RequestContext) async throws {
        let caller = context.caller
        try checkClass(className, "delete", caller)
        guard caller.power != .readOnlyMaster else {
            throw ParseError.denied(
                ParseError.operationForbidden, "Cannot perform a write operation when using readOnlyMasterKey")
        }
        try checkClassCreation(className, caller)
        guard let schema = catalog.schema(className) else { throw ParseError.notFound }
        if className == "_User", !caller.writesEverything {
            guard let userId = caller.userId else {
                throw ParseError(ParseError.sessionMissing, "Insufficient auth to delete user")
            }
            guard userId.hasSameBytes(as: objectId) else {
                throw ParseError.denied(ParseError.sessionMissing, "Insufficient auth.")
            }
        }
        if className == "_Session", !caller.writesEverything { try await checkOwnSession(objectId, caller) }
        let filter = try permit(.delete, on: schema, caller)
        let owner = className == "_Session" ? try await sessionOwner(objectId) : nil
        let isDeleted = try await store.delete(
            className, objectId: objectId,
            access: ObjectStore.WriteAccess(writers: caller.writePrincipals, filter: filter))
        guard isDeleted else {
            throw className == "_Session"
                ? ParseError(ParseError.objectNotFound, "Object not found for delete.") : ParseError.notFound
        }
        switch className {
        case "_User": await forget(user: objectId)
        case "_Session": if let owner { await forget(user: owner) }
        case "_Role": await forgetRoles()
        default: break
        }
    }

    /// The id of a new object: the client's, where it may choose one, or a random one.
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
        guard let id = given.stringValue ?? given.numberValue.map({ JSONValue.number($0).text }), !id.isEmpty else {
            throw ParseError(ParseError.missingObjectId, "objectId must not be empty, null or undefined")
        }
        guard className != "_User" || !Principal.isReserved(Name(id)) else {
            throw ParseError(ParseError.operationForbidden, "Invalid object ID.")
        }
        return id
    }

    /// The ACL that a body asks for; nil when it asks for none.
    ///
    /// What is neither an object nor absent lets nobody in, rather than everybody.
    static func acl(_ value: JSONValue?) throws(ParseError) -> ACL? {
        switch value {
        case nil, .null: return nil
        case .object(let object) where object["__op"] == nil: return try ACL(json: object)
        case .some(let value): return value.isTruthy ? ACL() : nil
        }
    }

    /// The ACL that the class gives to objects without one; nil where it gives none.
    static func defaultACL(_ schema: ClassSchema, _ caller: Caller) -> ACL? {
        guard let preset = schema.permissions?.defaultACL, preset != ["*": ["read": true, "write": true]] else {
            return nil
        }
        var object: JSONObject = [:]
        for (principal, flags) in preset {
            if principal == "currentUser" {
                if let userId = caller.userId, !Principal.isReserved(Name(userId)) { object[userId] = flags }
            } else {
                object[principal] = flags
            }
        }
        return try? ACL(json: object)
    }

    /// Dates of the object itself may be sent, as dates, and are the server's all the same.
    ///
    /// Scripts that move apps send them as they were read: as plain texts, which the keys of servers may.
    private static func checkDates(_ body: JSONObject, _ className: String, _ caller: Caller) throws(ParseError) {
        for name in ["createdAt", "updatedAt"] {
            guard let value = body[name], let type = try FieldType.inferred(from: value), type != .date else {
                continue
            }
            if caller.writesEverything, let text = value.stringValue, ParseDate(iso: text) != nil { continue }
            throw ParseError(
                ParseError.incorrectType, "schema mismatch for \(className).\(name); expected Date but got \(type)")
        }
    }

    /// When a new object was made: now, or what the maintenance key says.
    private func creationDates(_ body: JSONObject, _ context: RequestContext) throws(ParseError)
        -> (created: ParseDate, updated: ParseDate)
    {
        func date(_ name: String) -> ParseDate? {
            (body[name]?["iso"] ?? body[name])?.stringValue.flatMap(ParseDate.init(iso:))
        }
        guard context.caller.power == .maintenance, let created = date("createdAt") else {
            return (context.now, context.now)
        }
        let updated = date("updatedAt") ?? created
        guard updated >= created else {
            throw ParseError(ParseError.validationError, "updatedAt cannot occur before createdAt")
        }
        return (created, updated)
    }
}
