import Foundation
import JSON
import TestSupport
import Testing

/// Sign-in adapters that record their calls. A function returns the calls.
@Suite("Calls to sign-in adapters in JavaScript")
struct AdapterScenarioTests {
    private static let code = """
        const { ParseServer } = require('parse-server');
        let calls = [];
        const note = (name, request) => { calls.push(`${name} ${request.triggerName}`); };
        const check = name => (data, options, request) => {
          note(name, request);
          if (data.bad) throw new Parse.Error(101, `${name} says no`);
        };
        const step = (data, options, request) => {
          note('my', request);
          return { response: { n: 1 }, doNotSave: data.transient };
        };
        new ParseServer({
          appId: 'testApp', masterKey: 'testMaster',
          auth: {
            my: { validateSetUp: step, validateLogin: step, validateUpdate: step },
            first: { validateAuthData: check('first') },
            second: { validateAuthData: check('second'), challenge: ({ ask }) => ({ code: () => 1 }[ask] ?? (ask && { question: ask })) },
            factor: { policy: 'additional', validateAuthData: check('factor') },
            whole: { policy: 'solo', validateAuthData: check('whole') },
            asked: { policy: (request, { role }) => role, validateAuthData: check('asked') },
            shown: {
              validateAuthData() {},
              async afterFind({ id, how }, options, { triggerName, master, user, ip }) {
                calls.push(`${triggerName} ${id} ${master} ${user?.get('username')} ${ip}`);
                if (how === 'fail') throw new Error('no');
                if (how === 'stop') await new Promise(() => {});
                if (how === 'ask') await new Parse.Query('_User').find({ useMasterKey: true });
                return how === 'keep' ? undefined : { id, name: `n${id}` };
              },
            },
            slow: { validateAuthData: data => data.slow && new Promise(resolve => setTimeout(resolve, 20_000)) },
          },
          cloud: Parse => {
            Parse.Cloud.define('calls', () => calls.splice(0));
            Parse.Cloud.beforeSave('_User', ({ object }) => {
              if (object.get('noted')) calls.push('beforeSave');
              const id = object.get('steals');
              if (id) object.set('authData', { first: { id } });
            });
          },
        });
        """

    private static func serve(_ body: @escaping @Sendable (TestServer) async throws -> Void) async throws {
        try await IndexApp.serve(["index.js": code], ["enforcePrivateUsers": false]) { server, _, _ in
            try await body(server)
        }
    }

    private static func signUp(_ server: TestServer, _ data: JSONObject, _ more: JSONObject = [:]) async throws
        -> TestAnswer
    {
        try await server.send("POST", "/users", .object(more.merging(["authData": .object(data)]) { $1 }))
    }

    /// The calls since the last request.
    private static func calls(_ server: TestServer) async throws -> JSONValue? {
        try await server.call("calls")["result"]
    }

    @Test("Calls the adapter's set-up, log-in or update method, and none if the login data didn't change")
    func purposes() async throws {
        try await Self.serve { server in
            let user = try await Self.signUp(server, ["my": ["id": "1", "t": "a"]])
            #expect(user.status == 201 && user["authDataResponse"]?["my"]?["n"] == 1, "\(user.text)")
            #expect(try await Self.calls(server) == ["my validateSetUp"])
            let login = try await Self.signUp(server, ["my": ["id": "1", "t": "b"]])
            #expect(login.status == 200 && login["authDataResponse"]?["my"]?["n"] == 1, "\(login.text)")
            #expect(try await Self.calls(server) == ["my validateLogin"])
            let path = "/users/\(try user.string("objectId"))"
            let session = TestServer.Identity.session(try login.string("sessionToken"))
            for (data, expected) in [("b", []), ("c", ["my validateUpdate"])] as [(JSONValue, JSONValue)] {
                let update = try await server.send(
                    "PUT", path, ["authData": ["my": ["id": "1", "t": data]]], as: session)
                #expect(update.status == 200, "\(update.text)")
                #expect((update["authDataResponse"] != nil) == (expected != []), "\(update.text)")
                #expect(try await Self.calls(server) == expected)
            }
            let stored = try await server.send("GET", path, as: .master)
            #expect(stored["authData"]?["my"]?["t"] == "c" && stored["authDataResponse"] == nil, "\(stored.text)")
        }
    }

