import JSON
import OrderedCollections
import ParseModel
import ParseStorage

/// Installations: one row a device, whatever tokens it had.
extension Backend {
    /// What identifies the device that a write is about.
    struct DeviceIdentity: Sendable {
        /// The body's, or the caller's own where the body names none.
        var installationId: String?
        var deviceToken: String?
    }

    /// A body with its ids in the case in which they are kept.
    ///
    /// - Throws: 111 for ids that are no texts: an operator in their place would choose other people's rows.
    static func normalizedInstallation(_ given: JSONObject) throws(ParseError) -> JSONObject {
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
            _ = try await store.query(
                "SELECT pg_advisory_xact_lock(hashtextextended($1, 2))", [.text(try ValueText.checked(name))])
        }
    }

    /// Removes rows that lost their device to another, or takes from them what they share with it.
    func retire(_ losers: InstallationLosers, _ context: RequestContext) async throws {
        let options = configuration.installation
        var access = ObjectStore.WriteAccess()
        if options.enforcesCaller {
            guard let schema = catalog.schema("_Installation") else { return }
            let operation: ClassOperation = options.action == .delete ? .delete : .update
            // A caller who may not touch these rows leaves them as they are.
            guard let filter = try? permit(operation, on: schema, context.caller) else { return }
            access = ObjectStore.WriteAccess(writers: context.caller.writePrincipals, filter: filter)
        }
        switch options.action {
        case .delete: try await store.deleteAll("_Installation", where: losers.filter, access)
        case .update:
            var request = ObjectStore.FindRequest(className: "_Installation")
            request.filter = losers.filter
            request.keys = ["objectId"]
            var write = ObjectWrite()
            write.operations = [Name(losers.shared): .delete]
            write.updatedAt = context.now
            for row in try await store.find(request).objects {
                guard let id = row["objectId"]?.stringValue else { continue }
                _ = try await store.update("_Installation", objectId: id, write, access: access)
            }
        }
    }
}
