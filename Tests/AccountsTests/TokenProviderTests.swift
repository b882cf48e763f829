import Foundation
import JSON
import TestSupport
import Testing

/// Sign-in with signed tokens of Apple, Google, Facebook Limited Login and OpenID Connect issuers.
@Suite struct TokenProviderTests {
    private static func claims(_ more: JSONObject = [:]) -> JSONObject {
        let now = Date().timeIntervalSince1970.rounded()
        let claims: JSONObject = [
            "iss": "https://appleid.apple.com", "aud": "app.music", "sub": "kim", "iat": .number(now),
            "exp": .number(now + 600),
        ]
        return claims.merging(more) { $1 }
    }

    private static func logIn(_ server: TestServer, _ token: String, id: String = "kim", by name: Name = "apple")
        async throws -> TestAnswer
    {
        let member: Name = name == "apple" || name == "facebook" ? "token" : "id_token"
        return try await server.send(
            "POST", "/users", ["authData": .object([name: ["id": .string(id), member: .string(token)]])])
    }

    private static func published(_ keys: IdentityKey...) throws -> IdentityStandIn.Reply {
        IdentityStandIn.Reply(["keys": .array(try keys.map { try $0.published })])
    }

    @Test("Accepts valid Apple tokens, rejects forged, foreign and expired ones, and caches the keys")
    func apple() async throws {
        let key = try IdentityKey("one")
        let other = try IdentityKey("one")
        let answer: IdentityStandIn.Answer = { _ in try Self.published(key) }
        try await IdentityStandIn.run(answer) { standIn in
            let options = standIn.options.merging(["auth": ["apple": ["clientId": ["app.other", "app.music"]]]]) { $1 }
            try await TestServer.run(options) { server in
                let first = try await Self.logIn(server, try key.token(Self.claims()))
                #expect(first.status == 201, "\(first.text)")
                let second = try await Self.logIn(server, try key.token(Self.claims()))
                #expect(second.status == 200, "\(second.text)")
                #expect(second["objectId"] == first["objectId"])
                let now = Date().timeIntervalSince1970
                let unsigned = try IdentityKey.unsigned(Self.claims(), ["alg": "none", "kid": "one"]) + "."
                let refused: [(String, String, String)] = [
                    ("another key", try other.token(Self.claims()), "invalid signature"),
                    ("no signature", unsigned, "invalid algorithm"),
                    ("HS256 header", try key.token(Self.claims(), header: ["alg": "HS256"]), "invalid algorithm"),
                    ("signed by the public key", try key.forged(Self.claims()), "invalid algorithm"),
                    ("expired", try key.token(Self.claims(["exp": .number(now - 100)])), "jwt expired"),
                    ("not yet valid", try key.token(Self.claims(["nbf": .number(now + 100)])), "jwt not active"),
                    (
                        "another app's", try key.token(Self.claims(["aud": "app.evil"])),
                        "jwt audience invalid. expected: app.other, app.music"
                    ),
                    (
                        "another issuer's", try key.token(Self.claims(["iss": "https://evil.example"])),
                        "id token not issued by correct OpenID provider - expected: https://appleid.apple.com | from: "
                            + "https://evil.example"
                    ),
                    (
                        "another user's", try key.token(Self.claims(["sub": "eve"])),
                        "auth data is invalid for this user."
                    ),
                    ("malformed", "a.b.c", "provided token does not decode as JWT"),
                    (
                        "an unknown key's", try key.token(Self.claims(), header: ["kid": "two"]),
                        "Unable to find matching key for Key ID: two"
                    ),
                ]
                for (name, token, text) in refused {
                    let answer = try await Self.logIn(server, token)
                    #expect(answer.code == 101, "\(name): \(answer.text)")
                    #expect(answer.error == text, "\(name): \(answer.text)")
                }
                for bad: JSONValue in [["token": ["$ne": 1]], ["token": []], [:]] {
                    let data = JSONValue.object((bad.objectValue ?? [:]).merging(["id": "kim"]) { $1 })
                    let answer = try await server.send("POST", "/users", ["authData": ["apple": data]])
                    #expect(answer.code == 101, "\(bad): \(answer.text)")
                }
                #expect(standIn.requests.map(\.host) == ["appleid.apple.com", "appleid.apple.com"])
                #expect(try await server.texts("SELECT count(*)::text FROM \"_User\"") == ["1"])
            }
        }
    }

