import Encoding
import Foundation
import JSON
import SignIn
import TestSupport
import TestTools
import Testing

/// Runs the examples of docs/sign-in.md and docs/accounts.md as written.
@Suite(.timeLimit(.minutes(10))) struct ProviderExampleTests {
    /// The JSON objects in the documents.
    private static func examples() throws -> [JSONObject] {
        let text = try ["docs/sign-in.md", "docs/accounts.md"].map {
            try String(contentsOfFile: Checkout.path($0), encoding: .utf8)
        }.joined()
        return text.components(separatedBy: "```json\n").dropFirst().compactMap { part in
            let block = part.components(separatedBy: "```")[0]
            return (try? JSONValue(parsing: Array(block.utf8)))?.objectValue
        }
    }

    private static func providers() throws -> JSONObject {
        try examples().compactMap { $0["auth"]?.objectValue }.reduce(into: [:]) { $0.merge($1) { $1 } }
    }

    @Test("The server starts with all documented providers, and each rejects log-ins without proof")
    func start() async throws {
        let all = try Self.providers()
        #expect(
            Set(all.keys.texts).isSuperset(of: [
                "apple", "google", "facebook", "github", "twitter", "gcenter", "keycloak", "school", "club", "mfa",
            ]), "\(all.keys)")
        try await TestServer.run(["auth": .object(all)]) { server in
            for name in all.keys where name != "mfa" {
                let body: JSONValue = ["authData": .object([name: ["id": "1"]])]
                let answer = try await server.send("POST", "/users", body)
                #expect([101, 142].contains(answer.code), "\(name): \(answer.text)")
            }
        }
    }

    /// Responses of all providers in the examples, for the user kim.
    private static func answer(_ keys: IdentityStandIn.Reply) -> IdentityStandIn.Answer {
        { request in
            switch (request.host, request.method) {
            case ("graph.facebook.com", _):
                request.path.hasPrefix("/me?") ? .init(["id": "kim"]) : .init(["id": "1234567890"])
            case ("github.com", _), ("www.linkedin.com", "POST"), ("login.microsoftonline.com", _),
                ("accounts.spotify.com", _), ("api.instagram.com", _), ("api.line.me", "POST"),
                ("oauth2.googleapis.com", _):
                request.body.contains("c0de") ? .init(["access_token": "t"]) : .init("", status: 400)
            case ("api.github.com", _), ("api.linkedin.com", _), ("graph.microsoft.com", _), ("api.spotify.com", _),
                ("graph.instagram.com", _), ("api.line.me", "GET"):
                .init(["id": "kim", "userId": "kim"])
            case ("www.googleapis.com", _) where request.path.hasPrefix("/games/"): .init(["playerId": "kim"])
            case ("api.twitter.com", _): .init(["id_str": "kim"])
            case ("id.club.example", _): .init(["active": true, "sub": "kim", "client_id": "music"])
            case ("login.school.example", _) where request.path.hasPrefix("/.well-known/"):
                .init(["issuer": "https://login.school.example", "jwks_uri": "https://login.school.example/keys"])
            default: keys
            }
        }
    }

    @Test("Users sign up and log in with each documented provider and the login data it documents")
    func logIns() async throws {
        let key = try IdentityKey("one")
        let providers = try Self.providers().filter { $0.key != "mfa" && $0.key != "gcenter" }
        let codes = try #require(providers["github"])
        let likeGitHub: [Name] = ["linkedin", "microsoft", "spotify", "instagram", "line", "gpgames"]
        let auth = providers.merging(likeGitHub.map { ($0, codes) }) { own, _ in own }
        @Sendable func token(_ issuer: String, _ audience: String) throws -> JSONValue {
            let end = Date().timeIntervalSince1970.rounded() + 600
            return .string(
                try key.token([
                    "iss": .string(issuer), "aud": .string(audience), "azp": .string(audience), "sub": "kim",
                    "exp": .number(end), "nonce": "n",
                ]))
        }
        let code: JSONValue = ["code": "c0de", "redirect_uri": "https://music.example.com/back", "code_verifier": "v"]
        let sent: [(Name, JSONValue)] = [
            ("apple", ["id": "kim", "token": try token("https://appleid.apple.com", "com.example.music")]),
            (
                "google",
                [
                    "id": "kim",
                    "id_token": try token("https://accounts.google.com", "1234-ios.apps.googleusercontent.com"),
                ]
            ),
            ("facebook", ["id": "kim", "access_token": "t", "expiration_date": "2031-01-01T00:00:00.000Z"]),
            ("facebook", ["id": "kim", "token": try token("https://www.facebook.com", "1234567890")]),
            ("github", code), ("linkedin", code), ("microsoft", code), ("spotify", code), ("instagram", code),
            ("line", code), ("gpgames", ["id": "kim", "code": "c0de"]),
            ("twitter", ["id": "kim", "auth_token": "t", "auth_token_secret": "s"]),
            ("keycloak", ["id": "kim", "access_token": try token("https://id.example.com/realms/music", "app")]),
            ("school", ["id": "kim", "id_token": try token("https://login.school.example", "music"), "nonce": "n"]),
            ("club", ["id": "kim", "access_token": "t"]),
            ("anonymous", ["id": "b5e0d8f4-0000-4000-8000-000000000001"]),
        ]
        let names = Set(sent.map(\.0.text))
        #expect(auth.keys.texts.allSatisfy(names.contains), "\(auth.keys)")
        let keys = IdentityStandIn.Reply(["keys": [try key.published]])
        try await IdentityStandIn.run(Self.answer(keys)) { standIn in
            try await TestServer.run(standIn.options.merging(["auth": .object(auth)]) { $1 }) { server in
                var known: [Name: JSONValue] = [:]
                for (name, data) in sent {
                    let body: JSONValue = ["authData": .object([name: data])]
                    let first = try await server.send("POST", "/users", body)
                    #expect(first.status == (known[name] == nil ? 201 : 200), "\(name): \(first.text)")
                    let again = try await server.send("POST", "/users", body)
                    #expect(again.status == 200 && again["objectId"] == first["objectId"], "\(name): \(again.text)")
                    if let other = known[name] { #expect(other == first["objectId"], "\(name)") }
                    known[name] = first["objectId"] ?? .null
                }
            }
        }
    }

    @Test("The documented second factor works with an authenticator app and with text messages")
    func secondFactor() async throws {
        let examples = try Self.examples()
        let factors = examples.compactMap { $0["auth"]?["mfa"]?.objectValue }
        var factor = try #require(factors.first)
        let sender = try #require(examples.first { $0["url"]?.stringValue?.hasSuffix("/messages") == true })
        factor["options"] = ["TOTP", "SMS"]
        factor["sendSMS"] = .object(sender)
        factor["encryptionKey"] = "a key of the operator"
        let auth: JSONValue = ["mfa": .object(factor)]
        let taken: IdentityStandIn.Answer = { _ in .init("{}") }
        try await IdentityStandIn.run(taken) { standIn in
            try await TestServer.run(standIn.options.merging(["auth": auth]) { $1 }) { server in
                let secret = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
                func put(_ user: (id: String, token: String), _ data: JSONValue) async throws -> TestAnswer {
                    try await server.send(
                        "PUT", "/users/\(user.id)", ["authData": ["mfa": data]], as: .session(user.token))
                }
                func logIn(_ name: String, _ token: JSONValue) async throws -> TestAnswer {
                    try await server.send(
                        "POST", "/login",
                        ["username": .string(name), "password": "secret", "authData": ["mfa": ["token": token]]])
                }
                let kim = try await server.signUp("kim")
                let codes = OneTimeCode(secret: try #require(Base32.decode(secret)))
                let step = Int(Date().timeIntervalSince1970) / 30
                let set = try await put(kim, ["secret": .string(secret), "token": .string(codes.code(step: step - 1))])
                #expect(set["authDataResponse"]?["mfa"]?["recovery"]?.stringValue?.contains(", ") == true)
                #expect(try await logIn("kim", .string(codes.code(step: step + 1))).status == 200)
                #expect(try await !server.texts("SELECT \"authData\"::text FROM \"_User\"")[0].contains(secret))

                let lou = try await server.signUp("lou")
                #expect(try await put(lou, ["mobile": "+49 30 123456"]).status == 200)
                func sent() throws -> JSONValue {
                    let message = try #require(standIn.requests.last)
                    #expect(message.host == "api.example.com" && message.headers["authorization"] == "Bearer …")
                    let json = try JSONValue(parsing: Array(message.body.utf8))
                    #expect(json["to"] == "+49 30 123456")
                    let text = json["text"]?.stringValue ?? ""
                    return .string(text.replacing("Your code: ", with: ""))
                }
                #expect(try await put(lou, ["mobile": "+49 30 123456", "token": try sent()]).status == 200)
                #expect(try await logIn("lou", "request").error == "Please enter the token")
                #expect(try await logIn("lou", try sent()).status == 200)
            }
        }
    }

    @Test("The documented mail options send emails by SMTP and by each service")
    func mails() async throws {
        let examples = try Self.examples()
        let first = try #require(examples.first { $0["emailAdapter"] != nil })
        let address = try #require(first["publicServerURL"]?.stringValue)
        try await MailCatcher.run(security: .startTLS) { catcher in
            // Everything as written, except the mail server and its password.
            var all = first
            var options = try #require(first["emailAdapter"]?["options"]?.objectValue)
            #expect(options["port"] == 587 && options["secure"] == false)
            options.merge(["host": "localhost", "port": .number(Double(catcher.port)), "password": "secret"]) { $1 }
            all["emailAdapter"] = ["module": "smtp", "options": .object(options)]
            all["trustedCertificates"] = .string(catcher.authority)
            try await TestServer.run(all) { server in
                _ = try await server.signUp("you", ["email": "you@example.com"])
                let mail = try await catcher.mail(to: "you@example.com")
                #expect(mail.from == "Music <no-reply@music.example.com>")
                #expect(mail.link.hasPrefix("\(address)/apps/"))
                #expect(
                    try await server.open(mail.link.replacing(address, with: "")).page == "email_verification_success")
            }
        }
        let adapters = examples.filter { $0["module"] != nil }
        let modules = adapters.compactMap { $0["module"]?.stringValue }
        #expect(modules == ["smtp", "mailgun", "ses", "http", "./mail/postman.js"])
        let hosts = ["mailgun": "api.eu.mailgun.net", "ses": "email.eu-west-1.amazonaws.com", "http": "api.resend.com"]
        for adapter in adapters {
            guard let module = adapter["module"]?.stringValue, let host = hosts[module] else { continue }
            let taken: IdentityStandIn.Answer = { _ in .init(["id": "1"]) }
            try await IdentityStandIn.run(taken) { service in
                let options: JSONObject = [
                    "appName": "Music", "publicServerURL": .string(address), "emailAdapter": .object(adapter),
                ]
                try await TestServer.run(options.merging(service.options) { $1 }) { server in
                    _ = try await server.signUp("you", ["email": "you@example.com"])
                    let asked = try await server.send("POST", "/requestPasswordReset", ["email": "you@example.com"])
                    #expect(asked.status == 200, "\(asked.text)")
                    // The response may precede the email's entry in the queue.
                    let isSent = try await eventually {
                        let isQueued = try await !server.texts("SELECT id::text FROM _roost_mail").isEmpty
                        return !service.requests.isEmpty && !isQueued
                    }
                    #expect(isSent, "\(module)")
                    #expect(service.requests.map(\.host) == [host], "\(module)")
                }
            }
        }
    }

    @Test("The documented OAuth 2 options for email request an access token with their credentials")
    func tokens() async throws {
        let adapter = try #require(try Self.examples().first { $0["options"]?["auth"] != nil })
        let auth = try #require(adapter["options"]?["auth"])
        let none: IdentityStandIn.Answer = { _ in .init(["error": "invalid_client"], status: 401) }
        try await IdentityStandIn.run(none) { service in
            let options: JSONObject = [
                "appName": "Music", "publicServerURL": "http://music.example/parse", "emailAdapter": .object(adapter),
            ]
            try await TestServer.run(options.merging(service.options) { $1 }) { server in
                _ = try await server.signUp("you", ["email": "you@example.com"])
                _ = try await server.send("POST", "/requestPasswordReset", ["email": "you@example.com"]).succeeded()
                let isAsked = try await eventually { !service.requests.isEmpty }
                #expect(isAsked)
                let request = try #require(service.requests.first)
                #expect(request.host == "oauth2.googleapis.com" && request.path == "/token")
                for member: Name in ["clientId", "clientSecret", "refreshToken"] {
                    let text = try #require(auth[member]?.stringValue)
                    #expect(request.body.contains("=\(PercentEncoding.encode(text))"), "\(member): \(request.body)")
                }
            }
        }
    }
}
