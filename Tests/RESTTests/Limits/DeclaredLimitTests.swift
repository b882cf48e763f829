import App
import JSON
import Roost
import TestSupport
import Testing

@Suite struct DeclaredLimitTests {
    private static let once = Requirements.rateLimit(1, per: .seconds(60), countsMaster: true, countsThisMachine: true)

    private static func extensions(_ register: (Cloud) -> Void) -> ServerExtensions {
        let cloud = Cloud()
        register(cloud)
        var extensions = ServerExtensions()
        extensions.cloudHosts = [SwiftHost(cloud, logger: TestServer.quietLogger)]
        return extensions
    }

    /// A request, and whether the limit counts it.
    private struct Attempt: Sendable {
        let method: String
        let path: String
        var body: JSONValue?
        var isCounted = true

        init(_ method: String, _ path: String, _ body: JSONValue? = nil, isCounted: Bool = true) {
            self.method = method
            self.path = path
            self.body = body
            self.isCounted = isCounted
        }
    }

    private static let account: JSONValue = ["username": "nobody", "password": "wrong"]

    private static let cases: [(name: String, register: @Sendable (Cloud) -> Void, attempts: [Attempt])] = [
        (
            "a function", { $0.define("f", requires: once) { _ in 1 } },
            [
                Attempt("POST", "/functions/f"), Attempt("POST", "/functions/f?a=1"), Attempt("POST", "/functions/f/"),
                Attempt("POST", "/FUNCTIONS/f"), Attempt("POST", "/functions/%66"),
                Attempt("POST", "/functions/F", isCounted: false), Attempt("POST", "/functions/ff", isCounted: false),
            ]
        ),
        (
            "a function name with pattern characters", { $0.define("a.(:b)*?", requires: once) { _ in 1 } },
            [
                Attempt("POST", "/functions/a.(%3Ab)*%3F"), Attempt("POST", "/functions/axb", isCounted: false),
            ]
        ),
        (
            "before saves", { $0.beforeSave("Song", requires: once) { _ in } },
            [
                Attempt("POST", "/classes/Song", [:]), Attempt("PUT", "/classes/Song/abc", ["a": 1]),
                Attempt("POST", "/classes/Song/abc", ["_method": "PUT", "a": 1]),
                Attempt("GET", "/classes/Song", isCounted: false),
                Attempt("POST", "/classes/Song", ["_method": "GET"], isCounted: false),
                Attempt("POST", "/classes/Songs", [:], isCounted: false),
                Attempt("POST", "/classes/song", [:], isCounted: false),
            ]
        ),
        (
            "before saves of users", { $0.beforeSave("_User", requires: once) { _ in } },
            [
                Attempt("POST", "/users", account), Attempt("POST", "/classes/_User", account),
                Attempt("PUT", "/users/abc", [:]), Attempt("POST", "/login", account, isCounted: false),
            ]
        ),
        (
            "before deletions", { $0.beforeDelete("Song", requires: once) { _ in } },
            [
                Attempt("DELETE", "/classes/Song/abc"),
                Attempt("POST", "/classes/Song/abc", ["_method": "DELETE"]),
                Attempt("POST", "/classes/Song", [:], isCounted: false),
            ]
        ),
        (
            "before finds", { $0.beforeFind("Song", requires: once) { _ in } },
            [
                Attempt("GET", "/classes/Song"), Attempt("GET", "/classes/Song/abc"),
                Attempt("POST", "/classes/Song", ["_method": "GET"]),
                Attempt("POST", "/classes/Song", [:], isCounted: false),
            ]
        ),
        (
            "before log-ins", { $0.beforeLogin(requires: once) { _ in } },
            [
                Attempt("POST", "/login", account), Attempt("GET", "/login?username=nobody&password=wrong"),
                Attempt("POST", "/users", ["username": "nobody"], isCounted: false),
            ]
        ),
        (
            "before password reset requests", { $0.beforePasswordResetRequest(requires: once) { _ in } },
            [Attempt("POST", "/requestPasswordReset", ["email": "nobody@example.com"])]
        ),
        (
            "before configuration changes", { $0.beforeSaveConfig(requires: once) { _ in } },
            [Attempt("PUT", "/config", ["params": [:]]), Attempt("GET", "/config", isCounted: false)]
        ),
        (
            "before files are stored", { $0.beforeSaveFile(requires: once) { _ in } },
            [
                Attempt("POST", "/files/a.txt", ["base64": "YQ==", "_ContentType": "text/plain"]),
                Attempt("GET", "/files/\(TestServer.applicationID)/a.txt", isCounted: false),
            ]
        ),
        (
            "before files are read", { $0.beforeFindFile(requires: once) { _ in } },
            [Attempt("GET", "/files/\(TestServer.applicationID)/a.txt")]
        ),
        (
            "before files are removed", { $0.beforeDeleteFile(requires: once) { _ in } },
            [Attempt("DELETE", "/files/a.txt")]
        ),
    ]