    @Test("Doesn't reveal without proof who owns a provider id, and links each id to only one account")
    func conflicts() async throws {
        let key = try IdentityKey("one")
        let answer: IdentityStandIn.Answer = { _ in try Self.published(key) }
        try await IdentityStandIn.run(answer) { standIn in
            let options = standIn.options.merging(["auth": ["apple": ["clientId": "app.music"]]]) { $1 }
            try await TestServer.run(options) { server in
                let owner = try await Self.logIn(server, try key.token(Self.claims())).succeeded()
                let eve = try await server.signUp("eve")
                func rows() async throws -> [[String?]] {
                    try await server.rows("SELECT (to_jsonb(u) - 'updatedAt')::text FROM \"_User\" u ORDER BY 1")
                }
                let before = try await rows()
                func link(_ token: String) async throws -> TestAnswer {
                    try await server.send(
                        "PUT", "/users/\(eve.id)", ["authData": ["apple": ["id": "kim", "token": .string(token)]]],
                        as: .session(eve.token))
                }
                #expect(try await link("a.b.c").code == 101)
                #expect(try await link(try key.token(Self.claims())).code == 208)
                // A log-in during another user's session doesn't transfer the login data.
                let again = try await server.send(
                    "POST", "/users",
                    ["authData": ["apple": ["id": "kim", "token": .string(try key.token(Self.claims()))]]],
                    as: .session(eve.token))
                #expect(again.code == 208, "\(again.text)")
                #expect(try await rows() == before)
                // Another user's provider id is verified, even together with the right password.
                let spoof = try await server.send(
                    "POST", "/login",
                    ["username": "eve", "password": "secret", "authData": ["apple": ["id": "kim", "token": "x"]]])
                #expect(spoof.code == 101, "\(spoof.text)")
                // Unchanged login data, in full or in part, are not verified again, so even an invalid stored token is
                // accepted.
                try await server.execute(
                    #"UPDATE "_User" SET "authData" = jsonb_set("authData", '{apple,token}', '"stale"') "#
                        + #"WHERE "authData" IS NOT NULL"#)
                let count = standIn.requests.count
                let token = try #require(owner["sessionToken"]?.stringValue)
                for data: JSONValue in [["id": "kim"], ["id": "kim", "token": "stale"]] {
                    let echo = try await server.send(
                        "PUT", "/users/\(try #require(owner["objectId"]?.stringValue))",
                        ["authData": ["apple": data]], as: .session(token))
                    #expect(echo.status == 200, "\(echo.text)")
                }
                #expect(standIn.requests.count == count)
                // The last login provider can't be removed.
                let unlink = try await server.send(
                    "PUT", "/users/\(try #require(owner["objectId"]?.stringValue))", ["authData": ["apple": .null]],
                    as: .session(token))
                #expect(unlink.code == 142, "\(unlink.text)")
            }
        }
    }

    @Test("Fifty concurrent first log-ins create one user and fetch the keys once")
    func parallel() async throws {
        let key = try IdentityKey("one")
        let answer: IdentityStandIn.Answer = { _ in try Self.published(key) }
        try await IdentityStandIn.run(answer) { standIn in
            let options = standIn.options.merging(["auth": ["apple": ["clientId": "app.music"]]]) { $1 }
            try await TestServer.run(options) { server in
                let token = try key.token(Self.claims())
                let statuses = try await withThrowingTaskGroup(of: TestAnswer.self) { group in
                    for _ in 0..<50 { group.addTask { try await Self.logIn(server, token) } }
                    return try await group.reduce(into: [TestAnswer]()) { $0.append($1) }
                }
                #expect(statuses.filter { $0.status == 201 }.count == 1)
                #expect(statuses.allSatisfy { $0.status <= 201 || $0.code == 208 })
                #expect(try await server.rows("SELECT count(*)::text FROM \"_User\"") == [["1"]])
                #expect(standIn.requests.count == 1)
            }
        }
    }

    @Test("If an issuer gives several keys one id, the key that fits the token is used")
    func sharedIds() async throws {
        let key = try IdentityKey("one")
        let plain = try #require(try key.published.objectValue)
        let others: [JSONObject] = [
            ["use": "enc", "alg": "RSA-OAEP"], ["alg": "RS512"], ["kty": "EC", "crv": "P-256"],
        ]
        let keys = others.map { other in JSONValue.object(plain.merging(other) { $1 }) } + [.object(plain)]
        let published: IdentityStandIn.Answer = { _ in IdentityStandIn.Reply(["keys": .array(keys)]) }
        try await IdentityStandIn.run(published) { standIn in
            let options = standIn.options.merging(["auth": ["apple": ["clientId": "app.music"]]]) { $1 }
            try await TestServer.run(options) { server in
                let answer = try await Self.logIn(server, try key.token(Self.claims()))
                #expect(answer.status == 201, "\(answer.text)")
            }
        }
    }

    @Test("Fetches an issuer's new keys, but sends no requests for a flood of unknown key ids")
    func rotation() async throws {
        let old = try IdentityKey("old")
        let new = try IdentityKey("new")
        let answer: IdentityStandIn.Answer = { _ in try Self.published(old) }
        try await IdentityStandIn.run(answer) { standIn in
            let auth: JSONValue = [
                "google": ["clientId": ["ios", "web"]],
                "school": ["issuer": "https://login.school.example", "clientId": "music"],
            ]
            try await TestServer.run(standIn.options.merging(["auth": auth]) { $1 }) { server in
                let google = Self.claims(["iss": "accounts.google.com", "aud": ["x", "web"]])
                let first = try await Self.logIn(server, try old.token(google), by: "google")
                #expect(first.status == 201, "\(first.text)")
                standIn.setAnswer { _ in try Self.published(old, new) }
                let answers = try await concurrently(10) { _ in
                    try await Self.logIn(server, try new.token(google), by: "google")
                }
                #expect(answers.allSatisfy { $0.status == 200 && $0["objectId"] == first["objectId"] })
                #expect(standIn.requests.count == 2)
                for number in 0..<20 {
                    let token = try old.token(google, header: ["kid": .string("k\(number)")])
                    #expect(try await Self.logIn(server, token, by: "google").code == 101)
                }
                #expect(standIn.requests.count == 2)
                // An issuer given by URL: its discovery document, then its keys.
                standIn.setAnswer { request in
                    request.path.hasPrefix("/.well-known/")
                        ? IdentityStandIn.Reply([
                            "issuer": "https://login.school.example", "jwks_uri": "https://keys.school.example/jwks",
                        ]) : try Self.published(old)
                }
                let school = Self.claims(["iss": "https://login.school.example", "aud": "music", "nonce": "n"])
                let known = try await Self.logIn(server, try old.token(school), by: "school")
                #expect(known.status == 201, "\(known.text)")
                #expect(known["objectId"] != first["objectId"])
                let replayed = try await server.send(
                    "POST", "/users",
                    [
                        "authData": [
                            "school": ["id": "kim", "id_token": .string(try old.token(school)), "nonce": "other"]
                        ]
                    ])
                #expect(replayed.error == "jwt nonce invalid.")
            }
        }
    }

    private static let brokenAnswers: [String: IdentityStandIn.Answer] = [
        "down": { _ in IdentityStandIn.Reply("", status: 500) },
        "garbage": { _ in IdentityStandIn.Reply("<html>") },
        "large": { _ in IdentityStandIn.Reply(String(repeating: " ", count: 10_000_000)) },
        "redirect": { _ in IdentityStandIn.Reply("", status: 302, headers: [("Location", "https://evil.example/")]) },
        "slow": { _ in
            try await Task.sleep(for: .seconds(60))
            return IdentityStandIn.Reply("")
        },
    ]

    @Test(
        "Log-ins fail within seconds if an issuer is down, slow or misbehaves; other requests don't wait",
        arguments: brokenAnswers.keys.sorted())
    func broken(name: String) async throws {
        let answer = try #require(Self.brokenAnswers[name])
        let key = try IdentityKey("one")
        try await IdentityStandIn.run(answer) { standIn in
            let options = standIn.options.merging(["auth": ["apple": ["clientId": "app.music"]]]) { $1 }
            try await TestServer.run(options) { server in
                let token = try key.token(Self.claims())
                let start = ContinuousClock.now
                async let refused = Self.logIn(server, token)
                #expect(try await server.send("GET", "/classes/Song").status == 200)
                let answer = try await refused
                // Five seconds, plus time for a busy machine.
                #expect(start.duration(to: .now) < .seconds(15), "\(name)")
                #expect(answer.code == 101, "\(name): \(answer.text)")
                #expect(standIn.requests.allSatisfy { $0.host == "appleid.apple.com" }, "\(name)")
                #expect(try await server.rows("SELECT count(*)::text FROM \"_User\"") == [["0"]])
            }
        }
    }
}
