import Foundation
import JSON
import TestSupport
import Testing

/// Forged and manipulated tokens.
@Suite(.timeLimit(.minutes(10))) struct ForgedTokenTests {
    private static let issuer = "https://login.school.example"

    private static func claims(_ more: JSONObject = [:]) -> JSONObject {
        let now = Date().timeIntervalSince1970.rounded()
        let claims: JSONObject = [
            "iss": .string(issuer), "aud": "music", "sub": "kim", "iat": .number(now), "exp": .number(now + 600),
        ]
        return claims.merging(more) { $1 }
    }

    private static func run(
        _ options: JSONObject = [:],
        _ body: @escaping @Sendable (TestServer, IdentityStandIn, IdentityKey) async throws -> Void
    ) async throws {
        let key = try IdentityKey("one")
        let answer: IdentityStandIn.Answer = { request in
            request.path.hasPrefix("/.well-known/")
                ? .init(["issuer": .string(issuer), "jwks_uri": "https://keys.school.example/jwks"])
                : .init(["keys": [try key.published]])
        }
        try await IdentityStandIn.run(answer) { standIn in
            let auth: JSONValue = ["school": ["issuer": .string(issuer), "clientId": "music"]]
            let options = options.merging(standIn.options) { $1 }.merging(["auth": auth]) { $1 }
            try await TestServer.run(options) { server in
                try await body(server, standIn, key)
            }
        }
    }

    private static func logIn(_ server: TestServer, _ token: String, _ more: JSONObject = [:]) async throws
        -> TestAnswer
    {
        let data: JSONObject = ["id": "kim", "id_token": .string(token)]
        return try await server.send("POST", "/users", ["authData": ["school": .object(data.merging(more) { $1 })]])
    }

    @Test("A token's header can't choose the algorithm, the key or the URL of the key")
    func headers() async throws {
        try await Self.run { server, standIn, key in
            let eve = try IdentityKey("one")
            let published = try eve.published
            let headers: [JSONObject] = [
                ["kid": "../../../../dev/null"], ["kid": "one' OR '1'='1"], ["kid": "one\u{0}"], ["kid": 1],
                ["kid": ["one"]], ["kid": "On\u{435}"], ["kid": ""],
                ["jku": "https://evil.example/jwks"], ["x5u": "https://evil.example/cert"], ["jwk": published],
                ["x5c": ["AAAA"]], ["crit": ["exp"], "exp": 1], ["alg": "none"], ["alg": "None"], ["alg": "RS256 "],
                ["alg": "ES256"], ["alg": "PS256"], ["alg": ["RS256"]], ["alg": .null],
                ["b64": false, "crit": ["b64"]],
            ]
            for header in headers {
                let answer = try await Self.logIn(server, try eve.token(Self.claims(), header: header))
                #expect(answer.code == 101, "\(header): \(answer.text)")
            }
            let unsigned = try IdentityKey.unsigned(Self.claims(), ["alg": "none", "kid": "one"])
            let right = try key.token(Self.claims())
            let parts = right.split(separator: ".").map(String.init)
            for token in [
                unsigned + ".", unsigned, unsigned + ".AA", try key.forged(Self.claims()), right + ".", "." + right,
                right.dropLast(4) + "AAAA", "\(parts[0]).\(parts[1]).", "\(parts[0])..\(parts[2])", right + "=",
                "\(parts[0]).\(parts[1]).\(parts[2]).\(parts[2])", "..", "....", " " + right,
            ] {
                let answer = try await Self.logIn(server, String(token))
                #expect(answer.code == 101, "\(token.prefix(80)): \(answer.text)")
            }
            #expect(Set(standIn.requests.map(\.host)) == ["login.school.example", "keys.school.example"])
            // The discovery document once, the keys once, and once more for unknown key ids.
            #expect(standIn.requests.count == 3, "\(standIn.requests.map(\.path))")
            #expect(try await server.texts("SELECT count(*)::text FROM \"_User\"") == ["0"])
            #expect(try await Self.logIn(server, right).status == 201)
        }
    }

    @Test("Rejects claims of the wrong type, value or size, and nonces that the token doesn't contain")
    func claims() async throws {
        try await Self.run { server, _, key in
            let now = Date().timeIntervalSince1970.rounded()
            let refused: [JSONObject] = [
                ["exp": .string("\(Int(now) + 600)")], ["exp": .number(-1)], ["exp": .number(-1e300)], ["exp": .null],
                ["exp": [.number(now + 600)]], ["exp": true], ["nbf": .number(now + 3600)], ["nbf": .number(1e300)],
                ["aud": []], ["aud": ["other", 1]], ["aud": [["music"]]], ["aud": ["music": true]], ["aud": "mus"],
                ["aud": "music "], ["aud": "MUSIC"], ["aud": .null], ["iss": [.string(Self.issuer)]],
                ["iss": .string(Self.issuer + "/")], ["iss": "https://login.school.example.evil.example"],
                ["sub": "Kim"], ["sub": ["kim"]], ["sub": ""], ["sub": .null], ["sub": "k\u{131}m"],
            ]
            for more in refused {
                let answer = try await Self.logIn(server, try key.token(Self.claims(more)))
                #expect(answer.code == 101, "\(more): \(answer.text)")
            }
            let nonces: [(JSONObject, JSONObject)] = [
                ([:], ["nonce": "n"]), (["nonce": "m"], ["nonce": "n"]), (["nonce": ["n"]], ["nonce": "n"]),
            ]
            for (signed, sent) in nonces {
                let answer = try await Self.logIn(server, try key.token(Self.claims(signed)), sent)
                #expect(answer.code == 101 && answer.error == "jwt nonce invalid.", "\(signed): \(answer.text)")
            }
            for id: JSONValue in [["$ne": ""], 7, ["kim"], true] {
                let answer = try await Self.logIn(server, try key.token(Self.claims()), ["id": id])
                #expect(answer.code == 162, "\(id): \(answer.text)")
            }
            let large = try key.token(Self.claims(["padding": .string(String(repeating: "x", count: 20_000))]))
            #expect(try await Self.logIn(server, large).error == "provided token does not decode as JWT")
            let deep = (0..<2000).reduce(JSONValue.number(1)) { value, _ in [value] }
            #expect(try await Self.logIn(server, try key.token(Self.claims(["deep": deep]))).code == 101)
            #expect(try await server.texts("SELECT count(*)::text FROM \"_User\"") == ["0"])
            let right = Self.claims(["aud": ["other", "music"], "nonce": "n"])
            #expect(try await Self.logIn(server, try key.token(right), ["nonce": "n"]).status == 201)
        }
    }

    @Test("Tolerates clock differences of up to 30 seconds in tokens")
    func clocks() async throws {
        try await Self.run { server, _, key in
            let now = Date().timeIntervalSince1970.rounded(.down)
            let late = try await Self.logIn(server, try key.token(Self.claims(["exp": .number(now - 31)])))
            #expect(late.code == 101 && late.error == "jwt expired", "\(late.text)")
            let early = try await Self.logIn(server, try key.token(Self.claims(["nbf": .number(now + 90)])))
            #expect(early.code == 101 && early.error == "jwt not active", "\(early.text)")
            #expect(try await server.texts("SELECT count(*)::text FROM \"_User\"") == ["0"])
            for times: JSONObject in [["exp": .number(now - 1)], ["nbf": .number(now + 29)]] {
                let answer = try await Self.logIn(server, try key.token(Self.claims(times)))
                #expect(answer.status < 300, "\(answer.text)")
            }
        }
    }

    @Test("Rejects provider names that only resemble a configured one")
    func names() async throws {
        try await Self.run { server, _, key in
            let token = JSONValue.string(try key.token(Self.claims()))
            for name: Name in ["School", "school ", "sch\u{43E}ol", "schoo\u{6C}\u{301}", "school\u{0}", "constructor"]
            {
                let body: JSONValue = ["authData": .object([name: ["id": "kim", "id_token": token]])]
                let answer = try await server.send("POST", "/users", body)
                #expect((400..<500).contains(answer.status) && answer.code != 208, "\(name): \(answer.text)")
            }
            #expect(try await server.texts("SELECT count(*)::text FROM \"_User\"") == ["0"])
        }
    }

    @Test("Concurrent log-ins share one request to an unavailable issuer; log-ins succeed once it is back")
    func away() async throws {
        let port = try await FreePort.find()
        try await Self.run(["metrics": ["port": .number(Double(port))]]) { server, standIn, key in
            standIn.setAnswer { _ in
                _ = try await eventually { try await TestServer.metrics(at: port).activeRequests >= 20 }
                return .init("", status: 503)
            }
            let token = try key.token(Self.claims())
            let answers = try await concurrently(20) { _ in try await Self.logIn(server, token) }
            #expect(answers.allSatisfy { $0.code == 101 })
            #expect(standIn.requests.count == 1, "\(standIn.requests.map(\.path))")
            standIn.setAnswer { request in
                request.path.hasPrefix("/.well-known/")
                    ? .init(["issuer": .string(Self.issuer), "jwks_uri": "https://keys.school.example/jwks"])
                    : .init(["keys": [try key.published]])
            }
            let isBack = try await eventually { try await Self.logIn(server, token).status == 201 }
            #expect(isBack)
            // A different issuer in the discovery document invalidates it.
            #expect(try await Self.logIn(server, token).status == 200)
        }
    }

    @Test("Line breaks in a token can't add header fields to requests to providers")
    func lineBreaks() async throws {
        let answer: IdentityStandIn.Answer = { _ in .init(["id": "42", "playerId": "42", "userId": "42"]) }
        try await IdentityStandIn.run(answer) { standIn in
            let names: [Name] = ["github", "linkedin", "microsoft", "spotify", "instagram", "line", "gpgames"]
            let auth = JSONObject(uniqueKeysWithValues: names.map { ($0, ["enableInsecureAuth": true] as JSONValue) })
            try await TestServer.run(standIn.options.merging(["auth": .object(auth)]) { $1 }) { server in
                for name in names {
                    for token in ["t\r\nX-Evil: 1", "t\nX-Evil: 1", "t\r\n\r\nGET /evil HTTP/1.1\r\n\r\n"] {
                        let data: JSONValue = ["id": "42", "access_token": .string(token)]
                        let answer = try await server.send("POST", "/users", ["authData": .object([name: data])])
                        // Instagram's token is part of the URL, where it is encoded.
                        #expect(answer.code == 101 || name == "instagram" && answer.status < 300, "\(answer.text)")
                    }
                }
                #expect(standIn.requests.allSatisfy { $0.headers["x-evil"] == nil && !$0.path.contains("evil HTTP") })
                #expect(standIn.requests.allSatisfy { $0.host == "graph.instagram.com" })
            }
        }
    }
}
