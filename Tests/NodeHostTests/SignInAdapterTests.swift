import App
import Foundation
import JSON
import NodeHost
import ServerConfiguration
import TestSupport
import Testing

@Suite("Sign-in adapters in JavaScript")
struct SignInAdapterTests {
    /// Starts a server with `auth.my`, a module in the configuration's folder, and no cloud code.
    private static func serve(
        _ module: String, named name: String = "my.js", _ more: JSONObject = [:], preset: Int = 9,
        _ body: @escaping @Sendable (TestServer) async throws -> Void
    ) async throws {
        try await IndexApp.with([name: module]) { app in
            let entry: JSONObject = ["module": .string("./\(name)")]
            let options: JSONObject = [
                "preset": .number(Double(preset)), "auth": ["my": .object(entry.merging(more) { $1 })],
            ]
            try await TestServer.run(
                options, logger: UnwrittenLog.logger(), configure: { $0.resolvePaths(in: app.folder) }, body)
        }
    }

    private static func signUp(_ server: TestServer, _ data: JSONValue, _ more: JSONObject = [:]) async throws
        -> TestAnswer
    {
        try await server.send("POST", "/users", .object(more.merging(["authData": ["my": data]]) { $1 }))
    }

    @Test("Signs users up and in with an adapter module of the configuration, without cloud code")
    func legacy() async throws {
        let module = """
            module.exports = {
              validateAppId: () => Promise.resolve(),
              validateAuthData: (authData, options) => authData.token === options.secret
                ? Promise.resolve() : Promise.reject(new Error('wrong token')),
            };
            """
        try await Self.serve(module, ["secret": "s"]) { server in
            let first = try await Self.signUp(server, ["id": "1", "token": "s"])
            #expect(first.status == 201, "\(first.text)")
            let second = try await Self.signUp(server, ["id": "1", "token": "s"])
            #expect(second.status == 200 && second["objectId"] == first["objectId"], "\(second.text)")
            let wrong = try await Self.signUp(server, ["id": "1", "token": "x"])
            #expect(wrong.code == 141 && wrong.error == "wrong token", "\(wrong.text)")
        }
    }

    @Test("Instantiates an adapter class with its options, and calls its methods on the instance")
    func classes() async throws {
        let module = """
            export default class My {
              constructor(options) { this.secret = options.secret; }
              check(token) { if (token !== this.secret) throw new Parse.Error(101, 'no'); }
              async validateAuthData(authData) { this.check(authData.token); }
            }
            """
        try await Self.serve(module, named: "my.mjs", ["options": ["secret": "s"]]) { server in
            #expect(try await Self.signUp(server, ["id": "1", "token": "s"]).status == 201)
            let wrong = try await Self.signUp(server, ["id": "1", "token": "x"])
            #expect(wrong.code == 101 && wrong.status == 404, "\(wrong.text)")
        }
    }

    @Test("Provides parse-server's AuthAdapter and httpsRequest to adapters")
    func parseServerModules() async throws {
        let module = """
            const { AuthAdapter, Parse } = require('parse-server');
            const { get, request } = require('parse-server/lib/Adapters/Auth/httpsRequest');
            const Base = require('parse-server/lib/Adapters/Auth/AuthAdapter').default;
            module.exports = class extends AuthAdapter {
              async validateAuthData() {
                const failed = await Promise.all([get('https://127.0.0.1:1/'), request({ port: 1 }, '')].map(sent => sent.catch(error => error.code)));
                return { response: { failed, isBase: Base === AuthAdapter, isParse: Parse === globalThis.Parse } };
              }
            };
            """
        try await Self.serve(module) { server in
            let user = try await Self.signUp(server, ["id": "1"])
            let expected: JSONValue = ["failed": ["ECONNREFUSED", "ECONNREFUSED"], "isBase": true, "isParse": true]
            #expect(user["authDataResponse"]?["my"] == expected, "\(user.text)")
        }
    }