    @Test("doNotSave at a sign-up with a password stores no login data")
    func transient() async throws {
        try await Self.serve { server in
            let login: JSONObject = ["username": "kim", "password": "secret"]
            let user = try await Self.signUp(server, ["my": ["id": "1", "transient": true]], login)
            #expect(user.status == 201 && user["authDataResponse"]?["my"]?["n"] == 1, "\(user.text)")
            let stored = try await server.send("GET", "/users/\(try user.string("objectId"))", as: .master)
            #expect(stored["username"] == "kim" && stored["authData"] == nil, "\(stored.text)")
        }
    }

    @Test("Calls adapters in alphabetical order and stops at the first that rejects")
    func order() async throws {
        try await Self.serve { server in
            let refused = try await Self.signUp(server, ["second": ["id": "1"], "first": ["id": "1", "bad": true]])
            #expect(refused.code == 101 && refused.error == "first says no", "\(refused.text)")
            #expect(try await Self.calls(server) == ["first validateAuthData"])
            let user = try await Self.signUp(server, ["second": ["id": "1"], "first": ["id": "1"]])
            #expect(user.status == 201, "\(user.text)")
            #expect(try await Self.calls(server) == ["first validateAuthData", "second validateAuthData"])
        }
    }

    @Test("Password log-ins accept an additional or solo provider, and fail without one or if it rejects")
    func solo() async throws {
        try await Self.serve { server in
            let login: JSONObject = ["username": "kim", "password": "secret"]
            let user = try await Self.signUp(server, ["factor": ["id": "1"], "whole": ["id": "1"]], login)
            #expect(user.status == 201, "\(user.text)")
            let cases: [(data: JSONObject, status: Int, error: String?)] = [
                ([:], 400, "Missing additional authData factor"), (["whole": ["id": "1"]], 200, nil),
                (["factor": ["id": "1"]], 200, nil), (["factor": ["id": "1", "bad": true]], 404, "factor says no"),
            ]
            for (data, status, error) in cases {
                let proof: JSONObject = data.isEmpty ? [:] : ["authData": .object(data)]
                let answer = try await server.send("POST", "/login", .object(login.merging(proof) { $1 }))
                #expect(answer.status == status && answer.error == error, "\(data): \(answer.text)")
                if data.isEmpty { #expect(answer.code == -1) }
            }
        }
    }

    @Test("A policy function decides at log-in whether an additional provider is required")
    func policyFunction() async throws {
        try await Self.serve { server in
            let cases: [(role: String, status: Int, error: String?)] = [
                ("solo", 200, nil), ("default", 400, "Missing additional authData factor"), ("additional", 200, nil),
            ]
            for (role, status, error) in cases {
                let login: JSONObject = ["username": .string(role), "password": "secret"]
                let asked: JSONObject = ["asked": ["id": .string(role), "role": .string(role)]]
                let user = try await Self.signUp(
                    server, asked.merging(["factor": ["id": .string(role)]]) { $1 }, login)
                #expect(user.status == 201, "\(user.text)")
                let answer = try await server.send(
                    "POST", "/login", .object(login.merging(["authData": .object(asked)]) { $1 }))
                #expect(answer.status == status && answer.error == error, "\(role): \(answer.text)")
            }
        }
    }

    @Test("Unlinks a provider without calling its adapter, but never the user's last way to log in")
    func unlinking() async throws {
        try await Self.serve { server in
            let user = try await Self.signUp(server, ["first": ["id": "1"], "second": ["id": "1"]])
            let path = "/users/\(try user.string("objectId"))"
            let session = TestServer.Identity.session(try user.string("sessionToken"))
            _ = try await Self.calls(server)
            let removed = try await server.send("PUT", path, ["authData": ["first": .null]], as: session)
            #expect(removed.status == 200, "\(removed.text)")
            let last = try await server.send("PUT", path, ["authData": ["second": .null]], as: session)
            #expect(last.code == 142, "\(last.text)")
            #expect(try await Self.calls(server) == [])
            let stored = try await server.send("GET", path, as: .master)
            #expect(stored["authData"] == ["second": ["id": "1"]], "\(stored.text)")
        }
    }

    @Test("Challenges return the adapter's response or true, skip unknown providers and hide why a log-in failed")
    func challenges() async throws {
        try await Self.serve { server in
            #expect(try await Self.signUp(server, ["second": ["id": "1"]]).status == 201)
            let cases: [(body: JSONValue, answer: JSONValue)] = [
                (["challengeData": ["second": ["ask": "name"]]], ["challengeData": ["second": ["question": "name"]]]),
                (["challengeData": ["second": [:]]], ["challengeData": ["second": true]]),
                (["challengeData": ["second": ["ask": "code"]]], ["challengeData": ["second": true]]),
                (["challengeData": ["other": ["ask": "name"]]], ["challengeData": [:]]),
                (
                    ["challengeData": ["second": [:]], "authData": ["second": ["id": "2"]]],
                    ["code": 101, "error": "User not found."]
                ),
                (
                    ["challengeData": ["second": [:]], "authData": ["second": ["id": "1", "bad": true]]],
                    ["code": 101, "error": "User not found."]
                ),
            ]
            for (body, expected) in cases {
                let answer = try await server.send("POST", "/challenge", body)
                #expect(answer.json == expected, "\(body.text): \(answer.text)")
            }
        }
    }

    @Test("afterFind filters login data in log-in responses, gets and includes, also for the master key")
    func afterFind() async throws {
        try await Self.serve { server in
            let data: JSONObject = ["shown": ["id": "1", "token": "t"]]
            let user = try await Self.signUp(server, data, ["username": "kim", "password": "secret"])
            let id = try user.string("objectId")
            let session = TestServer.Identity.session(try user.string("sessionToken"))
            _ = try await server.create("Song", ["by": .pointer("_User", id)])
            _ = try await Self.calls(server)
            let login = try await server.send("POST", "/login", ["username": "kim", "password": "secret"])
            #expect(try await Self.calls(server) == ["afterFind 1 false undefined 127.0.0.1"])
            let again = try await Self.signUp(server, data)
            _ = try await Self.calls(server)
            let me = try await server.send("GET", "/users/me", as: session)
            #expect(try await Self.calls(server) == ["afterFind 1 false kim 127.0.0.1"])
            let found = try await server.send("GET", "/users/\(id)", as: session)
            _ = try await Self.calls(server)
            let master = try await server.send("GET", "/users/\(id)", as: .master)
            #expect(try await Self.calls(server) == ["afterFind 1 true undefined 127.0.0.1"])
            for answer in [login, again, me, found, master] {
                #expect(answer["authData"] == ["shown": ["id": "1", "name": "n1"]], "\(answer.text)")
            }
            _ = try await Self.calls(server)
            let song = try await server.find("Song", ["include": "by"], as: session).results.first
            #expect(song?["by"]?["username"] == "kim" && song?["by"]?["authData"] == nil, "\(song?.text ?? "")")
            #expect(try await Self.calls(server) == [])
            let all = try await server.find("Song", ["include": "by"], as: .master).results.first
            #expect(all?["by"]?["authData"] == ["shown": ["id": "1", "name": "n1"]], "\(all?.text ?? "")")
        }
    }

    @Test("Omits login data whose afterFind fails or hangs, and keeps it in the database")
    func failingAfterFind() async throws {
        try await Self.serve { server in
            func shown(_ name: String) async throws -> JSONValue? {
                let users = try await server.find("_User", ["where": ["username": .string(name)]], as: .master)
                #expect(users.status == 200 && users.results.count == 1, "\(users.text)")
                return users.results.first?["authData"]
            }
            for (how, expected) in [
                ("fail", nil), ("keep", ["shown": ["id": "keep", "how": "keep"]]),
                ("ask", ["shown": ["id": "ask", "name": "nask"]]),
            ] as [(String, JSONValue?)] {
                let data: JSONObject = ["shown": ["id": .string(how), "how": .string(how)]]
                let login: JSONObject = ["username": .string(how), "password": "secret"]
                #expect(try await Self.signUp(server, data, login).status == 201)
                #expect(try await shown(how) == expected, "\(how)")
            }
            // A user whose data fails doesn't affect the others.
            _ = try await Self.calls(server)
            let users = try await server.find("_User", ["order": "username"], as: .master).results
            #expect(users.map { $0["authData"] != nil } == [true, false, true], "\(users)")
            let data: JSONObject = ["first": ["id": "1"], "shown": ["id": "stop", "how": "stop"]]
            #expect(try await Self.signUp(server, data, ["username": "stop", "password": "secret"]).status == 201)
            #expect(try await shown("stop") == ["first": ["id": "1"]])
            let rows = try await server.texts("SELECT \"authData\"::text FROM \"_User\" WHERE username = 'stop'")
            #expect(rows.allSatisfy { $0.contains("stop") }, "\(rows)")
        }
    }

    @Test("Ignores login data that a client sends back as afterFind returned it, in any key order")
    func echoes() async throws {
        try await Self.serve { server in
            let user = try await Self.signUp(server, ["shown": ["id": "1", "token": "t"], "first": ["id": "1"]])
            let path = "/users/\(try user.string("objectId"))"
            let session = TestServer.Identity.session(try user.string("sessionToken"))
            func save(_ data: JSONValue, as identity: TestServer.Identity) async throws -> String {
                let saved = try await server.send(
                    "PUT", path, ["bio": "b", "authData": ["shown": data, "first": ["id": "1"]]], as: identity)
                #expect(saved.status == 200, "\(saved.text)")
                return try await server.texts("SELECT \"authData\" #>> '{shown,token}' FROM \"_User\"").joined()
            }
            _ = try await Self.calls(server)
            for identity in [session, .master] {
                #expect(try await save(["name": "n1", "id": "1"], as: identity) == "t")
            }
            let calls = try await Self.calls(server)?.arrayValue?.compactMap(\.stringValue) ?? []
            #expect(!calls.isEmpty && calls.allSatisfy { $0.hasPrefix("afterFind 1 ") }, "\(calls)")
            #expect(try await save(["name": "n2", "id": "1"], as: session) == "")
        }
    }

    @Test("Logs the provider, user and error when afterFind fails")
    func failureLog() async throws {
        try await Self.serve { server in
            let user = try await Self.signUp(server, ["shown": ["id": "1", "how": "fail"]])
            let id = try user.string("objectId")
            #expect(try await server.send("GET", "/users/\(id)", as: .master).status == 200)
            #expect(try await server.logs("Failed running auth step afterFind for shown for user \(id): Error: no"))
        }
    }

    @Test("A hanging adapter times out without creating a session, and doesn't delay other sign-ups")
    func slow() async throws {
        try await Self.serve { server in
            async let refused = Self.signUp(server, ["slow": ["id": "1", "slow": true]])
            let began = ContinuousClock.now
            #expect(try await Self.signUp(server, ["slow": ["id": "2"]]).status == 201)
            #expect(try await Self.calls(server) == [])
            #expect(ContinuousClock.now - began < .seconds(9))
            let answer = try await refused
            #expect(answer.code == 124 && answer.error == "Cloud code timed out.", "\(answer.text)")
            let sessions = try await server.send("GET", "/sessions", as: .master)
            #expect(sessions.results.count == 1, "\(sessions.text)")
        }
    }

    @Test("Rejects a sign-up if beforeSave sets another user's login data, without calling an adapter")
    func stealing() async throws {
        try await Self.serve { server in
            #expect(try await Self.signUp(server, ["first": ["id": "1"]]).status == 201)
            _ = try await Self.calls(server)
            let thief = try await server.send(
                "POST", "/users", ["username": "lee", "password": "secret", "steals": "1"])
            #expect(thief.code == 208, "\(thief.text)")
            #expect(try await Self.calls(server) == [])
        }
    }

    @Test("Updates call the adapter before beforeSave, and not for login data that beforeSave sets")
    func updates() async throws {
        try await Self.serve { server in
            #expect(try await Self.signUp(server, ["first": ["id": "1"]]).status == 201)
            let lee = try await server.signUp("lee")
            let max = try await server.signUp("max")
            func change(_ user: (id: String, token: String), _ body: JSONValue) async throws -> TestAnswer {
                try await server.send("PUT", "/users/\(user.id)", body, as: .session(user.token))
            }
            _ = try await Self.calls(server)
            let stolen = try await change(lee, ["steals": "1"])
            #expect(stolen.code == 208, "\(stolen.text)")
            let own = try await change(lee, ["steals": "2"])
            #expect(own.status == 200 && own["authDataResponse"] == nil, "\(own.text)")
            #expect(try await Self.calls(server) == [])
            // The trigger replaces what the client sends.
            let replaced = try await change(lee, ["authData": ["second": ["id": "3"]]])
            #expect(replaced.status == 200, "\(replaced.text)")
            #expect(try await Self.calls(server) == ["second validateAuthData"])
            let stored = try await server.send("GET", "/users/\(lee.id)", as: .master)
            #expect(stored["authData"] == ["first": ["id": "2"]], "\(stored.text)")
            let refused = try await change(max, ["noted": true, "authData": ["second": ["id": "4", "bad": true]]])
            #expect(refused.code == 101, "\(refused.text)")
            #expect(try await Self.calls(server) == ["second validateAuthData"])
            let linked = try await change(max, ["noted": true, "authData": ["second": ["id": "4"]]])
            #expect(linked.status == 200, "\(linked.text)")
            #expect(try await Self.calls(server) == ["second validateAuthData", "beforeSave"])
        }
    }

    @Test("A custom module replaces only the login-data check of a built-in provider")
    func replacing() async throws {
        let module = """
            module.exports = {
              validateAuthData(data, { players }) { if (!players.includes(data.id)) throw new Error('own module says no'); },
            };
            """
        try await IndexApp.with(["my.js": module]) { app in
            let entry: JSONValue = ["module": "./my.js", "players": ["p"]]
            try await TestServer.run(
                ["auth": ["gcenter": entry, "google": entry]], configure: { $0.resolvePaths(in: app.folder) }
            ) { server in
                // The built-in step takes the id from another member.
                let user = try await Self.signUp(server, ["gcenter": ["playerId": "p"]])
                #expect(user.status == 201, "\(user.text)")
                #expect(try await Self.signUp(server, ["gcenter": ["id": "p"]])["objectId"] == user["objectId"])
                #expect(try await Self.signUp(server, ["google": ["id": "p"]]).status == 201)
                for provider: Name in ["gcenter", "google"] {
                    let refused = try await Self.signUp(server, [provider: ["id": "q"]])
                    #expect(refused.code == 141 && refused.error == "own module says no", "\(refused.text)")
                }
            }
        }
    }

    @Test(
        "Refuses to start if an adapter module is missing or throws, and names the file",
        arguments: [
            ("\nthrow new Error('broken');", "./my.js", ["auth.my: broken", "my.js:2"]),
            ("", "./gone.js", ["auth.my: Cannot find module", "gone.js"]),
        ])
    func refused(code: String, module: String, texts: [String]) async throws {
        try await IndexApp.with(["my.js": code]) { app in
            let options: JSONObject = ["auth": ["my": ["module": .string(module)]]]
            let error = await #expect(throws: (any Error).self) {
                try await TestServer.run(options, configure: { $0.resolvePaths(in: app.folder) }) { _ in }
            }
            let message = error.map { "\($0)" } ?? ""
            #expect(texts.allSatisfy { message.contains($0) }, "\(message)")
        }
    }
}
