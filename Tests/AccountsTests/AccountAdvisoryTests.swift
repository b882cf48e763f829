import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// Account vulnerabilities from parse-server's advisories that no other suite covers.
@Suite(.timeLimit(.minutes(10))) struct AccountAdvisoryTests {
    private static func claims(_ more: JSONObject = [:]) -> JSONObject {
        let now = Date().timeIntervalSince1970.rounded()
        let claims: JSONObject = [
            "iss": "https://appleid.apple.com", "aud": "app.music", "sub": "kim", "exp": .number(now + 600),
        ]
        return claims.merging(more) { $1 }
    }

    private static func apple(
        _ key: IdentityKey, _ auth: JSONObject = [:], _ body: @escaping @Sendable (TestServer) async throws -> Void
    ) async throws {
        let keys = IdentityStandIn.Reply(["keys": [try key.published]])
        let answer: IdentityStandIn.Answer = { _ in keys }
        try await IdentityStandIn.run(answer) { standIn in
            let auth = auth.merging(["apple": ["clientId": "app.music"]]) { own, _ in own }
            try await TestServer.run(standIn.options.merging(["auth": .object(auth)]) { $1 }, body)
        }
    }

    @Test("Challenges don't reveal who has an account, in response or timing; malformed ones are rejected")
    func challenge() async throws {
        let key = try IdentityKey("one")
        try await Self.apple(key, ["mfa": ["options": ["TOTP"]]]) { server in
            let token = JSONValue.string(try key.token(Self.claims()))
            _ = try await server.send(
                "POST", "/users", ["authData": ["apple": ["id": "kim", "token": token]]]
            ).succeeded()
            @Sendable func ask(_ apple: JSONValue) async throws -> TestAnswer {
                try await server.send(
                    "POST", "/challenge", ["challengeData": ["mfa": [:]], "authData": ["apple": apple]])
            }
            let answers = [
                try await ask(["id": "kim", "token": "bad"]), try await ask(["id": "nobody", "token": "bad"]),
                try await ask([
                    "id": "nobody", "token": .string(try key.token(Self.claims(["sub": "nobody"]))),
                ]),
            ]
            for answer in answers {
                #expect(answer.code == 101 && answer.error == "User not found.", "\(answer.text)")
                #expect(answer.bytes == answers[0].bytes)
            }
            #expect(try await ask(["id": "kim", "token": token]).status == 200)
            // Response times must not reveal who has an account either, whatever is wrong with the token.
            for wrong in ["bad", try key.token(Self.claims(["aud": "other"]))] {
                let isLevel = try await LevelTimes.hold(pairs: 200, lanes: 2) { isKnown, _ in
                    let answer = try await ask(["id": isKnown ? "kim" : "nobody", "token": .string(wrong)])
                    #expect(answer.code == 101)
                }
                #expect(isLevel)
            }
            for (body, text) in [
                (["challengeData": .null], "Nothing to challenge."),
                (["challengeData": "x"], "challengeData should be an object."),
                (
                    ["challengeData": ["mfa": [:]], "username": "kim"],
                    "You provided username or email, you need to also provide password."
                ),
                (["challengeData": ["mfa": [:]], "authData": "x"], "authData should be an object."),
                (
                    ["challengeData": ["mfa": [:]], "authData": ["apple": ["id": "1"], "mfa": ["id": "2"]]],
                    "You cannot provide more than one authData provider with an id."
                ),
                (
                    [
                        "challengeData": ["mfa": [:]], "username": "kim", "password": "x",
                        "authData": ["apple": ["id": "kim"]],
                    ],
                    "You cannot provide username/email and authData, only use one identification method."
                ),
            ] as [(JSONValue, String)] {
                let answer = try await server.send("POST", "/challenge", body)
                #expect(answer.code == -1 && answer.error == text, "\(answer.text)")
            }
        }
    }

    @Test("Verifies stored login data with the provider again at each log-in")
    func storedData() async throws {
        let isRevoked = Switch()
        let answer: IdentityStandIn.Answer = { _ in
            isRevoked.isSet ? .init("", status: 401) : .init(["id": "7"])
        }
        try await IdentityStandIn.run(answer) { standIn in
            let auth: JSONValue = ["github": ["enableInsecureAuth": true]]
            try await TestServer.run(standIn.options.merging(["auth": auth]) { $1 }) { server in
                let body: JSONValue = ["authData": ["github": ["id": "7", "access_token": "t"]]]
                #expect(try await server.send("POST", "/users", body).status == 201)
                #expect(try await server.send("POST", "/users", body).status == 200)
                isRevoked.set()
                let replayed = try await server.send("POST", "/users", body)
                #expect(replayed.code == 101, "\(replayed.text)")
            }
        }
    }

    @Test("Rejects an unproven provider id sent with a correct password, stores nothing and creates no session")
    func spoof() async throws {
        let answer: IdentityStandIn.Answer = { _ in .init("", status: 500) }
        try await IdentityStandIn.run(answer) { standIn in
            let auth: JSONValue = ["github": ["clientId": "app", "clientSecret": "s"]]
            try await TestServer.run(standIn.options.merging(["auth": auth]) { $1 }) { server in
                _ = try await server.signUp("eve")
                let before = try await server.texts("SELECT count(*)::text FROM \"_Session\"")
                for path in ["/login", "/users"] {
                    let answer = try await server.send(
                        "POST", path,
                        ["username": "eve", "password": "secret", "authData": ["github": ["id": "victim"]]])
                    #expect(answer.code == 142, "\(path): \(answer.text)")
                }
                #expect(try await server.texts("SELECT count(*)::text FROM \"_Session\"") == before)
                #expect(try await server.texts("SELECT \"authData\"::text FROM \"_User\"").isEmpty)
            }
        }
    }

    @Test("An anonymous id opens only its own account, until a password replaces it; createdWith names the provider")
    func anonymous() async throws {
        try await TestServer.run { server in
            func sign(_ id: String) async throws -> TestAnswer {
                try await server.send("POST", "/users", ["authData": ["anonymous": ["id": .string(id)]]])
            }
            let mine = try await sign("b5e0d8f4-0000-4000-8000-000000000001").succeeded()
            let other = try await sign("b5e0d8f4-0000-4000-8000-000000000002").succeeded()
            #expect(mine["objectId"] != other["objectId"])
            let session = try await server.send(
                "GET", "/sessions/me", as: .session(try mine.string("sessionToken")))
            #expect(session["createdWith"] == ["action": "login", "authProvider": "anonymous"], "\(session.text)")
            _ = try await server.send(
                "PUT", "/users/\(try mine.string("objectId"))",
                ["username": "kim", "password": "secret", "authData": ["anonymous": .null]],
                as: .session(try mine.string("sessionToken"))
            ).succeeded()
            let again = try await sign("b5e0d8f4-0000-4000-8000-000000000001")
            #expect(again.status == 201 && again["objectId"] != mine["objectId"])
        }
    }

    /// Runs a server with a Keycloak realm. The last argument of `body` logs in with a token's claims and further login
    /// data.
    private static func keycloak(
        _ body:
            @escaping @Sendable (
                TestServer, IdentityStandIn, @escaping @Sendable (JSONObject, JSONObject) async throws -> TestAnswer
            ) async throws -> Void
    ) async throws {
        let key = try IdentityKey("one")
        let keys = IdentityStandIn.Reply(["keys": [try key.published]])
        let answer: IdentityStandIn.Answer = { _ in keys }
        try await IdentityStandIn.run(answer) { standIn in
            let config: JSONValue = [
                "auth-server-url": "https://id.example/auth/", "realm": "music", "client-id": "app",
            ]
            let auth: JSONValue = ["keycloak": ["config": config]]
            try await TestServer.run(standIn.options.merging(["auth": auth]) { $1 }) { server in
                try await body(server, standIn) { claims, sent in
                    let all = Self.claims([
                        "iss": "https://id.example/auth/realms/music", "azp": "app", "aud": "account",
                    ]).merging(claims) { $1 }
                    let data: JSONObject = ["id": "kim", "access_token": .string(try key.token(all))]
                    return try await server.send(
                        "POST", "/users", ["authData": ["keycloak": .object(data.merging(sent) { $1 })]])
                }
            }
        }
    }

    @Test("Accepts Keycloak tokens only for the configured realm and client, and for the token's own user")
    func keycloakTokens() async throws {
        try await Self.keycloak { _, standIn, logIn in
            let own = try await logIn([:], [:])
            #expect(own.status == 201, "\(own.text)")
            for wrong: JSONObject in [
                ["azp": "other"], ["azp": .null], ["iss": "https://id.example/auth/realms/evil"], ["sub": "eve"],
            ] {
                let answer = try await logIn(wrong, [:])
                #expect(answer.code == 101, "\(wrong): \(answer.text)")
            }
            #expect(standIn.requests.map(\.path) == ["/auth/realms/music/protocol/openid-connect/certs"])
        }
    }

    @Test("Rejects Keycloak roles and groups that differ from those in the token")
    func keycloakGroups() async throws {
        try await Self.keycloak { server, _, logIn in
            let claims: JSONObject = ["groups": ["/band"], "realm_access": ["roles": ["fan", "player"]]]
            for wrong: JSONObject in [
                ["roles": ["admin"]], ["roles": ["fan"]], ["roles": []], ["roles": "fan"], ["groups": []],
                ["roles": ["fan", "player"], "groups": ["/band", "/staff"]], ["groups": [["/band"]]],
            ] {
                let answer = try await logIn(claims, wrong)
                #expect(answer.code == 101 && answer.error == "Invalid authentication", "\(answer.text)")
            }
            #expect(try await server.texts("SELECT \"objectId\" FROM \"_User\"").isEmpty)
            #expect(try await logIn(claims, ["roles": ["player", "fan"], "groups": ["/band"]]).status == 201)
            #expect(try await logIn(claims, [:]).status == 200)
        }
    }

    @Test("Rejects an introspected token whose app id is only a part of the allowed one")
    func appIds() async throws {
        let answer: IdentityStandIn.Answer = { request in
            .init(["active": true, "sub": "kim", "client": request.body == "token=good" ? "music" : "mus"])
        }
        try await IdentityStandIn.run(answer) { standIn in
            let auth: JSONValue = [
                "club": [
                    "oauth2": true, "tokenIntrospectionEndpointUrl": "https://id.example/introspect",
                    "appidField": "client", "appIds": "music",
                ]
            ]
            try await TestServer.run(standIn.options.merging(["auth": auth]) { $1 }) { server in
                for (token, status) in [("good", 201), ("other", 404)] {
                    let answer = try await server.send(
                        "POST", "/users", ["authData": ["club": ["id": "kim", "access_token": .string(token)]]])
                    #expect(answer.status == status, "\(token): \(answer.text)")
                }
            }
        }
    }

    @Test("If reading users is denied, no response reveals a second factor's secret or recovery codes")
    func hiddenSecrets() async throws {
        try await TestServer.run(["auth": ["mfa": ["options": ["TOTP"]]]]) { server in
            let kim = try await server.signUp("kim")
            try await server.execute(
                #"UPDATE "_User" SET "authData" = '{"mfa": {"secret": "JBSWY3DPEHPK3PXP", "recovery": ["spare1"]}}'"#)
            _ = try await server.send(
                "PUT", "/schemas/_User",
                ["classLevelPermissions": ["get": [:], "find": [:], "update": ["*": true], "create": ["*": true]]],
                as: .master
            ).succeeded()
            let answers = [
                try await server.send("GET", "/users/me", as: .session(kim.token)),
                try await server.send("POST", "/verifyPassword", ["username": "kim", "password": "secret"]),
                try await server.send("POST", "/login", ["username": "kim", "password": "secret"]),
                try await server.send("GET", "/sessions/me?include=user", as: .session(kim.token)),
                try await server.find("_User", ["where": ["authData.mfa.secret": ["$exists": true]]]),
                try await server.find("_User", ["where": ["authData": ["$regex": "JBS"]]], as: .session(kim.token)),
            ]
            for answer in answers {
                #expect(!answer.text.contains("JBSWY3DPEHPK3PXP") && !answer.text.contains("spare1"), "\(answer.text)")
            }
        }
    }

    @Test("The rate limit of password resets also covers batches, _method and other path spellings")
    func mailLimit() async throws {
        let options: JSONObject = [
            "appName": "Music", "publicServerURL": "https://music.example/parse",
            "emailAdapter": [
                "module": "smtp", "options": ["host": "127.0.0.1", "port": 1, "from": "a@music.example"],
            ],
            "rateLimit": [
                "requestPath": "/requestPasswordReset", "requestTimeWindow": 3_600_000, "requestCount": 5,
                "includeInternalRequests": true,
            ],
        ]
        try await TestServer.run(options) { server in
            _ = try await server.signUp("kim", ["email": "kim@music.example"])
            let body: JSONObject = ["email": "kim@music.example"]
            func mails() async throws -> [String] {
                try await server.texts("SELECT count(*)::text FROM \"_roost_mail\"")
            }
            let path = "/requestPasswordReset"
            for _ in 1...3 { #expect(try await server.send("POST", path, .object(body)).status == 200) }
            let call: JSONValue = ["method": "POST", "path": "/parse/requestPasswordReset", "body": .object(body)]
            #expect(try await server.send("POST", "/batch", ["requests": [call, call]]).status == 200)
            // The response doesn't wait for the email.
            let haveCome = try await eventually { try await mails() == ["5"] }
            #expect(haveCome)
            let refused = [
                try await server.send("POST", path, .object(body)),
                try await server.send("POST", "/batch", ["requests": [call]]),
                try await server.send("POST", path, .object(body.merging(["_method": "POST"]) { $1 })),
                try await server.send("POST", "/RequestPasswordReset/?x=1", .object(body)),
            ]
            for answer in refused { #expect(answer.status == 429 && answer.code == 100, "\(answer.text)") }
            #expect(try await mails() == ["5"])
        }
    }
}

private final class Switch: Sendable {
    private let value = Mutex(false)
    var isSet: Bool { value.withLock { $0 } }
    func set() { value.withLock { $0 = true } }
}
