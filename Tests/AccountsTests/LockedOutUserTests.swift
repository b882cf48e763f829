import JSON
import TestSupport
import Testing

/// Users locked out by the master key, and users' access to their login data.
@Suite struct LockedOutUserTests {
    @Test("A user with an empty ACL can't log in by password or provider, except with the master key")
    func lockedOut() async throws {
        for acl: JSONValue in [[:], ["__op": "Delete"]] {
            try await TestServer.run { server in
                let kim = try await server.signUp("kim", ["authData": ["anonymous": ["id": "device"]]])
                _ = try await server.send("PUT", "/users/\(kim.id)", ["ACL": acl], as: .master).succeeded()
                let stored = try await server.rows(
                    "SELECT \"_rperm\"::text, \"_wperm\"::text FROM \"_User\"")
                #expect(stored == [["{}", "{}"]])
                for path in ["/login", "/verifyPassword"] {
                    let answer = try await server.send("POST", path, ["username": "kim", "password": "secret"])
                    #expect(answer.status == 404)
                    #expect(answer.code == 101)
                    #expect(answer.error == "Invalid username/password.")
                }
                let device = try await server.send("POST", "/users", ["authData": ["anonymous": ["id": "device"]]])
                #expect(device.code == 208, "\(device.text)")
                let master = try await server.send(
                    "POST", "/login", ["username": "kim", "password": "secret"], as: .master)
                #expect(master.status == 200)
            }
        }
    }

