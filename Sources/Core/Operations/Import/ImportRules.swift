import JSON
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// Saves a row of an export with its original id, dates and ACL. Calls no triggers and accepts password hashes.
struct ImportRules: SaveRules {
    var backend: Backend

    let row: ImportRow

    mutating func callBefore(_ save: inout Save) async throws {}

    mutating func complete(_ save: inout Save) async throws {
        save.hidden = row.hidden
        save.acl = row.acl
        guard save.className == "_User" else { return }
        backend.users.normalizeNames(&save.body)
        if let password = row.password {
            try PasswordRules.check(
                password, username: save.body["username"]?.stringValue, configuration.passwordPolicy,
                refusesUncompared: false)
            save.hidden["_hashed_password"] = .string(
                try await services.passwords.hash(password, from: save.context.address))
        }
        if save.isNew, save.acl == nil {
            save.acl = try ObjectACL.ofUser(
                nil, objectId: save.newId ?? "", isPrivate: configuration.enforcePrivateUsers)
        }
    }

    /// Only rows without an id get the class's defaults and default ACL, and must have the required fields. A new user
    /// with an id but no ACL still gets the default ACL of users.
    func plan(_ save: Save) async throws -> PlannedWrite {
        let (className, isNew) = (save.className, save.isNew)
        var operations = try WrittenFields.operations(save.body, className, isCreating: isNew)
        let schema = try await backend.saving.prepare(className, operations, save.caller, isCreating: isNew).schema
        var write = ObjectWrite()
        write.hidden = save.hidden
        write.acl = save.acl
        if row.objectId == nil {
            write.acl = write.acl ?? ObjectACL.preset(schema, save.caller)
            _ = try WrittenFields.applyDefaults(&operations, hasACL: write.acl != nil, schema, isCreating: true)
        }
        write.operations = operations
        if let objectId = save.objectId {
            let updatedAt = row.updatedAt ?? save.context.now
            write.createdAt = row.createdAt
            write.updatedAt = updatedAt
            return PlannedWrite(
                className: className, objectId: objectId, write: write, access: ObjectStore.WriteAccess(),
                result: WriteResult(status: 200, location: nil, body: ["updatedAt": .string(updatedAt.iso)]))
        }
        let objectId = save.newId ?? Identifiers.alphanumeric(configuration.objectIdSize)
        let createdAt = row.createdAt ?? row.updatedAt ?? save.context.now
        write.createdAt = createdAt
        write.updatedAt = row.updatedAt ?? createdAt
        return PlannedWrite(
            className: className, objectId: objectId, write: write,
            result: WriteResult(
                status: 201, location: backend.saving.location(className, objectId, save.context),
                body: ["objectId": .string(objectId), "createdAt": .string(createdAt.iso)]))
    }
}