    @Test("Stores, skips or returns login data as validateSetUp, validateLogin and validateUpdate decide")
    func outcomes() async throws {
        let module = """
            module.exports = {
              validateSetUp: (data, options, request) => ({ save: { id: data.id }, response: { step: request.triggerName } }),
              validateLogin: (data, options, request) => ({ doNotSave: true, response: { step: request.triggerName } }),
              validateUpdate: (data, options, request) => ({ response: { step: request.triggerName, master: request.master } }),
            };
            """
        try await Self.serve(module) { server in
            let first = try await Self.signUp(server, ["id": "1", "token": "secret"])
            #expect(first["authDataResponse"]?["my"]?["step"] == "validateSetUp", "\(first.text)")
            let second = try await Self.signUp(server, ["id": "1", "token": "other"])
            #expect(second["authDataResponse"]?["my"]?["step"] == "validateLogin", "\(second.text)")
            let id = try first.string("objectId")
            let stored = try await server.send("GET", "/users/\(id)", as: .master)
            #expect(stored["authData"]?["my"] == ["id": "1"], "\(stored.text)")
            #expect(stored["authDataResponse"] == nil)
            let changed = try await server.send(
                "PUT", "/users/\(id)", ["authData": ["my": ["id": "1", "token": "new"]]], as: .master)
            #expect(changed["authDataResponse"]?["my"]?["step"] == "validateUpdate", "\(changed.text)")
            #expect(changed["authDataResponse"]?["my"]?["master"] == true)
        }
    }

    @Test("Adapters get the caller's address, headers and installation id, without server keys")
    func request() async throws {
        let module = """
            module.exports = {
              validateAuthData: (data, options, { ip, headers, installationId }) => ({
                response: { ip, own: headers['x-own'], key: headers['x-parse-master-key'] ?? 'none', installationId },
              }),
            };
            """
        try await Self.serve(module) { server in
            let answer = try await server.send(
                "POST", "/users", ["authData": ["my": ["id": "1"]]], as: .master,
                headers: ["X-Parse-Installation-Id": "i1", "X-Own": "a"])
            let response = try #require(answer["authDataResponse"]?["my"], "\(answer.text)")
            #expect(response["ip"] == "127.0.0.1" && response["key"] == "none", "\(answer.text)")
            #expect(response["own"] == "a" && response["installationId"] == "i1", "\(answer.text)")
        }
    }

    @Test("Calls validateAppId before validateAuthData, both with the provider's configuration")
    func arguments() async throws {
        let module = """
            const seen = [];
            module.exports = {
              validateAppId(appIds, data, options, request) { seen.push(`${appIds} ${data.id} ${options.own} ${request.ip}`); },
              validateAuthData: (data, options, request) => ({ response: { seen, entry: options, step: request.triggerName } }),
            };
            """
        try await Self.serve(module, ["appIds": ["a", "b"], "own": 1]) { server in
            let answer = try await Self.signUp(server, ["id": "1"])
            let response = try #require(answer["authDataResponse"]?["my"], "\(answer.text)")
            #expect(response["seen"] == ["a,b 1 1 127.0.0.1"] && response["step"] == "validateAuthData", "\(response)")
            let entry = response["entry"]
            #expect(entry?["appIds"] == ["a", "b"] && entry?["own"] == 1, "\(response)")
            #expect(entry?["module"]?.stringValue?.hasSuffix("my.js") == true, "\(response)")
        }
    }

    /// An adapter that returns the users of its request.
    private static let describing = """
        const told = user => user && {
          isUser: user instanceof Parse.User, id: user.id ?? null, name: user.get('username') ?? null,
          bio: user.get('bio') ?? null, providers: Object.keys(user.get('authData') ?? {}).join(),
          isSafe: !/secret|[Pp]assword|sessionToken/.test(JSON.stringify(user)),
        };
        const users = ({ object, original, user, isChallenge, triggerName }) => ({
          object: told(object) ?? null, original: told(original) ?? null, user: told(user) ?? null,
          isChallenge: isChallenge ?? false, triggerName,
        });
        module.exports = {
          validateAuthData: (data, options, request) => ({ response: users(request) }),
          challenge: (data, authData, options, request) => users(request),
        };
        """

    @Test("Adapters get the new user, the stored user and the caller, without secrets")
    func users() async throws {
        try await Self.serve(Self.describing) { server in
            func request(_ answer: TestAnswer) throws -> JSONValue {
                try #require(answer["authDataResponse"]?["my"], "\(answer.text)")
            }
            let name: JSONObject = ["username": "kim", "password": "secret", "bio": "old"]
            let signUp = try await server.send(
                "POST", "/users",
                .object(name.merging(["authData": ["my": ["id": "1"], "anonymous": ["id": "a"]]]) { $1 }))
            let id = try signUp.string("objectId")
            func user(_ bio: String, _ id: JSONValue = .null) -> JSONValue {
                [
                    "isUser": true, "id": id, "name": "kim", "bio": .string(bio), "providers": "my", "isSafe": true,
                ]
            }
            let stored = user("old", .string(id))
            let new = try request(signUp)
            #expect(new["object"] == user("old") && new["original"] == .null && new["user"] == .null, "\(new)")
            let logIn = try await Self.signUp(server, ["id": "1", "token": "t"])
            let known = try request(logIn)
            #expect(known["object"] == stored && known["original"] == stored && known["user"] == .null, "\(known)")
            let change: JSONValue = ["bio": "new", "authData": ["my": ["id": "1", "token": "u"]]]
            let token = try logIn.string("sessionToken")
            let own = try request(try await server.send("PUT", "/users/\(id)", change, as: .session(token)))
            #expect(own["object"] == user("new", .string(id)), "\(own)")
            #expect(own["original"] == stored && own["user"] == stored, "\(own)")
            let byMaster: JSONValue = ["bio": "last", "authData": ["my": ["id": "1", "token": "v"]]]
            let master = try request(try await server.send("PUT", "/users/\(id)", byMaster, as: .master))
            #expect(master["original"] == user("new", .string(id)) && master["user"] == .null, "\(master)")
        }
    }

