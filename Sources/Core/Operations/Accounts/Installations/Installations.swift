import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// Installations: one row a device, whatever tokens it had.
public struct Installations: Sendable, BackendPart {
    let backend: Backend

    /// A body with its ids in the case in which they are kept.
    ///
    /// - Throws: 111 for ids that are no texts: an operator in their place would choose other people's rows.
    static func normalized(_ given: JSONObject) throws(ParseError) -> JSONObject {
        var body = given
        for key in ["installationId", "deviceToken", "appIdentifier"] {
            guard let value = body[key], !value.isNull, value.stringValue == nil else { continue }
            if value["__op"] == "Delete" { continue }
            let type = try FieldType.inferred(from: value) ?? .object
            throw ParseError(
                ParseError.incorrectType, "schema mismatch for _Installation.\(key); expected String but got \(type)")
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

    /// Keeps others from deciding about the same device until the write is committed.
    func lock(_ device: DeviceIdentity) async throws {
        let names = [device.installationId.map { "id:\($0)" }, device.deviceToken.map { "token:\($0)" }]
        for name in names.compactMap({ $0 }) {
            try await store.accounts.claim(device: name)
        }
    }

    /// Removes rows that lost their device to another, or takes from them what they share with it.
    func retire(_ duplicates: InstallationDuplicates, _ context: RequestContext) async throws {
        let options = configuration.installation
        var access = ObjectStore.WriteAccess()
        if options.enforcesCaller {
            guard let schema = catalog.schema("_Installation") else { return }
            let operation: ClassOperation = options.action == .delete ? .delete : .update
            // A caller who may not touch these rows leaves them as they are.
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

    /// The row that a new installation is the same as, as far as can be said before it is stored; nil for none.
    func same(_ save: Save) async throws -> String? {
        let device = DeviceIdentity(
            installationId: save.body["installationId"]?.stringValue,
            deviceToken: save.body["deviceToken"]?.stringValue)
        guard device.installationId != nil || device.deviceToken != nil else { return nil }
        let rows = try await rows(nil, device)
        let resolution = try? InstallationResolution.resolve(
            nil, device, save.body, among: rows, kept: configuration.installation.kept)
        return resolution?.target
    }

    /// The rows that a write of an installation could be about.
    func rows(_ objectId: String?, _ device: DeviceIdentity) async throws -> [InstallationRow] {
        var conditions: [Filter] = []
        if let objectId { conditions.append(.field(FieldPath("objectId"), .equal(.string(objectId)))) }
        if let id = device.installationId {
            conditions.append(.field(FieldPath("installationId"), .equal(.string(id))))
        }
        if let token = device.deviceToken {
            conditions.append(.field(FieldPath("deviceToken"), .equal(.string(token))))
        }
        var request = ObjectStore.FindRequest(className: "_Installation")
        request.filter = .any(conditions)
        // Of one token there may be any number of rows, of any size.
        request.keys = ["objectId", "installationId", "deviceToken", "deviceType", "createdAt"]
        return try await store.find(request).objects.compactMap { InstallationRow($0) }
    }
}
