import HTTP
import JSON
import REST
import Rules
import ServerConfiguration
import TestSupport
import Testing

@Suite("Access granted by a request's keys")
struct ApplicationKeysTests {
    private static func keys() throws -> ApplicationKeys {
        try ApplicationKeys(TransportServer.configuration())
    }

    private func decide(
        address: String = "127.0.0.1", keys: ApplicationKeys? = nil, _ fill: (inout Credentials) -> Void
    ) throws -> Caller.Power {
        var credentials = Credentials()
        credentials.applicationID = "app"
        credentials.restAPIKey = "rest"
        fill(&credentials)
        return try (try keys ?? Self.keys()).power(of: credentials, address: address)
    }

    @Test("Uses the maintenance key before the master key, and the master key before client keys")
    func keys() throws {
        #expect(try decide { _ in } == .client)
        #expect(try decide { $0.masterKey = "master" } == .master)
        #expect(try decide { $0.masterKey = "readonly" } == .readOnlyMaster)
        #expect(try decide { $0.maintenanceKey = "maintenance" } == .maintenance)
        #expect(
            try decide {
                $0.maintenanceKey = "maintenance"
                $0.masterKey = "master"
            } == .maintenance)
        #expect(try decide { $0.masterKey = "wrong" } == .client)
        #expect(
            try decide {
                $0.restAPIKey = nil
                $0.javascriptKey = "js"
            } == .client)
    }

    @Test("Rejects an unknown application and missing or wrong client keys; empty keys grant nothing")
    func refusals() throws {
        #expect(throws: HTTPError.unauthorized) { try decide { $0.applicationID = "other" } }
        #expect(throws: HTTPError.unauthorized) { try decide { $0.applicationID = nil } }
        #expect(throws: HTTPError.unauthorized) { try decide { $0.restAPIKey = nil } }
        #expect(throws: HTTPError.unauthorized) { try decide { $0.restAPIKey = "wrong" } }
        #expect(throws: HTTPError.unauthorized) {
            try decide {
                $0.restAPIKey = nil
                $0.clientKey = "rest"
            }
        }
        var keys = try Self.keys()
        keys.readOnlyMasterKey = ""
        keys.maintenanceKey = ""
        #expect(
            try decide(keys: keys) {
                $0.masterKey = ""
                $0.maintenanceKey = ""
            } == .client)
    }

    @Test("Rejects a master key from a disallowed address, but ignores a maintenance key from one")
    func addresses() throws {
        #expect(throws: HTTPError.unauthorized) { try decide(address: "10.0.0.1") { $0.masterKey = "master" } }
        #expect(try decide(address: "10.0.0.1") { $0.maintenanceKey = "maintenance" } == .client)
        #expect(try decide(address: "10.0.0.1") { $0.masterKey = "readonly" } == .readOnlyMaster)
        var keys = try Self.keys()
        keys.readOnlyMasterKeyAddresses = try AddressList(["127.0.0.1"])
        #expect(throws: HTTPError.unauthorized) {
            try decide(address: "10.0.0.1", keys: keys) { $0.masterKey = "readonly" }
        }
    }

    @Test("The address lists of all keys accept IPv4-mapped IPv6 networks")
    func mappedAddresses() throws {
        let list: JSONValue = ["::ffff:127.0.0.0/104"]
        let file: JSONObject = [
            "appId": "app", "masterKey": "master", "readOnlyMasterKey": "readonly", "maintenanceKey": "maintenance",
            "masterKeyIps": list, "readOnlyMasterKeyIps": list, "maintenanceKeyIps": list,
        ]
        let keys = try ApplicationKeys(
            try Configuration.load(file: file.serialized(), environment: [:], flags: []).configuration)
        for addresses in [keys.masterKeyAddresses, keys.readOnlyMasterKeyAddresses, keys.maintenanceKeyAddresses] {
            #expect(addresses.contains("127.0.0.1") && !addresses.contains("10.0.0.1"))
        }
    }

    @Test("Without configured client keys, the application id is enough")
    func noClientKeys() throws {
        var keys = try Self.keys()
        (keys.restAPIKey, keys.javascriptKey) = (nil, nil)
        #expect(try decide(keys: keys) { $0.restAPIKey = nil } == .client)
    }

    @Test(
        "Address lists match addresses, networks and whole address families",
        arguments: [
            (["127.0.0.1"], "127.0.0.1", true), (["127.0.0.1"], "127.0.0.2", false),
            (["127.0.0.1"], "::ffff:127.0.0.1", true), (["::1"], "::1", true), (["::1"], "0:0:0:0:0:0:0:1", true),
            (["10.0.0.0/8"], "10.255.1.2", true), (["10.0.0.0/8"], "11.0.0.1", false),
            (["10.0.0.0/8"], "::ffff:10.1.1.1", true), (["192.168.1.128/25"], "192.168.1.127", false),
            (["192.168.1.128/25"], "192.168.1.200", true), (["2001:db8::/32"], "2001:db8:1::5", true),
            (["2001:db8::/32"], "2001:db9::5", false), (["fe80::/10"], "fe80::1%eth0", true),
            (["0.0.0.0/0"], "1.2.3.4", true), (["0.0.0.0/0"], "::1", false), (["0.0.0.0/0"], "::ffff:1.2.3.4", false),
            (["0.0.0.0"], "1.2.3.4", true), (["::/0"], "::5", true), (["::0"], "2001:db8::1", true),
            (["::"], "::ffff:1.2.3.4", true), (["::/0"], "1.2.3.4", false), ([], "127.0.0.1", false),
            (["127.0.0.1"], "", false), (["0.0.0.0/0"], "1.2.3", false), (["0.0.0.0/0"], "01.2.3.4", false),
            (["::ffff:127.0.0.1"], "127.0.0.1", true), (["::ffff:127.0.0.1"], "::ffff:127.0.0.1", true),
            (["::ffff:7f00:1"], "127.0.0.1", true), (["::ffff:127.0.0.1"], "127.0.0.2", false),
            (["::ffff:127.0.0.1"], "::1", false), (["::ffff:127.0.0.0/104"], "127.200.3.4", true),
            (["::ffff:127.0.0.0/104"], "::ffff:127.200.3.4", true), (["::ffff:127.0.0.0/104"], "128.0.0.1", false),
            (["::ffff:10.1.2.3/128"], "10.1.2.3", true), (["::ffff:0:0/96"], "8.8.8.8", true),
            (["::ffff:0:0/96"], "2001:db8::1", false), (["::ffff:0:0/95"], "2001:db8::1", false),
            (["::/0"], "1::2::3", false), (["::/0"], "12345::", false), (["::/0"], "1:2:3:4:5:6:7:8:9", false),
            (["::/0"], "1.2.3.4::1", false),
        ] as [([String], String, Bool)])
    func lists(entries: [String], address: String, isIn: Bool) throws {
        #expect(try AddressList(entries).contains(address) == isIn)
    }

    @Test(
        "Reports the address-list entry that it can't parse", arguments: ["10.0.0.0/33", "x", "::/129", "1.2.3.4/", ""])
    func wrongEntries(entry: String) {
        let error = #expect(throws: AddressList.InvalidEntry.self) { try AddressList(["127.0.0.1", entry]) }
        #expect(error?.entry == entry)
    }
}