    @Test(
        "A limit counts exactly the requests that reach its function or trigger, however they are written",
        arguments: cases.indices)
    func requests(index: Int) async throws {
        let (name, register, attempts) = Self.cases[index]
        try await TestServer.run(extensions: Self.extensions(register)) { server in
            let first = try #require(attempts.first)
            let served = try await server.send(first.method, first.path, first.body, as: .master)
            #expect(served.status != 429, "\(name): \(served.text)")
            for attempt in attempts {
                let answer = try await server.send(attempt.method, attempt.path, attempt.body, as: .master)
                #expect((answer.status == 429) == attempt.isCounted, "\(name): \(attempt): \(answer.text)")
                if attempt.isCounted { #expect(answer.json == ["code": 100, "error": "Too many requests."]) }
            }
        }
    }

    @Test("Doesn't count calls from cloud code, nor by default the master key or requests from this machine")
    func exempt() async throws {
        let extensions = Self.extensions { cloud in
            cloud.define("master", requires: .rateLimit(1, per: .seconds(60), countsThisMachine: true)) { _ in 1 }
            cloud.define("near", requires: .rateLimit(1, per: .seconds(60))) { _ in 1 }
            cloud.define("code", requires: Self.once) { _ in 1 }
            cloud.define("asks") { request in
                for _ in 1...3 { _ = try await request.data(.anonymous).call("code") }
                return try await request.data(.anonymous).call("code")
            }
        }
        try await TestServer.run(extensions: extensions) { server async throws in
            for _ in 1...3 {
                #expect(try await server.send("POST", "/functions/master", [:], as: .master)["result"] == 1)
                #expect(try await server.send("POST", "/functions/near", [:])["result"] == 1)
            }
            #expect(try await server.send("POST", "/functions/asks", [:])["result"] == 1)
            #expect(try await server.send("POST", "/functions/code", [:])["result"] == 1)
            #expect(try await server.send("POST", "/functions/code", [:]).status == 429)
        }
    }

    @Test("A per-user limit counts each user, and anonymous callers, separately")
    func users() async throws {
        let extensions = Self.extensions { cloud in
            cloud.define("f", requires: .rateLimit(1, per: .seconds(60), of: .user, countsThisMachine: true)) { _ in 1 }
        }
        try await TestServer.run(extensions: extensions) { server in
            let (kim, lee) = (try await server.signUp("kim"), try await server.signUp("lee"))
            for identity in [.session(kim.token), .session(lee.token), TestServer.Identity.anonymous] {
                #expect(try await server.send("POST", "/functions/f", [:], as: identity)["result"] == 1)
                #expect(try await server.send("POST", "/functions/f", [:], as: identity).status == 429)
            }
        }
    }

    @Test("With rateLimitStore database, processes share the counts of declared limits")
    func processes() async throws {
        @Sendable func code() -> ServerExtensions {
            Self.extensions { cloud in
                cloud.define("f", requires: .rateLimit(3, per: .seconds(60), countsThisMachine: true)) { _ in 1 }
            }
        }
        let options: JSONObject = ["rateLimitStore": "database"]
        try await TestServer.run(options, extensions: code()) { first in
            try await first.alongside(options, extensions: code()) { second in
                var statuses: [Int] = []
                for server in [first, second, first, second, first] {
                    statuses.append(try await server.send("POST", "/functions/f", [:]).status)
                }
                #expect(statuses == [200, 200, 200, 429, 429])
            }
        }
    }

    @Test("Keeps the counts of existing limits when code declares more functions, and applies new limits")
    func loadedAgain() async throws {
        let code = """
            Parse.Cloud.define('f', () => 1, { rateLimit: { requestTimeWindow: 60000, requestCount: 2, includeInternalRequests: true } });
            Parse.Cloud.define('more', () => { Parse.Cloud.define('g' + Math.random(), () => 1); });
            Parse.Cloud.define('other', () => {
              Parse.Cloud.define('h', () => 1, { rateLimit: { requestTimeWindow: 60000, requestCount: 0, includeInternalRequests: true } });
            });
            """
        try await CloudApp.serve(["main.js": code]) { server, _ in
            #expect(try await server.send("POST", "/functions/f", [:]).status == 200)
            _ = try await server.send("POST", "/functions/more", [:]).succeeded()
            #expect(try await server.send("POST", "/functions/f", [:]).status == 200)
            #expect(try await server.send("POST", "/functions/f", [:]).status == 429)
            // Limits declared later apply, too.
            _ = try await server.send("POST", "/functions/other", [:]).succeeded()
            #expect(try await eventually { try await server.send("POST", "/functions/h", [:]).status == 429 })
        }
    }
}
