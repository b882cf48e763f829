import JSON
import ParseModel
import Rules
import ServerConfiguration
import Testing

/// The resolution of installations: each device has one row, and duplicates are removed.
@Suite("One installation per device")
struct InstallationResolutionTests {
    typealias Kept = Configuration.Installations.KeptRow

    private static func row(_ id: String, installation: String? = nil, token: String? = nil) -> JSONObject {
        var row: JSONObject = ["objectId": .string(id), "deviceType": "ios"]
        if let installation { row["installationId"] = .string(installation) }
        if let token { row["deviceToken"] = .string(token) }
        return row
    }

    /// Resolves a write. The device is that of the body, unless the caller has an installation id.
    private static func resolve(
        _ body: JSONObject, to objectId: String? = nil, caller: String? = nil, among rows: [JSONObject],
        kept: Kept = .deviceToken
    ) throws -> InstallationResolution {
        let device = DeviceIdentity(
            installationId: body["installationId"]?.stringValue ?? caller,
            deviceToken: body["deviceToken"]?.stringValue)
        return try InstallationResolution.resolve(
            objectId, device, body, among: rows.compactMap(InstallationRow.init), kept: kept)
    }

    private static func holds(_ field: String, _ value: JSONValue) -> Filter { .field(FieldPath(field), .equal(value)) }
    private static func differs(_ field: String, _ value: JSONValue) -> Filter {
        .field(FieldPath(field), .notEqual(value))
    }

    // MARK: - New devices

    @Test("Creates a row for an unknown device")
    func unknown() throws {
        for body in [
            ["installationId": "i", "deviceType": "ios"], ["deviceToken": "t", "deviceType": "ios"],
            ["installationId": "i", "deviceToken": "t", "deviceType": "ios"],
        ] as [JSONObject] {
            let resolution = try Self.resolve(body, among: [Self.row("other", installation: "j", token: "u")])
            #expect(resolution.target == nil)
            #expect(resolution.duplicates == nil)
        }
    }

