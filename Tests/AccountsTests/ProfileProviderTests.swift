import JSON
import TestSupport
import Testing

/// Sign-in with an access token or a code that the provider verifies.
@Suite struct ProfileProviderTests {
    private static func logIn(_ server: TestServer, _ name: Name, _ data: JSONValue) async throws -> TestAnswer {
        try await server.send("POST", "/users", ["authData": .object([name: data])])
    }

    @Test("Exchanges codes with the app's secret, stores the token, returns only the id, and rejects tokens")
    func codes() async throws {
        let answer: IdentityStandIn.Answer = { request in
            switch (request.host, request.path) {
            case ("github.com", "/login/oauth/access_token"):
                if request.body.contains(#""code":"good""#) {
                    .init(["access_token": "t0ken"])
                } else if request.body.contains(#""code":"unknown""#) {
                    .init("", status: 502)
                } else if request.body.contains(#""code":"bad""#) {
                    .init([
                        "error": "bad_verification_code", "error_description": "The code is wrong or has expired.",
                    ])
                } else {
                    .init(["access_token": request.body.contains("nobody") ? "n0body" : "rev0ked"])
                }
            case ("api.github.com", "/user"):
                switch request.headers["authorization"] {
                case "bearer t0ken": .init(["id": 123])
                case "bearer n0body": .init(["login": "nobody"])
                default: .init("", status: 401)
                }
            default: .init("", status: 404)
            }
        }
        try await IdentityStandIn.run(answer) { standIn in
            let auth: JSONValue = ["github": ["clientId": "app", "clientSecret": "s3cret"]]
            try await TestServer.run(standIn.options.merging(["auth": auth]) { $1 }) { server in
                let first = try await Self.logIn(server, "github", ["code": "good"])
                #expect(first.status == 201, "\(first.text)")
                let body = try #require(standIn.requests.first?.body)
                #expect(body == #"{"client_id":"app","client_secret":"s3cret","code":"good"}"#)
                #expect(
                    try await server.rows("SELECT \"authData\"::text FROM \"_User\"")
                        == [[#"{"github": {"id": "123", "access_token": "t0ken"}}"#]])
                let again = try await Self.logIn(server, "github", ["id": "123", "code": "good"])
                #expect(again.status == 200, "\(again.text)")
                #expect(again["objectId"] == first["objectId"])
                #expect(again["authData"] == ["github": ["id": "123"]], "\(again.text)")
                let refused: [(JSONValue, Int, String)] = [
                    (["id": "123", "access_token": "t0ken"], 142, "GitHub code is required."),
                    (["code": ["$ne": ""]], 142, "GitHub code is required."),
                    (["code": "bad"], 101, "The code is wrong or has expired."),
                    (["code": "unknown"], 142, "Failed to exchange code for token: Bad Gateway"),
                    (["code": "revoked"], 142, "Failed to fetch GitHub user: Unauthorized"),
                    (["code": "nobody"], 142, "Invalid GitHub user data received."),
                    (["id": "7", "code": "good"], 101, "GitHub auth is invalid for this user."),
                ]
                for (data, code, text) in refused {
                    let answer = try await Self.logIn(server, "github", data)
                    #expect(answer.code == code && answer.error == text, "\(data): \(answer.text)")
                }
                // Another user's provider id is verified, even together with the right password.
                _ = try await server.signUp("eve")
                let spoof = try await server.send(
                    "POST", "/login",
                    ["username": "eve", "password": "secret", "authData": ["github": ["id": "123"]]])
                #expect(spoof.code == 142, "\(spoof.text)")
            }
        }
    }

    private static let brokenAnswers: [String: IdentityStandIn.Answer] = [
        "garbage": { _ in .init("<html>") },
        "large": { _ in .init(String(repeating: " ", count: 10_000_000)) },
        "redirect": { _ in .init("", status: 302, headers: [("Location", "https://evil.example/")]) },
        "slow": { _ in
            try await Task.sleep(for: .seconds(60))
            return .init("{}")
        },
    ]

    @Test(
        "Log-ins fail within seconds if a provider is slow, redirects, or returns too much or invalid JSON",
        arguments: brokenAnswers.keys.sorted())
    func broken(name: String) async throws {
        let answer = try #require(Self.brokenAnswers[name])
        try await IdentityStandIn.run(answer) { standIn in
            let auth: JSONValue = [
                "github": ["clientId": "app", "clientSecret": "s"], "spotify": ["enableInsecureAuth": true],
                "facebook": ["appIds": ["1"]],
                "club": [
                    "oauth2": true, "tokenIntrospectionEndpointUrl": "https://club.example/introspect",
                    "useridField": "sub",
                ],
            ]
            try await TestServer.run(standIn.options.merging(["auth": auth]) { $1 }) { server in
                let start = ContinuousClock.now
                let refused = try await concurrently(4) { number in
                    let (provider, data): (Name, JSONValue) =
                        [
                            ("github", ["code": "c"]), ("spotify", ["id": "1", "access_token": "t"]),
                            ("facebook", ["id": "1", "access_token": "t"]),
                            ("club", ["id": "1", "access_token": "t"]),
                        ][number]
                    return try await Self.logIn(server, provider, data)
                }
                #expect(refused.allSatisfy { $0.code == 101 || $0.code == 142 }, "\(name): \(refused.map(\.text))")
                // Five seconds each, plus time for a busy machine.
                #expect(start.duration(to: .now) < .seconds(20), "\(name)")
                #expect(standIn.requests.allSatisfy { $0.host != "evil.example" }, "\(name)")
                #expect(try await server.rows("SELECT count(*)::text FROM \"_User\"") == [["0"]])
            }
        }
    }

    @Test("Errors name the provider that rejects a code or a token")
    func refusals() async throws {
        let answer: IdentityStandIn.Answer = { request in
            let isExchange = request.method == "POST" && !request.body.contains("code=good")
            return request.method == "POST" && !isExchange ? .init(["access_token": "t"]) : .init("", status: 400)
        }
        let names: [(Name, String)] = [
            ("linkedin", "LinkedIn API request failed."), ("microsoft", "Microsoft API request failed."),
            ("spotify", "Spotify API request failed."), ("instagram", "Instagram API request failed."),
            ("line", "Line auth is invalid for this user."),
        ]
        try await IdentityStandIn.run(answer) { standIn in
            let options: JSONValue = ["clientId": "app", "clientSecret": "s"]
            let auth = JSONObject(uniqueKeysWithValues: names.map { ($0.0, options) })
            try await TestServer.run(standIn.options.merging(["auth": .object(auth)]) { $1 }) { server in
                for (name, text) in names {
                    for code in ["good", "bad"] {
                        let answer = try await Self.logIn(server, name, ["code": .string(code)])
                        let isLine = name == "line" && code == "bad"
                        #expect(answer.code == (isLine ? 142 : 101), "\(name): \(answer.text)")
                        #expect(
                            answer.error == (isLine ? "Failed to exchange code for token: Bad Request" : text),
                            "\(name): \(answer.text)")
                    }
                }
            }
        }
    }

    @Test("If allowed, accepts a user's own access token, and verifies it only at the provider's host")
    func tokens() async throws {
        let answer: IdentityStandIn.Answer = { request in
            let isKnown = request.headers["authorization"] == "Bearer t&ken" || request.path.contains("t%26ken")
            guard isKnown else { return .init("", status: 401) }
            return switch (request.host, request.path) {
            case ("graph.instagram.com", _), ("api.spotify.com", "/v1/me"), ("graph.microsoft.com", "/v1.0/me"),
                ("api.linkedin.com", "/v2/me"):
                .init(["id": "42"])
            case ("api.line.me", "/v2/profile"): .init(["userId": "42"])
            // Any token can read any player by id. Only `me` identifies the token's player.
            case ("www.googleapis.com", "/games/v1/players/me"): .init(["playerId": "42"])
            case ("www.googleapis.com", "/games/v1/players/43"): .init(["playerId": "43"])
            default: .init("", status: 404)
            }
        }
        let names: [Name] = ["instagram", "spotify", "microsoft", "linkedin", "line", "gpgames"]
        try await IdentityStandIn.run(answer) { standIn in
            let auth = JSONObject(uniqueKeysWithValues: names.map { ($0, ["enableInsecureAuth": true] as JSONValue) })
            try await TestServer.run(standIn.options.merging(["auth": .object(auth)]) { $1 }) { server in
                for name in names {
                    let data: JSONObject = ["id": "42", "access_token": "t&ken", "apiURL": "https://evil.example/"]
                    #expect(try await Self.logIn(server, name, .object(data)).status == 201, "\(name)")
                    for wrong: JSONObject in [
                        ["id": "43", "access_token": "t&ken"], ["id": "42", "access_token": "other"], ["id": "42"],
                        ["id": "../../oauth2/x?y#", "access_token": "t&ken"], ["id": "42", "access_token": ["t&ken"]],
                    ] {
                        let answer = try await Self.logIn(server, name, .object(wrong))
                        #expect(answer.code == 101, "\(name) \(wrong): \(answer.text)")
                    }
                }
                #expect(standIn.requests.allSatisfy { $0.host != "evil.example" })
            }
        }
    }

    @Test("Verifies the user and the app at Facebook with an appsecret_proof")
    func facebook() async throws {
        let answer: IdentityStandIn.Answer = { request in
            // The HMAC-SHA256 of "t" and of "foreign" with the key "s", in hexadecimal.
            let proofs = [
                "appsecret_proof=61f074c3fcd0a129debe8f2b1c6f66d8824d615cf8397cc192eb58a8b0367889",
                "appsecret_proof=80b4b5684755b4d32f07412f42af795e91d4ae1195de48e2ed2d56360a4f8b84",
            ]
            guard proofs.contains(where: request.path.hasSuffix) else { return .init("", status: 400) }
            return request.path.hasPrefix("/me?")
                ? .init(["id": "kim"]) : .init(["id": request.path.contains("foreign") ? "9" : "7"])
        }
        try await IdentityStandIn.run(answer) { standIn in
            let auth: JSONValue = ["facebook": ["appIds": ["7"], "appSecret": "s"]]
            try await TestServer.run(standIn.options.merging(["auth": auth]) { $1 }) { server in
                let data: JSONValue = [
                    "id": "kim", "access_token": "t", "expiration_date": "2031-01-01T00:00:00.000Z",
                ]
                #expect(try await Self.logIn(server, "facebook", data).status == 201)
                #expect(try await Self.logIn(server, "facebook", data).status == 200)
                for wrong: JSONValue in [
                    ["id": "eve", "access_token": "t"], ["id": "kim", "access_token": "foreign"], ["id": "kim"],
                ] {
                    let answer = try await Self.logIn(server, "facebook", wrong)
                    #expect(answer.code == 101, "\(wrong): \(answer.text)")
                }
            }
        }
    }

    @Test("Each introspection provider uses its own endpoint and rejects other users' and invalid tokens")
    func introspection() async throws {
        let answer: IdentityStandIn.Answer = { request in
            guard request.method == "POST", request.headers["authorization"] == "Basic \(request.host)" else {
                return .init("", status: 401)
            }
            return request.body == "token=a%20b"
                ? .init(["active": true, "sub": "kim", "client": "music"]) : .init(["active": false])
        }
        @Sendable func options(_ host: String) -> JSONValue {
            [
                "oauth2": true, "tokenIntrospectionEndpointUrl": .string("https://\(host)/introspect"),
                "authorizationHeader": .string("Basic \(host)"), "appidField": "client", "appIds": ["music"],
            ]
        }
        try await IdentityStandIn.run(answer) { standIn in
            let auth: JSONValue = ["one": options("one.example"), "two": options("two.example")]
            try await TestServer.run(standIn.options.merging(["auth": auth]) { $1 }) { server in
                for name: Name in ["one", "two", "one"] {
                    let answer = try await Self.logIn(server, name, ["id": "kim", "access_token": "a b"])
                    #expect(answer.status <= 201, "\(name): \(answer.text)")
                    #expect(try await Self.logIn(server, name, ["id": "eve", "access_token": "a b"]).code == 101)
                    #expect(try await Self.logIn(server, name, ["id": "kim", "access_token": "x"]).code == 101)
                }
                #expect(standIn.requests.map(\.host).contains("two.example"))
                #expect(try await server.rows("SELECT count(*)::text FROM \"_User\"") == [["2"]])
            }
        }
    }

    @Test("Refuses to start if a provider's options are missing or invalid, and names the option")
    func options() async throws {
        let cases: [(JSONValue, String)] = [
            (["google": [:]], "auth.google.clientId"), (["apple": [:]], "auth.apple.clientId"),
            (["facebook": [:]], "auth.facebook.appIds"),
            (["facebook": ["appIds": "1"]], "option auth.facebook.appIds must be an array."),
            (["github": [:]], "GitHub clientId is required"),
            (["twitter": [:]], "Twitter auth configuration missing"), (["gcenter": [:]], "auth.gcenter.bundleId"),
            (["mfa": [:]], "mfa.options must be an array"), (["mfa": ["options": []]], "mfa.options must include"),
            (["mfa": ["options": ["SMS"]]], "mfa.sendSMS callback must be defined"),
            (["own": ["oauth2": true]], "introspection endpoint URL is missing"), (["ldap": [:]], "auth.ldap"),
            (["own": ["issuer": "http://plain.example", "clientId": "x"]], "auth.own.issuer"),
            (["facebook": ["appIds": ["1"], "appSecret": 7]], "auth.facebook.appSecret must be a string"),
            (
                ["github": ["clientId": "c", "clientSecret": "s", "enableInsecureAuth": "false"]],
                "auth.github.enableInsecureAuth must be true or false"
            ),
            (["apple": ["clientId": "a", "enabled": "false"]], "auth.apple.enabled must be true or false"),
            (["google": ["clientId": ["a", 1]]], "auth.google.clientId must be a string or a list of strings"),
            (
                ["twitter": [["consumer_key": "k", "consumer_secret": "s"], ["consumer_key": "k"]]],
                "needs consumer_key"
            ),
            (["keycloak": ["config": ["auth-server-url": "id", "realm": "r", "client-id": "c"]]], "auth.keycloak"),
            (
                [
                    "mfa": [
                        "options": ["SMS"], "sendSMS": ["url": "https://x", "body": "x", "headers": ["A": 1]],
                    ]
                ], "mfa.sendSMS.headers.A must be a string"
            ),
            (
                ["mfa": ["options": ["SMS"], "sendSMS": ["url": "https://x", "body": "x", "method": "PUT"]]],
                "mfa.sendSMS.method"
            ),
        ]
        for (auth, text) in cases {
            let error = await #expect(throws: (any Error).self, "\(auth)") {
                try await TestServer.run(["auth": auth]) { _ in }
            }
            #expect("\(error.map { "\($0)" } ?? "")".contains(text), "\(auth): \(error.map { "\($0)" } ?? "")")
        }
    }