    @Test("Challenge requests are marked and contain the authenticated user, if any")
    func usersOfChallenge() async throws {
        try await Self.serve(Self.describing) { server in
            let signUp = try await Self.signUp(server, ["id": "1"], ["username": "kim", "password": "secret"])
            let id = try signUp.string("objectId")
            for proof in [["username": "kim", "password": "secret"], ["authData": ["my": ["id": "1"]]]] as [JSONObject]
            {
                let answer = try await server.send(
                    "POST", "/challenge", .object(proof.merging(["challengeData": ["my": [:]]]) { $1 }))
                let request = try #require(answer["challengeData"]?["my"], "\(answer.text)")
                #expect(request["isChallenge"] == true && request["triggerName"] == "challenge", "\(request)")
                #expect(request["original"]?["id"] == .string(id), "\(request)")
            }
            let nobody = try await server.send("POST", "/challenge", ["challengeData": ["my": [:]]])
            #expect(nobody["challengeData"]?["my"]?["object"] == .null, "\(nobody.text)")
        }
    }

    @Test("Passes large user records to an adapter completely")
    func largeUser() async throws {
        try await Self.serve(Self.describing) { server in
            let bio = String(repeating: "b", count: 200_000)
            #expect(try await Self.signUp(server, ["id": "1"], ["bio": .string(bio)]).status == 201)
            for _ in 0..<3 {
                let answer = try await Self.signUp(server, ["id": "1"])
                #expect(answer["authDataResponse"]?["my"]?["original"]?["bio"] == .string(bio))
            }
        }
    }

    @Test("Rejects a sign-in if the adapter throws a string, rejects with nothing or exits")
    func failures() async throws {
        let module = """
            module.exports = {
              validateAuthData: data => {
                if (data.how === 'text') throw 'no';
                if (data.how === 'nothing') return Promise.reject();
                if (data.how === 'exit') process.exit(1);
              },
            };
            """
        try await Self.serve(module) { server in
            let text = try await Self.signUp(server, ["id": "1", "how": "text"])
            #expect(text.code == 141 && text.error == "no", "\(text.text)")
            let nothing = try await Self.signUp(server, ["id": "1", "how": "nothing"])
            #expect(nothing.code == 141 && nothing.error == "Auth failed. Unknown error.", "\(nothing.text)")
            let exit = try await Self.signUp(server, ["id": "1", "how": "exit"])
            #expect(exit.code == 141 && exit.error == "Cloud code stopped.", "\(exit.text)")
            #expect(try await eventually { try await Self.signUp(server, ["id": "1"]).status == 201 })
        }
    }

    @Test("Passes the request as afterFind's first argument with presets below 8")
    func olderOrder() async throws {
        let module = """
            module.exports = {
              validateAuthData: () => {},
              afterFind: (request, data, options) => ({ ip: request.ip, id: data.id, hue: options.hue }),
            };
            """
        try await Self.serve(module, ["hue": "red"], preset: 7) { server in
            let user = try await Self.signUp(server, ["id": "7"])
            let shown = try await server.send(
                "GET", "/users/\(user.string("objectId"))", as: .session(user.string("sessionToken")))
            #expect(shown["authData"]?["my"] == ["ip": "127.0.0.1", "id": "7", "hue": "red"], "\(shown.text)")
        }
    }

