import JSON
import ParseModel
import ParseStorage
import Rules

/// Saves installations so that each device has one row. The same transaction deletes duplicates, or removes the id that
/// they share with that row.
struct InstallationRules: SaveRules {
    var backend: Backend

    private var device = DeviceIdentity()
    /// Whether the save is new or contains an id or the type of its device, so it may change another row.
    private var namesDevice = true

    init(backend: Backend) { self.backend = backend }

    /// - Throws: The errors of ``Installations/normalized(_:)``.
    mutating func authorize(_ save: inout Save) async throws -> WriteResult? {
        save.body = try Installations.normalized(save.body)
        return nil
    }

    mutating func complete(_ save: inout Save) async throws {
        save.body = try Installations.normalized(save.body)
        let body = save.body
        device = DeviceIdentity(body, save.caller)
        namesDevice =
            save.isNew || body["installationId"]?.stringValue != nil || device.deviceToken != nil
            || body["deviceType"] != nil
        if save.isNew, device.deviceToken == nil, device.installationId == nil {
            throw ParseError(
                135, "at least one ID field (deviceToken, installationId) must be specified in this operation")
        }
        guard namesDevice else { return }
        if let schema = catalog.schema("_Installation") {
            _ = try schema.permit(save.isNew ? .create : .update, to: save.caller)
        }
        // Missing fields are created first, because a transaction that has read the table would block its own schema
        // change.
        _ = try await backend.saving.prepare(
            "_Installation", try WrittenFields.operations(body, "_Installation", isCreating: save.isNew), save.caller,
            isCreating: save.isNew, objectId: save.isMadeInTransaction ? nil : save.objectId)
    }

    var plansWhileStoring: Bool { namesDevice }

    /// - Throws: The errors of `InstallationResolution.resolve` and of saving.
    func store(_ planned: PlannedSave) async throws -> WriteResult {
        guard namesDevice else { return try await backend.saving.carryOut(planned) }
        return try await backend.transaction(conflictKey: device.installationId ?? device.deviceToken) {
            [device] backend in
            try await backend.installations.lock(device)
            let save = planned.save
            let rows = try await backend.installations.rows(save.objectId, device)
            let resolution = try InstallationResolution.resolve(
                save.objectId, device, save.body, among: rows, kept: backend.configuration.installation.kept)
            if let duplicates = resolution.duplicates {
                try await backend.installations.retire(duplicates, save.context)
            }
            guard let target = resolution.target else {
                return try await backend.saving.carryOut(try await backend.saving.plan(save), save.context)
            }
            var body = save.body
            for key in ["objectId", "createdAt", "updatedAt"] { body[key] = nil }
            var change = Save("_Installation", target, body, save.context)
            change.condition = save.condition
            var result = try await backend.saving.carryOut(try await backend.saving.plan(change), save.context)
            if save.isNew, backend.configuration.preset >= 9 {
                // The client has no other way to learn the id of its device's row.
                result.body["objectId"] = .string(target)
                result.body["createdAt"] = rows.first { $0.id.hasSameBytes(as: target) }?.createdAt
            }
            return result
        }
    }
}
