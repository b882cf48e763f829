import JSON
import ParseModel
import Rules
import Testing

/// An installation always represents the same device.
@Suite("What of an installation may not be changed")
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

    @Test("A row that is not there is not changed")
    func missing() {
        #expect(throws: ParseError(101, "Object not found for update.")) {
            try InstallationResolution.resolve(
                "gone", DeviceIdentity(installationId: "i"), ["installationId": "i", "deviceType": "ios"],
                among: [Self.full].compactMap(InstallationRow.init), kept: .deviceToken)
        }
    }

    @Test(
        "What the row has already may be sent again",
        arguments: [
            [:], ["installationId": "i"], ["deviceToken": "t"], ["deviceType": "ios"],
            ["installationId": "i", "deviceToken": "t", "deviceType": "ios"], ["channels": ["a"]],
        ] as [JSONObject])
    func same(body: JSONObject) throws {
        #expect(try Self.update(Self.full, body) == "a")
    }

    @Test("The installation id is not changed once it is known", arguments: ["x", "j", "I", "\u{131}"])
    func installationId(value: String) {
        #expect(throws: Self.refusal("installationId")) {
            try Self.update(Self.full, ["installationId": .string(value)])
        }
    }

    @Test("The kind of device is not changed once it is known", arguments: ["android", "IOS", ""])
    func deviceType(value: String) {
        #expect(throws: Self.refusal("deviceType")) { try Self.update(Self.full, ["deviceType": .string(value)]) }
    }

    @Test("The token is not changed where it alone tells which device it is")
    func deviceToken() {
        let row: JSONObject = ["objectId": "a", "deviceToken": "t", "deviceType": "ios"]
        for token in ["u", "T"] {
            #expect(throws: Self.refusal("deviceToken")) { try Self.update(row, ["deviceToken": .string(token)]) }
        }
        #expect(throws: Self.refusal("deviceToken")) {
            try Self.update(["objectId": "a", "deviceToken": "K"], ["deviceToken": "\u{212A}"])
        }
    }

    @Test("The token is changed where an installation id tells which device it is")
    func deviceTokenOfKnownDevice() throws {
        #expect(try Self.update(Self.full, ["deviceToken": "u"]) == "a")
        let row: JSONObject = ["objectId": "a", "deviceToken": "t"]
        #expect(try Self.update(row, ["deviceToken": "u", "installationId": "new"]) == "a")
    }

    @Test("What the row lacks may be added")
    func additions() throws {
        let body: JSONObject = ["installationId": "i", "deviceToken": "t", "deviceType": "ios"]
        #expect(try Self.update(["objectId": "a"], body) == "a")
        #expect(try Self.update(["objectId": "a", "deviceToken": .null, "deviceType": .null], body) == "a")
    }

    @Test("A row without an id stands for nothing")
    func rowWithoutId() {
        #expect(InstallationRow(["installationId": "i"]) == nil)
        #expect(InstallationRow(["objectId": 5, "installationId": "i"]) == nil)
        #expect(InstallationRow(["objectId": "a"])?.id == "a")
    }

    @Test("An identity says nothing unless it is told")
    func emptyIdentity() {
        #expect(DeviceIdentity().installationId == nil)
        #expect(DeviceIdentity().deviceToken == nil)
    }
}
