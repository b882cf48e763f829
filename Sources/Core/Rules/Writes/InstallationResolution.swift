import JSON
import ParseModel
import ServerConfiguration

/// The installation id and push token that identify a device.
package struct DeviceIdentity: Sendable {
    /// The installation id in the body, or else that of the caller, unless the caller bypasses permissions.
    package var installationId: String?
    package var deviceToken: String?

    package init(installationId: String? = nil, deviceToken: String? = nil) {
        self.installationId = installationId
        self.deviceToken = deviceToken
    }

    /// - Parameter body: The fields of the installation, normalized.
    package init(_ body: JSONObject, _ caller: Caller) {
        deviceToken = body.id("deviceToken")
        installationId = body.id("installationId")
        if installationId == nil, !caller.writesEverything { installationId = caller.installationId?.lowercased() }
    }
}

extension JSONObject {
    /// Returns an id of a device, or nil if it is missing or empty: devices without push tokens may send empty ones.
    fileprivate func id(_ key: Name) -> String? { self[key]?.stringValue.flatMap { $0.isEmpty ? nil : $0 } }
}

/// The fields of an `_Installation` row that identify its device.
package struct InstallationRow: Sendable {
    package let id: String
    let installationId: String?
    let deviceToken: String?
    let deviceType: String?
    /// The creation time in the format of responses.
    package let createdAt: JSONValue?

    /// Returns nil if the row has no id.
    package init?(_ object: JSONObject) {
        guard let id = object["objectId"]?.stringValue else { return nil }
        self.id = id
        installationId = object.id("installationId")
        deviceToken = object.id("deviceToken")
        deviceType = object["deviceType"]?.stringValue
        createdAt = object["createdAt"]
    }
}

/// A filter for rows made obsolete by another row of the same device.
package struct InstallationDuplicates: Sendable {
    package let filter: Filter
    /// The field whose value the rows share with the remaining row once it is written.
    package let shared: String
}

/// Decides which row a write to `_Installation` changes, so that each device has one row.
package struct InstallationResolution: Sendable {
    /// The row to update, or nil to create one.
    package var target: String?
    /// The obsolete rows to delete or update, or nil if no row can be obsolete.
    package var duplicates: InstallationDuplicates?

    /// Finds the row to write and the rows that become obsolete.
    ///
    /// - Parameters:
    ///   - objectId: The id of the row to update, or nil for a new one.
    ///   - rows: All rows with the same id, installation id or device token.
    ///   - kept: The row to keep if two rows represent the device.
    /// - Throws: 101 if the row to update doesn't exist, 132 if other installations have the token and the body lacks
    ///   an installation id, 135 if a new installation's id belongs to no row and the body lacks a device type, or 136
    ///   if the row's identity changes.
    package static func resolve(
        _ objectId: String?, _ device: DeviceIdentity, _ body: JSONObject, among rows: [InstallationRow],
        kept: Configuration.Installations.KeptRow
    ) throws(ParseError) -> InstallationResolution {
        let byId = objectId.flatMap { id in rows.first { $0.id.hasSameBytes(as: id) } }
        let byInstallation = device.installationId.flatMap { id in rows.first { id.hasSameBytes(as: $0.installationId) }
        }
        let byToken = device.deviceToken.map { token in rows.filter { token.hasSameBytes(as: $0.deviceToken) } } ?? []
        let match = byInstallation ?? byId
        if objectId != nil {
            guard let byId else { throw ParseError(ParseError.objectNotFound, "Object not found for update.") }
            try checkIdentity(byId, body)
        } else if match == nil, body["deviceType"]?.isTruthy != true {
            throw ParseError(135, "deviceType must be specified in this operation")
        }
        guard let match else { return try new(byToken, device, body) }
        if byToken.count == 1, byToken[0].installationId == nil, !byToken[0].id.hasSameBytes(as: match.id) {
            return merge(match, byToken[0], kept: kept)
        }
        var resolution = InstallationResolution(target: match.id)
        if let token = device.deviceToken, !token.hasSameBytes(as: match.deviceToken) {
            if let given = body.id("installationId") {
                resolution.duplicates = holders(of: token, except: "installationId", given, body)
            } else if match.id.hasSameBytes(as: body["objectId"]?.stringValue) {
                resolution.duplicates = holders(of: token, except: "objectId", match.id, body)
            }
        }
        return resolution
    }

    private static func new(_ byToken: [InstallationRow], _ device: DeviceIdentity, _ body: JSONObject)
        throws(ParseError)
        -> InstallationResolution
    {
        guard let token = device.deviceToken, !byToken.isEmpty else { return InstallationResolution() }
        if byToken.count == 1, byToken[0].installationId == nil || device.installationId == nil {
            return InstallationResolution(target: byToken[0].id)
        }
        guard let installationId = body.id("installationId") else {
            throw ParseError(
                132, "Must specify installationId when deviceToken matches multiple Installation objects")
        }
        return InstallationResolution(
            duplicates: holders(of: token, except: "installationId", installationId, body))
    }

    private static func merge(
        _ byId: InstallationRow, _ byToken: InstallationRow, kept: Configuration.Installations.KeptRow
    ) -> InstallationResolution {
        switch kept {
        case .deviceToken:
            InstallationResolution(
                target: byToken.id,
                duplicates: InstallationDuplicates(filter: row(byId.id), shared: "installationId"))
        case .installationId:
            InstallationResolution(
                target: byId.id, duplicates: InstallationDuplicates(filter: row(byToken.id), shared: "deviceToken"))
        }
    }

    private static func row(_ id: String) -> Filter { .field(FieldPath("objectId"), .equal(.string(id))) }

    private static func holders(of token: String, except key: String, _ value: String, _ body: JSONObject)
        -> InstallationDuplicates
    {
        var filter = Filter.field(FieldPath("deviceToken"), .equal(.string(token)))
            .and(.field(FieldPath(key), .notEqual(.string(value))))
        if let app = body["appIdentifier"]?.stringValue {
            filter = filter.and(.field(FieldPath("appIdentifier"), .equal(.string(app))))
        }
        return InstallationDuplicates(filter: filter, shared: "deviceToken")
    }

    private static func checkIdentity(_ row: InstallationRow, _ body: JSONObject) throws(ParseError) {
        let installationId = body.id("installationId")
        if let installationId, let known = row.installationId, !installationId.hasSameBytes(as: known) {
            throw ParseError(136, "installationId may not be changed in this operation")
        }
        if let token = body.id("deviceToken"), let known = row.deviceToken, !token.hasSameBytes(as: known),
            installationId == nil, row.installationId == nil
        {
            throw ParseError(136, "deviceToken may not be changed in this operation")
        }
        if let type = body["deviceType"]?.stringValue, let known = row.deviceType, !type.hasSameBytes(as: known) {
            throw ParseError(136, "deviceType may not be changed in this operation")
        }
    }
}
