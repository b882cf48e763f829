import JSON
import OrderedCollections
import ParseModel
import ParseStorage

/// Installations: one row a device, whatever tokens it had.
extension Backend {
    private struct Known {
        var id: String
        var installationId: String?
        var deviceToken: String?
        var deviceType: String?
    }

    /// Creates or changes an installation by the rules that keep one row a device.
    ///
    /// - Parameter objectId: The row to change; nil to create one.
    func saveInstallation(_ objectId: String?, _ given: JSONObject, _ context: RequestContext) async throws
        -> WriteResult
    {
        var body = given
        if let token = body["deviceToken"]?.stringValue, token.count == 64 {
            body["deviceToken"] = .string(token.lowercased())
        }
        for key in ["installationId", "deviceToken"] {
            if let value = body[key], value["__op"] == nil, !value.isNull, value.stringValue == nil {
                let type = try FieldType.inferred(from: value) ?? .object
                throw ParseError(
                    ParseError.incorrectType,
                    "schema mismatch for _Installation.\(key); expected String but got \(type)")
            }
        }
        var installationId = body["installationId"]?.stringValue?.lowercased()
        if let installationId { body["installationId"] = .string(installationId) }
        if installationId == nil, !context.caller.writesEverything { installationId = context.caller.installationId }
        let token = body["deviceToken"]?.stringValue
        if objectId == nil {
            guard token != nil || installationId != nil else {
                throw ParseError(
                    135,
                    "at least one ID field (deviceToken, installationId) must be specified in this operation")
            }
        } else if token == nil, installationId == nil || body["installationId"] == nil, body["deviceType"] == nil {
            // Nothing that identifies the device changes.
            return WriteResult(
                status: 200, location: nil, body: try await modify("_Installation", objectId ?? "", body, context))
        }
        let rows = try await candidates(objectId, installationId, token)
        let byId = rows.first { $0.id == objectId }
        let byInstallation = installationId.flatMap { id in rows.first { $0.installationId == id } }
        let byToken = token.map { token in rows.filter { $0.deviceToken == token } } ?? []
        if let objectId {
            guard let row = byId else { throw ParseError(ParseError.objectNotFound, "Object not found for update.") }
            try Self.checkIdentity(row, body, installationId: body["installationId"]?.stringValue, token: token)
            _ = objectId
        }
        let match = byInstallation ?? byId
        if objectId == nil, match == nil, byToken.isEmpty || body["deviceType"] == nil {
            guard body["deviceType"] != nil || !byToken.isEmpty else {
                throw ParseError(135, "deviceType must be specified in this operation")
            }
        }
        let target = try await resolve(match, byToken, installationId, token, body, context)
        guard let target else { return try await insert("_Installation", body, context) }
        body["objectId"] = nil
        body["createdAt"] = nil
        body["updatedAt"] = nil
        return WriteResult(
            status: 200, location: nil, body: try await modify("_Installation", target, body, context))
    }

    /// Decides which row the write goes to, and removes those that it makes superfluous. Nil for a new row.
    private func resolve(
        _ match: Known?, _ byToken: [Known], _ installationId: String?, _ token: String?, _ body: JSONObject,
        _ context: RequestContext
    ) async throws -> String? {
        guard let match else {
            if byToken.isEmpty { return nil }
            if byToken.count == 1, byToken[0].installationId == nil || installationId == nil { return byToken[0].id }
            guard let installationId else {
                throw ParseError(
                    132, "Must specify installationId when deviceToken matches multiple Installation objects")
            }
            try await removeHolders(of: token, keeping: .notEqual(.string(installationId)), "installationId", body)
            return nil
        }
        if byToken.count == 1, byToken[0].installationId == nil, byToken[0].id != match.id {
            // The row that holds the token has no installation yet: it takes the place of the other.
            try await store.deleteAll(
                "_Installation", where: .field(FieldPath("objectId"), .equal(.string(match.id))))
            return byToken[0].id
        }
        if let token, match.deviceToken != token {
            if let given = body["installationId"]?.stringValue {
                try await removeHolders(of: token, keeping: .notEqual(.string(given)), "installationId", body)
            } else if body["objectId"]?.stringValue == match.id {
                try await removeHolders(of: token, keeping: .notEqual(.string(match.id)), "objectId", body)
            }
        }
        return match.id
    }

    private func removeHolders(of token: String?, keeping: Constraint, _ key: String, _ body: JSONObject) async throws {
        guard let token else { return }
        var filter = Filter.field(FieldPath("deviceToken"), .equal(.string(token)))
            .and(.field(FieldPath(key), keeping))
        if let app = body["appIdentifier"]?.stringValue {
            filter = filter.and(.field(FieldPath("appIdentifier"), .equal(.string(app))))
        }
        try await store.deleteAll("_Installation", where: filter)
    }

    private static func checkIdentity(_ row: Known, _ body: JSONObject, installationId: String?, token: String?)
        throws(ParseError)
    {
        if let installationId, let known = row.installationId, installationId != known {
            throw ParseError(136, "installationId may not be changed in this operation")
        }
        if let token, let known = row.deviceToken, token != known, installationId == nil, row.installationId == nil {
            throw ParseError(136, "deviceToken may not be changed in this operation")
        }
        if let type = body["deviceType"]?.stringValue, let known = row.deviceType, type != known {
            throw ParseError(136, "deviceType may not be changed in this operation")
        }
    }

    private func candidates(_ objectId: String?, _ installationId: String?, _ token: String?) async throws -> [Known] {
        var conditions: [Filter] = []
        if let objectId { conditions.append(.field(FieldPath("objectId"), .equal(.string(objectId)))) }
        if let installationId {
            conditions.append(.field(FieldPath("installationId"), .equal(.string(installationId))))
        }
        if let token { conditions.append(.field(FieldPath("deviceToken"), .equal(.string(token)))) }
        var request = ObjectStore.FindRequest(className: "_Installation")
        request.filter = .any(conditions)
        return try await store.find(request).objects.compactMap { row in
            row["objectId"]?.stringValue.map {
                Known(
                    id: $0, installationId: row["installationId"]?.stringValue,
                    deviceToken: row["deviceToken"]?.stringValue, deviceType: row["deviceType"]?.stringValue)
            }
        }
    }
}