    @Test("Disabled providers need no other options, but unknown providers are still rejected")
    func switchedOff() async throws {
        let auth: JSONValue = [
            "ldap": ["enabled": false, "url": "ldap://h"], "own": ["module": "./own.js", "enabled": false],
            "mfa": ["enabled": false], "google": ["enabled": false],
        ]
        try await TestServer.run(["auth": auth]) { server in
            for name: Name in ["ldap", "own", "mfa", "google"] {
                let answer = try await Self.logIn(server, name, ["id": "1", "password": "x"])
                #expect(answer.code == 252, "\(name): \(answer.text)")
            }
        }
        let error = await #expect(throws: (any Error).self) {
            try await TestServer.run(["auth": ["gogle": ["enabled": false]]]) { _ in }
        }
        #expect("\(error.map { "\($0)" } ?? "")".contains("unknown option auth.gogle"))
    }

    @Test("Warns at start about options without effect and providers that accept access tokens")
    func warnings() async throws {
        let lines = LogLines()
        let auth: JSONValue = [
            "github": ["enableInsecureAuth": true, "appIds": ["1"]], "line": ["clientId": "c", "clientSecret": "s"],
            "spotify": ["enabled": false, "enableInsecureAuth": true], "google": ["clientId": "c", "cacheMaxAge": 1],
            "anonymous": ["length": 5], "own": ["issuer": "https://id.example", "clientId": "x", "scope": "a"],
            "twitter": [["consumer_key": "k", "consumer_secret": "s"]],
            "keycloak": [
                "config": ["auth-server-url": "https://id.example", "realm": "r", "client-id": "c"], "client-id": "c",
            ],
        ]
        try await TestServer.run(["auth": auth], logger: lines.logger) { _ in }
        let told = lines.all.filter { $0.contains("option auth.") }
        let expected = [
            "option auth.github takes access tokens from clients", "option auth.github.appIds has no effect",
            "option auth.google.cacheMaxAge has no effect", "option auth.anonymous.length has no effect",
            "option auth.own.scope has no effect", "option auth.keycloak.client-id has no effect",
        ]
        for text in expected { #expect(told.contains { $0.contains(text) }, "\(text): \(told)") }
        #expect(told.count == expected.count, "\(told)")
    }
}
