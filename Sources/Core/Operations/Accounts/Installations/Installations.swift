import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// Device installations, one row per device.
public struct Installations: Sendable, BackendPart {
    let backend: Backend

    /// Returns the body with `installationId` and APNs-style device tokens (64 characters) in lower case.
    ///
    /// - Throws: 111 if an id isn't a string, null or a deletion, because a query operator such as `$ne` could select
    ///   other devices' rows; 107 if an id contains NUL.
    static func normalized(_ given: JSONObject) throws(ParseError) -> JSONObject {
        var body = given
        for key in ["installationId", "deviceToken", "appIdentifier"] {
            guard let value = body[key], !value.isNull, value.stringValue == nil else { continue }
            if value["__op"] == "Delete" { continue }
            throw try ParseError.expectedString("_Installation.\(key)", value)
        }
        for key in ["installationId", "deviceToken", "appIdentifier"] {
            if let text = body[key]?.stringValue { _ = try ValueText.checked(text) }
        }
        if let token = body["deviceToken"]?.stringValue, token.count == 64 {
            body["deviceToken"] = .string(token.lowercased())
        }
        if let id = body["installationId"]?.stringValue { body["installationId"] = .string(id.lowercased()) }
        return body
    }

    /// Locks a device's ids until the transaction ends, so writes of the same device run one after the other.
    func lock(_ device: DeviceIdentity) async throws {
        let names = [device.installationId.map { "id:\($0)" }, device.deviceToken.map { "token:\($0)" }]
        for name in names.compactMap({ $0 }) {
            try await store.accounts.claim(device: name)
        }
    }

    /// Deletes the rows of a device's former registrations, or removes the id that they share with the device's row.
    func retire(_ duplicates: InstallationDuplicates, _ context: RequestContext) async throws {
        let options = configuration.installation
        var access = ObjectStore.WriteAccess()
        if options.enforcesCaller {
            guard let schema = catalog.schema("_Installation") else { return }
            let operation: ClassOperation = options.action == .delete ? .delete : .update
            // Rows that the caller may not change are left unchanged.
            guard let filter = try? schema.permit(operation, to: context.caller) else { return }
            access = ObjectStore.WriteAccess(writers: context.caller.writePrincipals, filter: filter)
        }
        switch options.action {
        case .delete: try await store.deleteAll("_Installation", where: duplicates.filter, access)
        case .update:
            var request = ObjectStore.FindRequest(className: "_Installation")
            request.filter = duplicates.filter
            request.keys = ["objectId"]
            var write = ObjectWrite()
            write.operations = [Name(duplicates.shared): .delete]
            write.updatedAt = context.now
            for row in try await store.find(request).objects {
                guard let id = row["objectId"]?.stringValue else { continue }
                _ = try await store.update("_Installation", objectId: id, write, access: access)
            }
        }
    }

    /// Returns the id of the row that a save of a new installation would update, judging by the rows stored now, or nil
    /// if it would create a row or fail.
    func same(_ save: Save) async throws -> String? {
        let device = DeviceIdentity(try Self.normalized(save.body), save.caller)
        guard device.installationId != nil || device.deviceToken != nil else { return nil }
        let rows = try await rows(nil, device)
        let resolution = try? InstallationResolution.resolve(
            nil, device, save.body, among: rows, kept: configuration.installation.kept)
        return resolution?.target
    }

    /// Returns the rows that a write of an installation may concern.
    func rows(_ objectId: String?, _ device: DeviceIdentity) async throws -> [InstallationRow] {
        let ids = [
            ("objectId", objectId), ("installationId", device.installationId), ("deviceToken", device.deviceToken),
        ]
        var request = ObjectStore.FindRequest(className: "_Installation")
        request.filter = .any(
            ids.compactMap { key, id in id.map { .field(FieldPath(key), .equal(.string($0))) } })
        // Many large rows may share a device token, so other fields aren't read.
        request.keys = ["objectId", "installationId", "deviceToken", "deviceType", "createdAt"]
        return try await store.find(request).objects.compactMap { InstallationRow($0) }
    }
}
