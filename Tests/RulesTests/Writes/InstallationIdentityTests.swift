import JSON
import ParseModel
import Rules
import Testing

/// An installation always represents the same device.
@Suite("Immutable fields of installations")
struct InstallationIdentityTests {
    private static let full: JSONObject = [
        "objectId": "a", "installationId": "i", "deviceToken": "t", "deviceType": "ios",
    ]

    private static func update(_ row: JSONObject, _ body: JSONObject) throws -> String? {
        let device = DeviceIdentity(
            installationId: body["installationId"]?.stringValue, deviceToken: body["deviceToken"]?.stringValue)
        let rows = [row, ["objectId": "other", "installationId": "j"]].compactMap(InstallationRow.init)
        return try InstallationResolution.resolve("a", device, body, among: rows, kept: .deviceToken).target
    }

    private static func refusal(_ field: String) -> ParseError {
        ParseError(136, "\(field) may not be changed in this operation")
    }

    @Test("Rejects updates of unknown rows")
    func missing() {
        #expect(throws: ParseError(101, "Object not found for update.")) {
            try InstallationResolution.resolve(
                "gone", DeviceIdentity(installationId: "i"), ["installationId": "i", "deviceType": "ios"],
                among: [Self.full].compactMap(InstallationRow.init), kept: .deviceToken)
        }
    }

    @Test(
        "Updates can repeat stored values",
        arguments: [
            [:], ["installationId": "i"], ["deviceToken": "t"], ["deviceType": "ios"],
            ["installationId": "i", "deviceToken": "t", "deviceType": "ios"], ["channels": ["a"]],
        ] as [JSONObject])
    func same(body: JSONObject) throws {
        #expect(try Self.update(Self.full, body) == "a")
    }

    @Test("Rejects a different installation id", arguments: ["x", "j", "I", "\u{131}"])
    func installationId(value: String) {
        #expect(throws: Self.refusal("installationId")) {
            try Self.update(Self.full, ["installationId": .string(value)])
        }
    }

    @Test("Rejects a different device type", arguments: ["android", "IOS", ""])
    func deviceType(value: String) {
        #expect(throws: Self.refusal("deviceType")) { try Self.update(Self.full, ["deviceType": .string(value)]) }
    }

    @Test("Rejects a different token if the row has no installation id")
    func deviceToken() {
        let row: JSONObject = ["objectId": "a", "deviceToken": "t", "deviceType": "ios"]
        for token in ["u", "T"] {
            #expect(throws: Self.refusal("deviceToken")) { try Self.update(row, ["deviceToken": .string(token)]) }
        }
        #expect(throws: Self.refusal("deviceToken")) {
            try Self.update(["objectId": "a", "deviceToken": "K"], ["deviceToken": "\u{212A}"])
        }
    }

    @Test("Accepts a different token if the row or the update has an installation id")
    func deviceTokenOfKnownDevice() throws {
        #expect(try Self.update(Self.full, ["deviceToken": "u"]) == "a")
        let row: JSONObject = ["objectId": "a", "deviceToken": "t"]
        #expect(try Self.update(row, ["deviceToken": "u", "installationId": "new"]) == "a")
    }

    @Test("Updates can add missing values")
    func additions() throws {
        let body: JSONObject = ["installationId": "i", "deviceToken": "t", "deviceType": "ios"]
        #expect(try Self.update(["objectId": "a"], body) == "a")
        #expect(try Self.update(["objectId": "a", "deviceToken": .null, "deviceType": .null], body) == "a")
    }

    @Test("Ignores rows without an object id")
    func rowWithoutId() {
        #expect(InstallationRow(["installationId": "i"]) == nil)
        #expect(InstallationRow(["objectId": 5, "installationId": "i"]) == nil)
        #expect(InstallationRow(["objectId": "a"])?.id == "a")
    }

    @Test("A device identity is empty by default")
    func emptyIdentity() {
        #expect(DeviceIdentity().installationId == nil)
        #expect(DeviceIdentity().deviceToken == nil)
    }
}