    @Test("Stores any ACL that the master key sets for a user, but users can't lock themselves out")
    func stored() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            func acl() async throws -> [String?] {
                try await server.rows("SELECT \"_rperm\"::text, \"_wperm\"::text FROM \"_User\"")[0]
            }
            _ = try await server.send("PUT", "/users/\(kim.id)", ["ACL": ["*": ["read": true]]], as: .master)
                .succeeded()
            #expect(try await acl() == ["{*}", "{}"])
            #expect(try await server.send("POST", "/login", ["username": "kim", "password": "secret"]).status == 200)
            _ = try await server.send("PUT", "/users/\(kim.id)", ["ACL": .null], as: .master).succeeded()
            #expect(try await acl() == ["{*}", "{}"])
            _ = try await server.send(
                "PUT", "/users/\(kim.id)", ["ACL": [Name(kim.id): ["read": true, "write": true]]], as: .master
            ).succeeded()
            for own: JSONValue in [[:], ["__op": "Delete"], ["role:x": ["write": true]]] {
                let answer = try await server.send(
                    "PUT", "/users/\(kim.id)", ["ACL": own], as: .session(kim.token))
                #expect(answer.status == 200, "\(answer.text)")
                #expect(try await acl()[0]?.contains(kim.id) == true)
                #expect(try await acl()[1]?.contains(kim.id) == true)
            }
        }
    }

    @Test("Returns authData to users who request only themselves and to the master key, not in lists or includes")
    func providerData() async throws {
        try await TestServer.run { server in
            let made = try await server.send("POST", "/users", ["authData": ["anonymous": ["id": "device"]]])
            let (id, token) = (try made.string("objectId"), try made.string("sessionToken"))
            let me = TestServer.Identity.session(token)
            let other = try await server.signUp("lou")
            let note = try await server.create("Note", ["author": .pointer("_User", id)])
            for path in ["/users/me", "/users/\(id)", "/classes/_User/\(id)"] {
                let answer = try await server.send("GET", path, as: me)
                #expect(answer["authData"] == ["anonymous": ["id": "device"]], "\(path)")
            }
            let asked = try await server.find("_User", ["where": ["objectId": .string(id)]], as: me)
            #expect(asked.results.first?["authData"] != nil)
            #expect(try await server.find("_User", as: .master).text.contains("device"))
            for identity in [me, .session(other.token), .anonymous] {
                let listed = try await server.find("_User", as: identity)
                #expect(listed.results.count == 2)
                #expect(!listed.text.contains("authData"))
                let included = try await server.send("GET", "/classes/Note/\(note)?include=author", as: identity)
                #expect(included["author"]?["username"] != nil)
                #expect(!included.text.contains("authData"))
                let found = try await server.find("Note", ["include": "author"], as: identity)
                #expect(!found.text.contains("authData"))
            }
        }
    }

    @Test(
        "Empty authData creates a user up to preset 8 only, and empty data of a provider never does",
        arguments: [7, 8, 9])
    func emptyProviders(preset: Int) async throws {
        try await TestServer.run(["preset": .number(Double(preset)), "masterKeyIps": ["0.0.0.0/0", "::0"]]) { server in
            for authData: JSONValue in [[:], ["anonymous": .null]] {
                let answer = try await server.send("POST", "/users", ["authData": authData])
                if preset < 9 {
                    #expect(answer.status == 201, "\(answer.text)")
                    #expect(answer["username"]?.stringValue?.isEmpty == false)
                    #expect(answer["sessionToken"] != nil)
                } else {
                    #expect(answer.code == 200, "\(answer.text)")
                }
            }
            for authData: JSONValue in [["anonymous": [:]], ["nosuch": [:]]] {
                let answer = try await server.send("POST", "/users", ["authData": authData])
                #expect(answer.code == (preset < 9 ? 252 : 200), "\(authData): \(answer.text)")
            }
            let unknown = try await server.send("POST", "/users", ["authData": ["nosuch": ["id": "1"]]])
            #expect(unknown.code == 252)
            let kim = try await server.send(
                "POST", "/users", ["username": "kim", "password": "secret", "authData": [:]])
            #expect(kim.status == 201)
            #expect(kim["username"] == nil)
        }
    }

    @Test("Returns the password history to the maintenance key only, in every preset", arguments: [7, 9])
    func history(preset: Int) async throws {
        let options: JSONObject = [
            "preset": .number(Double(preset)), "passwordPolicy": ["maxPasswordHistory": 3],
        ]
        try await TestServer.run(options) { server in
            let kim = try await server.signUp("kim")
            let first = try await server.texts("SELECT \"_hashed_password\" FROM \"_User\"")
            let changed = try await server.send(
                "PUT", "/users/\(kim.id)", ["password": "second"], as: .session(kim.token))
            let second = try await server.texts("SELECT \"_hashed_password\" FROM \"_User\"")
            _ = try await server.send(
                "PUT", "/users/\(kim.id)", ["password": "third"], as: .session(try changed.string("sessionToken"))
            ).succeeded()
            let history = JSONValue.array((first + second).map { .string($0) })
            for path in ["/users/\(kim.id)", "/classes/_User/\(kim.id)"] {
                let answer = try await server.send("GET", path, as: .maintenance)
                #expect(answer["_password_history"] == history, "\(answer.text)")
                #expect((answer["_hashed_password"] == nil) == (preset == 7))
            }
            let found = try await server.find("_User", as: .maintenance)
            #expect(found.results.first?["_password_history"] == history)
            for identity: TestServer.Identity in [.master, .anonymous] {
                #expect(!(try await server.find("_User", as: identity).text.contains("_password_history")))
            }
        }
    }

    @Test(
        "Shows failed log-ins, lockout and password data to the maintenance key, but not to the master key",
        arguments: [7, 9])
    func counted(preset: Int) async throws {
        let options: JSONObject = [
            "preset": .number(Double(preset)), "accountLockout": ["threshold": 1, "duration": 5],
            "passwordPolicy": ["maxPasswordHistory": 1, "maxPasswordAge": 9],
        ]
        try await TestServer.run(options) { server in
            let kim = try await server.signUp("kim")
            _ = try await server.send("PUT", "/users/\(kim.id)", ["password": "second"], as: .master).succeeded()
            _ = try await server.send("POST", "/login", ["username": "kim", "password": "wrong"])
            for path in ["/users/\(kim.id)", "/classes/_User/\(kim.id)"] {
                let user = try await server.send("GET", path, as: .maintenance)
                #expect(user["_failed_login_count"] == 1, "\(user.text)")
                #expect(user["_account_lockout_expires_at"]?["__type"] == "Date", "\(user.text)")
                #expect(user["_password_changed_at"]?["__type"] == "Date", "\(user.text)")
                #expect(user["_password_history"]?.arrayValue?.count == 1, "\(user.text)")
                let master = try await server.send("GET", path, as: .master)
                #expect(!master.text.contains("_failed") && !master.text.contains("_password"), "\(master.text)")
            }
        }
    }

    @Test("The maintenance key can set internal dates as Date objects or strings; other values are rejected")
    func internalDates() async throws {
        let dates: [Name] = [
            "_account_lockout_expires_at", "_perishable_token_expires_at", "_email_verify_token_expires_at",
            "_password_changed_at",
        ]
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            for name in dates {
                for path in ["/users/\(kim.id)", "/classes/_User/\(kim.id)"] {
                    let forms: [(JSONValue, String)] = [
                        ("2026-11-28T09:57:16.129Z", "2026-11-28T09:57:16.129Z"),
                        (.date("2027-01-02T03:04:05.678Z"), "2027-01-02T03:04:05.678Z"),
                        ("2026-11-28T10:57:16+01:00", "2026-11-28T09:57:16.000Z"),
                    ]
                    for (value, date) in forms {
                        let answer = try await server.send("PUT", path, .object([name: value]), as: .maintenance)
                        #expect(answer.status == 200, "\(name) \(value): \(answer.text)")
                        #expect(try await server.user(kim.id)[name] == .date(date))
                    }
                }
                for value: JSONValue in ["tomorrow", "", 5, true, ["a"]] {
                    let answer = try await server.send(
                        "PUT", "/users/\(kim.id)", .object([name: value]), as: .maintenance)
                    #expect(answer.code == 111, "\(name) \(value): \(answer.text)")
                }
                let removed = try await server.send(
                    "PUT", "/users/\(kim.id)", .object([name: ["__op": "Delete"]]), as: .maintenance)
                #expect(removed.status == 200)
                #expect(try await server.user(kim.id)[name] == nil)
            }
            let counted = try await server.send(
                "PUT", "/users/\(kim.id)", ["_failed_login_count": 3], as: .maintenance)
            #expect(counted.status == 200)
            #expect(try await server.user(kim.id)["_failed_login_count"] == 3)
            let created = try await server.send(
                "POST", "/users",
                ["username": "lou", "password": "p", "_account_lockout_expires_at": "2026-11-28T09:57:16.129Z"],
                as: .maintenance)
            #expect(created.status == 201, "\(created.text)")
            let lou = try await server.user(created.string("objectId"))
            #expect(lou["_account_lockout_expires_at"] == .date("2026-11-28T09:57:16.129Z"))
        }
    }

    @Test("Deleting the class _Session invalidates all session tokens, and log-ins still work")
    func noSessions() async throws {
        try await TestServer.run(["cacheTTL": 0]) { server in
            let kim = try await server.signUp("kim")
            _ = try await server.send("DELETE", "/purge/_Session", as: .master)
            _ = try await server.send("DELETE", "/classes/_Session", as: .master)
            for id in try await server.texts("SELECT \"objectId\" FROM \"_Session\"") {
                _ = try await server.send("DELETE", "/sessions/\(id)", as: .master).succeeded()
            }
            _ = try await server.send("DELETE", "/schemas/_Session", as: .master).succeeded()
            for path in ["/users/me", "/classes/Song", "/sessions/me"] {
                let answer = try await server.send("GET", path, as: .session(kim.token))
                #expect(answer.status == 400)
                #expect(answer.code == 209, "\(path): \(answer.text)")
            }
            let login = try await server.send("POST", "/login", ["username": "kim", "password": "secret"])
            #expect(login.status == 200, "\(login.text)")
            let me = try await server.send("GET", "/users/me", as: .session(try login.string("sessionToken")))
            #expect(me.status == 200)
        }
    }

    @Test("Reports missing permissions before invalid values")
    func orderOfChecks() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let lou = try await server.signUp("lou")
            _ = try await server.send(
                "POST", "/schemas/Song",
                [
                    "className": "Song", "fields": ["title": ["type": "String"]],
                    "classLevelPermissions": [
                        "create": ["*": true], "update": ["*": true], "get": ["*": true], "find": ["*": true],
                        "addField": [:],
                    ],
                ], as: .master
            ).succeeded()
            let id = try await server.create("Song", ["title": "a"])
            for (method, path) in [("POST", "/classes/Song"), ("PUT", "/classes/Song/\(id)")] {
                let both = try await server.send(method, path, ["title": 1, "fresh": "x"])
                #expect(both.code == 119, "\(both.text)")
                let wrong = try await server.send(method, path, ["title": 1])
                #expect(wrong.code == 111)
            }
            let session = try await server.texts(
                "SELECT \"objectId\" FROM \"_Session\" WHERE \"user\" = '\(lou.id)'")[0]
            for body: JSONValue in [["sessionToken": "x"], ["user": .pointer("_User", kim.id)], ["note": "x"]] {
                let foreign = try await server.send("PUT", "/sessions/\(session)", body, as: .session(kim.token))
                #expect(foreign.code == 101, "\(body): \(foreign.text)")
            }
            let own = try await server.send(
                "PUT", "/sessions/\(session)", ["sessionToken": "x"], as: .session(lou.token))
            #expect(own.code == 105)
        }
    }
}
