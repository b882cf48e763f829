import JSON
import ParseModel
import ParseStorage

/// Rows that stand for a device which another row stands for from now on.
struct InstallationLosers: Sendable {
    var filter: Filter
    /// The field whose value they share with the row that remains.
    var shared: String
}

/// Where a write of an installation goes.
struct InstallationResolution: Sendable {
    /// The row to change; nil for a new one.
    var target: String?
    /// The rows that it makes superfluous.
    var losers: InstallationLosers?
}

/// Which rows stand for one device.
extension Backend {
    private struct Known {
        var id: String
        var installationId: String?
        var deviceToken: String?
        var deviceType: String?
    }

    /// Finds out which row a write goes to, and which it makes superfluous.
    ///
    /// - Throws: 101, 132, 135 or 136.
    func resolve(_ objectId: String?, _ device: DeviceIdentity, _ body: JSONObject) async throws
        -> InstallationResolution
    {
        let rows = try await candidates(objectId, device)
        let byId = objectId.flatMap { id in rows.first { $0.id.hasSameBytes(as: id) } }
        let byInstallation = device.installationId.flatMap { id in rows.first { id.hasSameBytes(as: $0.installationId) }
        }
        let byToken = device.deviceToken.map { token in rows.filter { token.hasSameBytes(as: $0.deviceToken) } } ?? []
        let match = byInstallation ?? byId
        if objectId != nil {
            guard let byId else { throw ParseError(ParseError.objectNotFound, "Object not found for update.") }
            try Self.checkIdentity(byId, body)
        } else if match == nil, body["deviceType"]?.isTruthy != true {
            throw ParseError(135, "deviceType must be specified in this operation")
        }
        guard let match else { return try newcomer(byToken, device, body) }
        if byToken.count == 1, byToken[0].installationId == nil, !byToken[0].id.hasSameBytes(as: match.id) {
            return merge(match, byToken[0])
        }
        var resolution = InstallationResolution(target: match.id)
        if let token = device.deviceToken, !token.hasSameBytes(as: match.deviceToken) {
            if let given = body["installationId"]?.stringValue {
                resolution.losers = Self.holders(of: token, except: "installationId", given, body)
            } else if match.id.hasSameBytes(as: body["objectId"]?.stringValue) {
                resolution.losers = Self.holders(of: token, except: "objectId", match.id, body)
            }
        }
        return resolution
    }

    /// The resolution for an installation id that no row has.
    private func newcomer(_ byToken: [Known], _ device: DeviceIdentity, _ body: JSONObject) throws(ParseError)
        -> InstallationResolution
    {
        guard let token = device.deviceToken, !byToken.isEmpty else { return InstallationResolution() }
        if byToken.count == 1, byToken[0].installationId == nil || device.installationId == nil {
            return InstallationResolution(target: byToken[0].id)
        }
        guard let installationId = body["installationId"]?.stringValue else {
            throw ParseError(
                132, "Must specify installationId when deviceToken matches multiple Installation objects")
        }
        return InstallationResolution(
            losers: Self.holders(of: token, except: "installationId", installationId, body))
    }

    /// One row has the installation id and another the token: one of them stands for the device from now on.
    private func merge(_ byId: Known, _ byToken: Known) -> InstallationResolution {
        switch configuration.installation.survivor {
        case .deviceToken:
            InstallationResolution(
                target: byToken.id,
                losers: InstallationLosers(filter: Self.row(byId.id), shared: "installationId"))
        case .installationId:
            InstallationResolution(
                target: byId.id, losers: InstallationLosers(filter: Self.row(byToken.id), shared: "deviceToken"))
        }
    }

    private static func row(_ id: String) -> Filter { .field(FieldPath("objectId"), .equal(.string(id))) }

    /// The other rows with a token, of the same app where one is named.
    private static func holders(of token: String, except key: String, _ value: String, _ body: JSONObject)
        -> InstallationLosers
    {
        var filter = Filter.field(FieldPath("deviceToken"), .equal(.string(token)))
            .and(.field(FieldPath(key), .notEqual(.string(value))))
        if let app = body["appIdentifier"]?.stringValue {
            filter = filter.and(.field(FieldPath("appIdentifier"), .equal(.string(app))))
        }
        return InstallationLosers(filter: filter, shared: "deviceToken")
    }

    /// - Throws: 136 for a change that would make another device of the row.
    private static func checkIdentity(_ row: Known, _ body: JSONObject) throws(ParseError) {
        let installationId = body["installationId"]?.stringValue
        if let installationId, let known = row.installationId, !installationId.hasSameBytes(as: known) {
            throw ParseError(136, "installationId may not be changed in this operation")
        }
        if let token = body["deviceToken"]?.stringValue, let known = row.deviceToken, !token.hasSameBytes(as: known),
            installationId == nil, row.installationId == nil
        {
            throw ParseError(136, "deviceToken may not be changed in this operation")
        }
        if let type = body["deviceType"]?.stringValue, let known = row.deviceType, !type.hasSameBytes(as: known) {
            throw ParseError(136, "deviceType may not be changed in this operation")
        }
    }

    private func candidates(_ objectId: String?, _ device: DeviceIdentity) async throws -> [Known] {
        var conditions: [Filter] = []
        if let objectId { conditions.append(Self.row(objectId)) }
        if let id = device.installationId {
            conditions.append(.field(FieldPath("installationId"), .equal(.string(id))))
        }
        if let token = device.deviceToken {
            conditions.append(.field(FieldPath("deviceToken"), .equal(.string(token))))
        }
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
