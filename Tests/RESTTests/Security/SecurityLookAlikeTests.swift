import Foundation
import JSON
import TestSupport
import Testing

/// Attacks of class O: names that look alike or could be mistaken for another principal grant no access.
@Suite struct SecurityLookAlikeTests {
    /// Two texts that Swift considers equal or that look the same.
    struct Pair: Sendable, CustomTestStringConvertible {
        let real: String
        let fake: String
        var testDescription: String {
            "\(real.unicodeScalars.map { String($0.value, radix: 16) }) \(fake.unicodeScalars.map { String($0.value, radix: 16) })"
        }
    }

    static let pairs = [
        Pair(real: "Kings", fake: "\u{212A}ings"), Pair(real: "\u{C5}dmin", fake: "\u{212B}dmin"),
        Pair(real: "Caf\u{E9}", fake: "Cafe\u{301}"), Pair(real: "\u{AC00}x", fake: "\u{1100}\u{1161}x"),
        Pair(real: "Crew", fake: "Cre\u{200D}w"), Pair(real: "Boss", fake: "boss"),
    ]

    private static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
    }

    private static func role(_ server: TestServer, _ name: String, _ user: String) async throws {
        _ = try await server.create(
            "_Role",
            [
                "name": .string(name), "ACL": ["*": ["read": true]],
                "users": .operation("AddRelation", [.pointer("_User", user)]),
            ], as: .master)
    }

    @Test("A role with a look-alike name grants no access to objects, classes or protected fields", arguments: pairs)
    func roles(_ pair: Pair) async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let eve = try await server.signUp("eve")
            try await Self.role(server, pair.real, kim.id)
            try await Self.role(server, pair.fake, eve.id)
            let principal = Name("role:\(pair.real)")
            let song = try await server.create(
                "Song", ["title": "x", "ACL": .object([principal: ["read": true, "write": true]])], as: .master)
            let rule: JSONValue = .object([principal: true])
            _ = try await server.send(
                "POST", "/schemas/Vault",
                [
                    "fields": ["secret": ["type": "String"]],
                    "classLevelPermissions": [
                        "find": rule, "get": rule, "count": rule, "create": rule, "update": rule, "delete": rule,
                        "addField": rule,
                    ],
                ], as: .master
            ).succeeded()
            _ = try await server.send(
                "POST", "/schemas/Card",
                [
                    "fields": ["pin": ["type": "String"]],
                    "classLevelPermissions": [
                        "find": ["*": true], "get": ["*": true], "create": ["*": true],
                        "protectedFields": .object(["*": ["pin"], principal: []]),
                    ],
                ], as: .master
            ).succeeded()
            let vault = try await server.create("Vault", ["secret": "s"], as: .master)
            let card = try await server.create("Card", ["pin": "1234"], as: .master)
            for (token, isIn) in [(kim.token, true), (eve.token, false)] {
                let caller = TestServer.Identity.session(token)
                #expect((try await server.send("GET", "/classes/Song/\(song)", as: caller).status == 200) == isIn)
                #expect(try await server.find("Song", nil, as: caller).results.count == (isIn ? 1 : 0))
                #expect(
                    (try await server.send("PUT", "/classes/Song/\(song)", ["n": 1], as: caller).status == 200) == isIn)
                #expect((try await server.send("GET", "/classes/Vault/\(vault)", as: caller).status == 200) == isIn)
                #expect((try await server.find("Vault", nil, as: caller).status == 200) == isIn)
                let changed = try await server.send("PUT", "/classes/Vault/\(vault)", ["extra": 1], as: caller)
                #expect((changed.status == 200) == isIn)
                let read = try await server.send("GET", "/classes/Card/\(card)", as: caller)
                #expect((read["pin"] == "1234") == isIn)
            }
        }
    }

    @Test("A look-alike id belongs to another object and another user", arguments: pairs)
    func ids(_ pair: Pair) async throws {
        try await TestServer.run(["allowCustomObjectId": true]) { server in
            for (id, name) in [(pair.real, "kim"), (pair.fake, "eve")] {
                _ = try await server.send(
                    "POST", "/users",
                    [
                        "objectId": .string(id), "username": .string(name), "password": "p",
                        "email": .string("\(name)@example.org"), "ACL": ["*": ["read": true]],
                    ]
                ).succeeded()
                _ = try await server.create(
                    "Song", ["objectId": .string(id), "title": .string(name)], as: .master)
            }
            let eve = try await server.send("POST", "/login", ["username": "eve", "password": "p"]).succeeded()
            let caller = TestServer.Identity.session(try eve.string("sessionToken"))
            let kim = try await server.send("GET", "/users/\(Self.escaped(pair.real))", as: caller)
            #expect(kim["username"] == "kim")
            #expect(kim["email"] == nil)
            let song = try await server.send("GET", "/classes/Song/\(Self.escaped(pair.real))")
            #expect(song["title"] == "kim")
            let changed = try await server.send(
                "PUT", "/users/\(Self.escaped(pair.real))", ["phone": "1"], as: caller)
            #expect(changed.status >= 400)
            let deleted = try await server.send("DELETE", "/users/\(Self.escaped(pair.real))", as: caller)
            #expect(deleted.status >= 400)
            _ = try await server.send(
                "POST", "/schemas/Vault",
                ["classLevelPermissions": ["find": .object([Name(pair.real): true])]], as: .master
            ).succeeded()
            #expect(try await server.find("Vault", nil, as: caller).code == 119)
        }
    }

    @Test("Keeps look-alike keys and list elements apart in objects, config and updates", arguments: pairs)
    func members(_ pair: Pair) async throws {
        try await TestServer.run { server in
            let both: JSONValue = .object([Name(pair.real): 1, Name(pair.fake): 2])
            let id = try await server.create("Song", ["o": both])
            let read = try await server.send("GET", "/classes/Song/\(id)")
            #expect(read["o"]?[pair.real] == 1)
            #expect(read["o"]?[pair.fake] == 2)
            _ = try await server.send("PUT", "/classes/Song/\(id)", .object(["o.\(pair.fake)": .increment(5)]))
                .succeeded()
            let again = try await server.send("GET", "/classes/Song/\(id)")
            #expect(again["o"]?[pair.real] == 1)
            #expect(again["o"]?[pair.fake] == 7)
            let list: JSONValue = [.string(pair.real), .string(pair.fake)]
            let unique = try await server.create("Song", ["list": ["__op": "AddUnique", "objects": list]])
            #expect(try await server.send("GET", "/classes/Song/\(unique)")["list"] == list)
            _ = try await server.send("PUT", "/config", ["params": ["member": both]], as: .master).succeeded()
            #expect(try await server.send("GET", "/config", as: .master)["params"]?["member"] == both)
        }
    }

    @Test("Look-alike class and field names reach no data and cause no server error")
    func classes() async throws {
        try await TestServer.run { server in
            _ = try await server.send("POST", "/schemas/TasK", ["fields": ["Key": ["type": "String"]]], as: .master)
                .succeeded()
            let id = try await server.create("TasK", ["Key": "v"])
            let name = "Tas%E2%84%AA"
            let requests: [(String, String, JSONValue?)] = [
                ("GET", "/classes/\(name)", nil), ("GET", "/classes/\(name)/\(id)", nil),
                ("POST", "/classes/\(name)", ["a": 1]), ("PUT", "/classes/\(name)/\(id)", ["a": 1]),
                ("DELETE", "/classes/\(name)/\(id)", nil), ("GET", "/aggregate/\(name)?distinct=Key", nil),
                ("DELETE", "/purge/\(name)", nil), ("GET", "/schemas/\(name)", nil), ("POST", "/schemas/\(name)", [:]),
                ("PUT", "/schemas/\(name)", ["fields": ["b": ["type": "String"]]]), ("DELETE", "/schemas/\(name)", nil),
                ("POST", "/import_data/\(name)", ["results": [["a": 1]]]),
                ("GET", "/classes/TasK?keys=%E2%84%AAey&order=%E2%84%AAey", nil),
                ("GET", "/classes/TasK?where=%7B%22%E2%84%AAey%22%3A%22v%22%7D", nil),
                ("PUT", "/classes/TasK/\(id)", .object(["\u{212A}ey": "w"])),
            ]
            for identity: TestServer.Identity in [.anonymous, .master] {
                for (method, path, body) in requests {
                    let answer = try await server.send(method, path, body, as: identity)
                    #expect(answer.status < 500, "\(method) \(path) \(answer.text)")
                    #expect(!answer.text.contains("\"Key\""), "\(method) \(path) \(answer.text)")
                }
            }
            #expect(try await server.send("GET", "/classes/TasK/\(id)")["Key"] == "v")
        }
    }

    @Test(
        "Rejects user ids and role names that read as another principal",
        arguments: [
            "*", "role:Admins", "role:\u{301}x", "userField:owner", "requiresAuthentication", "authenticated",
            "pointerFields", "currentUser",
        ])
    func reservedIds(_ id: String) async throws {
        try await TestServer.run(["allowCustomObjectId": true]) { server in
            let user: JSONValue = ["objectId": .string(id), "username": "eve", "password": "p"]
            for identity: TestServer.Identity in [.anonymous, .master] {
                for path in ["/users", "/classes/_User"] {
                    let answer = try await server.send("POST", path, user, as: identity)
                    #expect(answer.code == 119, "\(path) \(answer.text)")
                    #expect(answer["error"] == "Invalid object ID.")
                }
            }
            let role = try await server.send(
                "POST", "/roles", ["name": .string(id), "ACL": [:]], as: .master)
            #expect(role.code == 139, "\(role.text)")
            let kept = try await server.create("_Role", ["name": "Kept", "ACL": [:]], as: .master)
            let renamed = try await server.send("PUT", "/roles/\(kept)", ["name": .string(id)], as: .master)
            #expect(renamed.code == 139, "\(renamed.text)")
        }
    }

    @Test(
        "A stored user whose id reads as another principal doesn't gain its access",
        arguments: ["userField:owner", "role:Kings"])
    func storedReservedId(_ id: String) async throws {
        try await TestServer.run { server in
            let eve = try await server.signUp("eve")
            let kim = try await server.signUp("kim")
            let principal = Name(id)
            _ = try await server.send(
                "POST", "/schemas/Card",
                [
                    "fields": ["pin": ["type": "String"], "owner": ["type": "Pointer", "targetClass": "_User"]],
                    "classLevelPermissions": [
                        "find": ["*": true], "get": ["*": true], "create": ["*": true],
                        "protectedFields": .object(["*": ["pin"], principal: []]),
                    ],
                ], as: .master
            ).succeeded()
            let card = try await server.create(
                "Card", ["pin": "1234", "owner": .pointer("_User", kim.id)], as: .master)
            let song = try await server.create(
                "Song", ["ACL": .object([principal: ["read": true]])], as: .master)
            try await server.execute("UPDATE \"_User\" SET \"objectId\" = '\(id)' WHERE \"objectId\" = '\(eve.id)'")
            let login = try await server.send("POST", "/login", ["username": "eve", "password": "secret"])
            // If the user's session is rejected, nobody has the permission.
            guard let token = login["sessionToken"]?.stringValue else { return }
            let caller = TestServer.Identity.session(token)
            #expect(try await server.send("GET", "/classes/Card/\(card)", as: caller)["pin"] == nil)
            #expect(try await server.send("GET", "/classes/Song/\(song)", as: caller).status >= 400)
        }
    }

    @Test(
        "User names and email addresses that differ only in case are the same in every script",
        arguments: [
            ("\u{FC}nal", "\u{DC}NAL"), ("kim", "\u{212A}IM"),
            ("\u{3BF}\u{3B4}\u{3BF}\u{3C2}", "\u{39F}\u{394}\u{39F}\u{3A3}"),
            ("\u{436}\u{443}\u{43A}", "\u{416}\u{423}\u{41A}"), ("max", "MAX"), ("\u{10428}a", "\u{10400}A"),
        ])
    func letterCase(_ name: String, _ other: String) async throws {
        try await TestServer.run { server in
            _ = try await server.signUp(name, password: "p", ["email": .string("\(name)@example.org")])
            let taken = try await server.send("POST", "/users", ["username": .string(other), "password": "p"])
            #expect(taken.code == 202, "\(taken.text)")
            let mail = try await server.send(
                "POST", "/users",
                ["username": "another", "password": "p", "email": .string("\(other)@EXAMPLE.org")])
            #expect(mail.code == 203, "\(mail.text)")
            // Log-ins contain the name unchanged.
            #expect(
                try await server.send("POST", "/login", ["username": .string(name), "password": "p"]).status == 200)
        }
    }

    @Test("Look-alike installation ids and session tokens are distinct")
    func headers() async throws {
        try await TestServer.run { server in
            let fields: (String) -> JSONValue = { id in
                ["deviceType": "ios", "installationId": .string("k-\(id)"), "deviceToken": .string("t-\(id)")]
            }
            _ = try await server.send("POST", "/installations", fields("caf\u{E9}")).succeeded()
            _ = try await server.send("POST", "/installations", fields("cafe\u{301}")).succeeded()
            #expect(try await server.find("_Installation", nil, as: .master).results.count == 2)
            let kim = try await server.signUp("kim")
            let other = try await server.send(
                "GET", "/users/me", headers: ["X-Parse-Session-Token": kim.token + "\u{200D}"])
            #expect(other.code == 209)
        }
    }
}