    @Test("Runs afterFind whatever X-Parse-Cloud-Depth says, and one slow user doesn't hide others' data")
    func alwaysAsked() async throws {
        let module = """
            module.exports = {
              validateAuthData: () => {},
              afterFind: data => data.id === 'slow' ? new Promise(() => {}) : { shown: data.id },
            };
            """
        try await Self.serve(module) { server in
            let user = try await Self.signUp(server, ["id": "7", "secret": "s"])
            _ = try await Self.signUp(server, ["id": "slow"])
            let path = "/users/\(try user.string("objectId"))"
            for depth in ["7", "8", "16"] {
                for identity in [.session(try user.string("sessionToken")), .master] as [TestServer.Identity] {
                    let shown = try await server.send(
                        "GET", path, as: identity, headers: ["X-Parse-Cloud-Depth": depth])
                    #expect(shown["authData"]?["my"] == ["shown": "7"], "\(depth): \(shown.text)")
                }
            }
            let all = try await server.send("GET", "/users", as: .master)
            let shown = all["results"]?.arrayValue?.compactMap { $0["authData"]?["my"] }
            #expect(shown == [["shown": "7"]], "\(all.text)")
        }
    }

    @Test("beforeFind sets the id, challenge returns a question and afterFind the visible data")
    func steps() async throws {
        let module = """
            module.exports = {
              beforeFind: data => {
                data.id = { all: { $ne: '' }, number: 12 }[data.code] ?? data.code.split('-')[0];
                delete data.code;
                data.proof = 'p';
              },
              validateAuthData: data => { if (data.code) throw new Error('code'); },
              challenge: data => ({ question: data.topic }),
              afterFind: (...given) => ({ given: given.map(value => value.id ?? value.ip ?? 'options') }),
            };
            """
        try await Self.serve(module) { server in
            let first = try await Self.signUp(server, ["code": "7-a"])
            #expect(first.status == 201, "\(first.text)")
            let second = try await Self.signUp(server, ["code": "7-b"])
            #expect(second["objectId"] == first["objectId"], "\(second.text)")
            let strange = try await Self.signUp(server, ["code": "all"])
            #expect(strange.code == 141 && strange.error == "Auth failed. beforeFind set no id.", "\(strange.text)")
            let number = try await Self.signUp(server, ["code": "number"])
            #expect(number.status == 201, "\(number.text)")
            #expect(try await Self.signUp(server, ["code": "12-a"])["objectId"] == number["objectId"])
            let rows = try await server.texts("SELECT \"authData\"::text FROM \"_User\"")
            #expect(rows.count == 2 && rows.allSatisfy { !$0.contains("code") }, "\(rows)")
            let token = try second.string("sessionToken")
            let shown = try await server.send("GET", "/users/\(first.string("objectId"))", as: .session(token))
            #expect(shown["authData"]?["my"] == ["given": ["7", "options", "127.0.0.1"]], "\(shown.text)")
            let asked = try await server.send("POST", "/challenge", ["challengeData": ["my": ["topic": "t"]]])
            #expect(asked["challengeData"]?["my"] == ["question": "t"], "\(asked.text)")
        }
    }

    @Test(
        "Refuses to start, naming the provider, if an adapter is incomplete, fails to load or has a bad policy",
        arguments: [
            (
                "module.exports = {};",
                "auth.my: Adapter is not configured. Implement either validateAuthData or all of the following: "
                    + "validateSetUp, validateLogin and validateUpdate"
            ),
            ("require('./gone');", "auth.my: Cannot find module './gone'"),
            (
                "module.exports = { policy: 'some', validateAuthData() {} };",
                "auth.my: AuthAdapter policy is not configured correctly. The value must be either \"solo\", "
                    + "\"additional\", \"default\" or undefined (will be handled as \"default\")"
            ),
        ])
    func starts(module: String, expected: String) async throws {
        let error = await #expect(throws: (any Error).self) { try await Self.serve(module) { _ in } }
        #expect(error.map { "\($0)".contains(expected) } == true, "\(String(describing: error))")
    }

    @Test("Takes adapters from an app's own index.js, and rejects disabled providers without calling them")
    func ofIndex() async throws {
        let code = """
            const { ParseServer } = require('parse-server');
            class Own { validateAuthData(data) { if (data.token !== 's') throw new Error('wrong'); } }
            new ParseServer({
              appId: 'testApp', masterKey: 'testMaster',
              auth: { my: new Own(), off: { enabled: false, validateAuthData() { throw new Error('called'); } } },
            });
            """
        try await IndexApp.serve(["index.js": code]) { server, _, _ in
            #expect(try await Self.signUp(server, ["id": "1", "token": "s"]).status == 201)
            #expect(try await Self.signUp(server, ["id": "1", "token": "x"]).error == "wrong")
            let off = try await server.send("POST", "/users", ["authData": ["off": ["id": "1"]]])
            #expect(off.code == 252, "\(off.text)")
        }
    }
}
