import JSON
import TestSupport
import Testing

@Suite("Installation ids of requests from cloud code")
struct CloudInstallationTests {
    private static let code = """
        const optionsOf = params => (params.device ? { installationId: params.device } : {});
        Parse.Cloud.define('signUp', async ({ params }) => {
          const user = new Parse.User({ username: params.name, password: 'secret' });
          await user.signUp(null, optionsOf(params));
          return user.getSessionToken();
        });
        Parse.Cloud.define('logIn', async ({ params }) =>
          (await Parse.User.logIn(params.name, 'secret', optionsOf(params))).getSessionToken());
        Parse.Cloud.define('device', request => request.installationId);
        Parse.Cloud.define('run', ({ params }) => Parse.Cloud.run('device', {}, optionsOf(params)));
        """

    private static func sessions(_ server: TestServer, _ tokens: [String]) async throws -> [JSONValue] {
        for token in tokens {
            #expect(try await server.send("GET", "/users/me", as: .session(token)).status == 200)
        }
        return try await server.find("_Session", ["order": "createdAt"], as: .master).results
    }

    @Test("The installationId option is used for the request, so each device keeps its own session")
    func devices() async throws {
        try await CloudApp.serve(["main.js": Self.code]) { server, _ in
            var tokens: [String] = []
            for (function, device) in [
                ("signUp", "dev-a"), ("logIn", "dev-b"), ("logIn", "dev-c"), ("logIn", "dev-b"),
            ] {
                let answer = try await server.call(function, ["name": "ann", "device": .string(device)])
                tokens.append(try answer.string("result"))
            }
            // A device's second log-in replaces its first session.
            tokens.remove(at: 1)
            let sessions = try await Self.sessions(server, tokens)
            #expect(sessions.map { $0["installationId"] } == ["dev-a", "dev-c", "dev-b"])
            #expect(try await server.call("run", ["device": "dev-a"])["result"] == "dev-a")
            #expect(try await server.call("run")["result"] == "cloud")
            #expect(try await server.call("run", ["device": ""])["result"] == "cloud")
        }
    }

    @Test("Without installationId, sign-ups create no session and log-ins end no other session")
    func none() async throws {
        try await CloudApp.serve(["main.js": Self.code]) { server, _ in
            #expect(try await server.call("signUp", ["name": "ann"])["result"] == .null)
            var tokens: [String] = []
            for _ in 1...3 { tokens.append(try await server.call("logIn", ["name": "ann"]).string("result")) }
            let sessions = try await Self.sessions(server, tokens)
            #expect(sessions.count == 3 && sessions.allSatisfy { $0["installationId"] == nil })
        }
    }
}
