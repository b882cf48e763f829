import Console
import Foundation
import JSON
import ServerConfiguration
import TestSupport
import Testing

@Suite("Reachability of the console")
struct ConsoleReachTests {
    static func configuration(_ options: JSONObject) throws -> Configuration {
        var file: JSONObject = ["appId": "a", "masterKey": "m"]
        for (name, value) in options { file[name] = value }
        return try Configuration.load(file: file.serialized(), environment: [:], flags: []).configuration
    }

    static func reach(_ options: JSONObject) throws -> ConsoleReach { try ConsoleReach(configuration(options)) }

    @Test(
        "Admits only this machine by default, and nothing through a proxy",
        arguments: [
            ("127.0.0.1", false, true), ("127.8.9.1", false, true), ("::1", false, true),
            ("::ffff:127.0.0.1", false, true), ("10.0.0.1", false, false), ("127.0.0.1", true, false),
            ("192.168.1.2", false, false), ("", false, false),
        ])
    func thisMachine(peer: String, isForwarded: Bool, isOpen: Bool) throws {
        let way = ConsoleReach.Way(peer: peer, address: peer, isForwarded: isForwarded)
        #expect(try (Self.reach([:]).refusal(of: way) == nil) == isOpen)
        #expect(try Self.reach(["console": ["enabled": false]]).refusal(of: way) != nil)
    }

    @Test("A trusted proxy doesn't open a console that is limited to this machine")
    func believedProxy() throws {
        let way = ConsoleReach.Way(peer: "127.0.0.1", address: "127.0.0.1", isForwarded: true)
        #expect(try Self.reach(["trustProxy": true]).refusal(of: way) == .proxy)
    }

    @Test("Admits remote clients by address and over TLS")
    func addresses() throws {
        let options: JSONObject = [
            "console": ["enabled": true, "addresses": ["10.0.0.0/8"]], "trustProxy": ["192.168.0.1"],
        ]
        let reach = try Self.reach(options)
        func way(_ peer: String, _ address: String, _ isForwarded: Bool, _ scheme: String? = nil) -> ConsoleReach.Way {
            ConsoleReach.Way(peer: peer, address: address, isForwarded: isForwarded, forwardedProtocol: scheme)
        }
        #expect(reach.refusal(of: way("10.1.1.1", "10.1.1.1", false)) == .plainHTTP)
        #expect(reach.refusal(of: way("11.1.1.1", "11.1.1.1", false)) == .address)
        #expect(reach.refusal(of: way("192.168.0.1", "10.1.1.1", true, "https")) == nil)
        #expect(reach.refusal(of: way("192.168.0.1", "10.1.1.1", true, "http")) == .plainHTTP)
        #expect(reach.refusal(of: way("192.168.0.1", "11.1.1.1", true, "https")) == .proxy, "another address")
        #expect(reach.refusal(of: way("10.1.1.1", "10.1.1.1", true, "https")) == .proxy, "a proxy that is not believed")
        var plain = options
        plain["console"] = ["enabled": true, "addresses": ["10.0.0.0/8"], "allowPlainHTTP": true]
        #expect(try Self.reach(plain).refusal(of: way("10.1.1.1", "10.1.1.1", false)) == nil)
    }

    @Test(
        "Accepts loopback hosts, the host of publicServerURL and configured hosts",
        arguments: [
            ("localhost:1337", true), ("127.0.0.1:1337", true), ("[::1]:1337", true), ("LOCALHOST:1337", true),
            ("localhost:1338", false), ("localhost", false), ("evil.example", false), ("evil.example:1337", false),
            ("app.example", true), ("app.example:8080", false), ("admin.example:9", true), ("other.example:99", true),
            ("other.example:98", false), ("localhost:1337.evil.example", false), ("localhost:1337@evil", false),
            ("", false), ("localhost.:1337", false), ("x;localhost:1337", false),
        ])
    func hosts(authority: String, isAccepted: Bool) throws {
        let hosts = ConsoleHosts(
            try Self.configuration([
                "publicServerURL": "http://app.example:80/parse",
                "console": ["hosts": ["admin.example", "other.example:99"]],
            ]))
        #expect(hosts.accepts(authority, port: 1337, isSecure: false) == isAccepted)
    }

    @Test(
        "Rejects signIn thisMachine if others can reach the server",
        arguments: [
            ["trustProxy": true], ["publicServerURL": "https://app.example/parse"],
            ["publicServerURL": "http://localhost.evil.example/parse"], ["host": "0.0.0.0"], ["host": "::"],
            ["host": "192.168.1.2"], ["host": ""], ["host": "localhost.evil.example"],
            ["console": ["enabled": true, "signIn": "thisMachine"]],
        ] as [JSONObject])
    func refusals(options: JSONObject) throws {
        var options = options
        let names: [Name] = ["host", "trustProxy", "publicServerURL"]
        let other = names.first { options[$0] != nil } ?? "console.enabled"
        if options["console"] == nil { options["console"] = ["signIn": "thisMachine"] }
        if other != "host" { options["host"] = "127.0.0.1" }
        let error = #expect(throws: ConfigurationError.self) { try Self.configuration(options) }
        let remedy = other == "host" ? "Set host to 127.0.0.1" : "Remove \(other)"
        #expect(error?.message.contains("may reach the server. \(remedy), or remove signIn") == true)
        options["host"] = nil
        #expect(throws: ConfigurationError.self, "the default host") { try Self.configuration(options) }
    }

    @Test("Rejects invalid console paths and the mount path", arguments: ["", "/", "/parse", "/a b", "/..", "/a;b"])
    func paths(path: String) throws {
        #expect(throws: ConfigurationError.self) {
            try Self.configuration(["console": ["path": .string(path)]])
        }
        #expect(try Self.configuration(["console": ["path": "admin/ui/"]]).console.path == "/admin/ui")
    }

    @Test(
        "Accepts signIn thisMachine if the server listens only on loopback",
        arguments: ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
    func development(host: JSONValue) throws {
        let options: JSONObject = [
            "console": ["signIn": "thisMachine"], "publicServerURL": "http://localhost:1337/parse", "host": host,
        ]
        #expect(try Self.configuration(options).console.signIn == .thisMachine)
    }

    @Test("Rejects requests of a trusted proxy that report a loopback client")
    func unnamedClient() throws {
        let reach = try Self.reach([
            "console": ["enabled": true, "addresses": ["127.0.0.0/8"], "allowPlainHTTP": true],
            "trustProxy": "loopback",
        ])
        for address in ["127.0.0.1", "::ffff:127.0.0.1", "0.0.0.0"] {
            let way = ConsoleReach.Way(peer: "127.0.0.1", address: address, isForwarded: true)
            #expect(reach.refusal(of: way) == .proxy, "\(address)")
        }
        #expect(reach.refusal(of: ConsoleReach.Way(peer: "127.0.0.1", address: "127.0.0.1")) == nil)
    }
}