    @Test("A new row requires a device type", arguments: [nil, "", .null, false, 0] as [JSONValue?])
    func deviceType(value: JSONValue?) {
        var body: JSONObject = ["installationId": "i"]
        if let value { body["deviceType"] = value }
        #expect(throws: ParseError(135, "deviceType must be specified in this operation")) {
            try Self.resolve(body, among: [])
        }
        body["deviceToken"] = "t"
        // A row with only the token isn't known to belong to the same device.
        #expect(throws: ParseError(135, "deviceType must be specified in this operation")) {
            try Self.resolve(body, among: [Self.row("a", token: "t")])
        }
    }

    // MARK: - Rows with the installation id

    @Test("Updates the row with the installation id, with or without a token")
    func byInstallation() throws {
        let rows = [Self.row("a", installation: "i", token: "t"), Self.row("b", installation: "j", token: "u")]
        for body in [["installationId": "i"], ["installationId": "i", "deviceToken": "t"]] as [JSONObject] {
            let resolution = try Self.resolve(body, among: rows)
            #expect(resolution.target == "a")
            #expect(resolution.duplicates == nil)
        }
    }

    @Test("Updates the row with the installation id, even if the write addresses another row")
    func byInstallationBeforeId() throws {
        let rows = [Self.row("a"), Self.row("b", installation: "i")]
        #expect(try Self.resolve(["installationId": "i"], to: "a", among: rows).target == "b")
        #expect(try Self.resolve(["installationId": "new"], to: "a", among: rows).target == "a")
    }

    @Test("Uses the caller's installation id if the body has none")
    func callersInstallation() throws {
        let resolution = try Self.resolve(["channels": []], caller: "i", among: [Self.row("a", installation: "i")])
        #expect(resolution.target == "a")
    }

    @Test("Look-alike installation ids, tokens and object ids identify different rows")
    func lookAlikes() throws {
        let (letter, sign) = LookAlike.kelvin
        let rows = [Self.row("a", installation: letter, token: letter)]
        let new = try Self.resolve(["installationId": .string(sign), "deviceType": "ios"], among: rows)
        #expect(new.target == nil)
        let token = try Self.resolve(["deviceToken": .string(sign), "deviceType": "ios"], among: rows)
        #expect(token.target == nil)
        #expect(throws: ParseError(101, "Object not found for update.")) {
            try Self.resolve(["deviceToken": "t"], to: sign, among: [Self.row(letter)])
        }
    }

    // MARK: - Rows with the token alone

    @Test("A device takes over a row that has its token but no installation id")
    func adoption() throws {
        let resolution = try Self.resolve(
            ["installationId": "i", "deviceToken": "t", "deviceType": "ios"], among: [Self.row("a", token: "t")])
        #expect(resolution.target == "a")
        #expect(resolution.duplicates == nil)
    }

    @Test("A write without an installation id updates the only row with the token")
    func byToken() throws {
        let resolution = try Self.resolve(
            ["deviceToken": "t", "deviceType": "ios"], among: [Self.row("a", installation: "i", token: "t")])
        #expect(resolution.target == "a")
        #expect(resolution.duplicates == nil)
    }

    @Test("Rejects a write without an installation id in the body if the token doesn't identify one row")
    func ambiguous() {
        let refusal = ParseError(
            132, "Must specify installationId when deviceToken matches multiple Installation objects")
        let body: JSONObject = ["deviceToken": "t", "deviceType": "ios"]
        let rows = [Self.row("a", token: "t"), Self.row("b", token: "t")]
        #expect(throws: refusal) { try Self.resolve(body, among: rows) }
        #expect(throws: refusal) { try Self.resolve(body, caller: "i", among: rows) }
        #expect(throws: refusal) {
            try Self.resolve(body, caller: "i", among: [Self.row("a", installation: "j", token: "t")])
        }
    }

    @Test("A new row takes the token from all rows of other devices")
    func takenToken() throws {
        let rows = [Self.row("a", installation: "j", token: "t")]
        let body: JSONObject = ["installationId": "i", "deviceToken": "t", "deviceType": "ios"]
        for rows in [rows, rows + [Self.row("b", token: "t")]] {
            let resolution = try Self.resolve(body, among: rows)
            #expect(resolution.target == nil)
            #expect(
                resolution.duplicates?.filter
                    == .all([Self.holds("deviceToken", "t"), Self.differs("installationId", "i")]))
            #expect(resolution.duplicates?.shared == "deviceToken")
        }
    }

    @Test("Takes the token only from rows of the same app if the write names the app")
    func takenTokenOfApp() throws {
        let body: JSONObject = [
            "installationId": "i", "deviceToken": "t", "deviceType": "ios", "appIdentifier": "example.app",
        ]
        let resolution = try Self.resolve(body, among: [Self.row("a", installation: "j", token: "t")])
        #expect(
            resolution.duplicates?.filter
                == .all([
                    Self.holds("deviceToken", "t"), Self.differs("installationId", "i"),
                    Self.holds("appIdentifier", "example.app"),
                ]))
    }

    // MARK: - One row with the installation id, another with the token

    @Test(
        "If a device has two rows, the configuration decides which one is kept",
        arguments: [(Kept.deviceToken, "b", "a", "installationId"), (.installationId, "a", "b", "deviceToken")])
    func merge(kept: Kept, target: String, superfluous: String, shared: String) throws {
        let rows = [Self.row("a", installation: "i", token: "old"), Self.row("b", token: "t")]
        for objectId in [nil, "a"] {
            let resolution = try Self.resolve(
                ["installationId": "i", "deviceToken": "t"], to: objectId, among: rows, kept: kept)
            #expect(resolution.target == target)
            #expect(resolution.duplicates?.filter == Self.holds("objectId", .string(superfluous)))
            #expect(resolution.duplicates?.shared == shared)
        }
    }

    @Test("Doesn't treat a row as its own duplicate", arguments: [Kept.deviceToken, .installationId])
    func sameRow(kept: Kept) throws {
        let resolution = try Self.resolve(["deviceToken": "t"], to: "a", among: [Self.row("a", token: "t")], kept: kept)
        #expect(resolution.target == "a")
        #expect(resolution.duplicates == nil)
    }

    // MARK: - Changed tokens

    @Test("A device with a new token takes it from all rows of other devices")
    func changedToken() throws {
        let rows = [Self.row("a", installation: "i", token: "old"), Self.row("b", installation: "j", token: "t")]
        let resolution = try Self.resolve(["installationId": "i", "deviceToken": "t"], among: rows)
        #expect(resolution.target == "a")
        #expect(
            resolution.duplicates?.filter
                == .all([Self.holds("deviceToken", "t"), Self.differs("installationId", "i")]))
        #expect(resolution.duplicates?.shared == "deviceToken")
    }

    @Test("An update with its own object id in the body takes the token from other rows, too")
    func changedTokenById() throws {
        let rows = [Self.row("a", installation: "i", token: "old"), Self.row("b", installation: "j", token: "t")]
        let resolution = try Self.resolve(["objectId": "a", "deviceToken": "t"], to: "a", among: rows)
        #expect(resolution.target == "a")
        #expect(
            resolution.duplicates?.filter == .all([Self.holds("deviceToken", "t"), Self.differs("objectId", "a")]))
    }

    @Test("An update without an installation id or its object id in the body leaves the token on other rows")
    func changedTokenAlone() throws {
        let rows = [Self.row("a", installation: "i", token: "old"), Self.row("b", installation: "j", token: "t")]
        for body in [["deviceToken": "t"], ["deviceToken": "t", "objectId": "b"]] as [JSONObject] {
            let resolution = try Self.resolve(body, to: "a", among: rows)
            #expect(resolution.target == "a")
            #expect(resolution.duplicates == nil)
        }
    }

    @Test("A look-alike token counts as a new token")
    func lookAlikeToken() throws {
        let rows = [Self.row("a", installation: "i", token: "\u{E9}")]
        let resolution = try Self.resolve(["installationId": "i", "deviceToken": "e\u{301}"], among: rows)
        #expect(
            resolution.duplicates?.filter
                == .all([Self.holds("deviceToken", "e\u{301}"), Self.differs("installationId", "i")]))
    }
}
