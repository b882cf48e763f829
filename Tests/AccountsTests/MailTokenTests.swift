import Foundation
import JSON
import TestSupport
import Testing

/// SMTP log-in with OAuth 2 access tokens.
@Suite("SMTP with OAuth 2 access tokens", .timeLimit(.minutes(10))) struct MailTokenTests {
    /// The options of a server that uses nodemailer's `auth` for the mail server.
    private static func options(
        _ catcher: MailCatcher, _ security: MailCatcher.Security = .startTLS, auth: JSONObject
    ) -> JSONObject {
        let server: JSONObject = [
            "host": "localhost", "port": .number(Double(catcher.port)), "secure": .bool(security == .tls),
            "from": "r@m.example",
            "auth": .object(auth.merging(["type": "OAuth2", "user": "music"]) { given, _ in given }),
        ]
        return [
            "appName": "App", "publicServerURL": "http://app.example/parse", "verifyUserEmails": true,
            "emailAdapter": ["module": "smtp", "options": .object(server)],
            "trustedCertificates": .string(catcher.authority),
        ]
    }

    @Test(
        "Sends emails with a valid access token, using the mechanism that the mail server supports",
        arguments: [
            (MailCatcher.Security.startTLS, MailCatcher.Login.xoauth2), (.tls, .xoauth2), (.startTLS, .oauthBearer),
        ])
    func right(security: MailCatcher.Security, login: MailCatcher.Login) async throws {
        try await MailCatcher.run(security: security, login: login) { catcher in
            let options = Self.options(catcher, security, auth: ["accessToken": "secret"])
            try await TestServer.run(options) { server in
                _ = try await server.signUp("ann", ["email": "ann@m.example"])
                #expect(try await catcher.mail(to: "ann@m.example").link.contains("/verify_email?token="))
            }
        }
    }

    @Test(
        "Retries after a rejected access token, then gives up, and neither stores nor logs token or link",
        arguments: [
            (MailCatcher.Login.xoauth2, "the server refused the access token (334)"),
            (.oauthBearer, "the server refused the access token (535)"),
            (.password, "the server doesn't support log-in by access token"),
        ])
    func wrong(login: MailCatcher.Login, reason: String) async throws {
        let lines = LogLines()
        try await MailCatcher.run(security: .startTLS, login: login) { catcher in
            let options = Self.options(catcher, auth: ["accessToken": "ya29.wrong-token"])
            try await TestServer.run(options, logger: lines.logger) { server in
                let ann = try await server.signUp("ann", ["email": "ann@m.example"])
                let token = try #require(try await server.user(ann.id)["_email_verify_token"]?.stringValue)
                func state() async throws -> [[String?]] {
                    try await server.rows(
                        "SELECT reason, (attempts > 1)::text, (due = 'infinity')::text FROM _roost_mail")
                }
                let isRetried = try await eventually { try await state() == [[reason, "true", "false"]] }
                let found = try await state()
                #expect(isRetried, "\(found)")
                try await server.execute("UPDATE _roost_mail SET attempts = 20, due = now()")
                let isGivenUp = try await eventually { try await state() == [[reason, "true", "true"]] }
                let foundAtLast = try await state()
                #expect(isGivenUp, "\(foundAtLast)")
                let kept = try await server.texts("SELECT concat(content, reason) FROM _roost_mail").joined()
                for secret in ["ya29.wrong-token", token] {
                    #expect(!kept.contains(secret))
                    #expect(lines.all.filter { $0.contains(secret) } == [])
                }
                #expect(lines.all.contains { $0.contains("email failed") && $0.contains(reason) })
            }
            #expect(try catcher.mails().isEmpty)
        }
    }

    @Test("Uses one access token for several emails, replaces it when rejected, and never logs secrets")
    func refreshed() async throws {
        let lines = LogLines()
        let refused: IdentityStandIn.Answer = { _ in .init(["error": "invalid_grant"], status: 400) }
        try await MailCatcher.run(security: .startTLS, login: .xoauth2) { catcher in
            try await IdentityStandIn.run(refused) { issuer in
                let auth: JSONObject = [
                    "clientId": "client&1", "clientSecret": "hush-1", "refreshToken": "refresh-1",
                    "accessUrl": "https://login.example/token",
                ]
                // The mail server and the token endpoint have different certificate authorities.
                let file = FileManager.default.temporaryDirectory.path + "/roost-authorities-\(UUID().uuidString).pem"
                let other = try #require(issuer.options["trustedCertificates"]?.stringValue)
                let both = try [catcher.authority, other].map { try String(contentsOfFile: $0, encoding: .utf8) }
                try both.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
                defer { try? FileManager.default.removeItem(atPath: file) }
                let options = Self.options(catcher, auth: auth).merging(issuer.options) { $1 }
                    .merging(["trustedCertificates": .string(file)]) { $1 }
                try await TestServer.run(options, logger: lines.logger) { server in
                    _ = try await server.signUp("ann", ["email": "ann@m.example"])
                    func reasons() async throws -> [String] {
                        try await server.texts("SELECT reason FROM _roost_mail WHERE reason IS NOT NULL")
                    }
                    let reason = "no access token: the token endpoint responded with status 400 (invalid_grant)"
                    let isTold = try await eventually { try await reasons() == [reason] }
                    let found = try await reasons()
                    #expect(isTold, "\(found)")
                    let form = try #require(issuer.requests.first)
                    #expect(form.host == "login.example" && form.method == "POST" && form.path == "/token")
                    #expect(
                        form.body == "grant_type=refresh_token&refresh_token=refresh-1&client_id=client%261"
                            + "&client_secret=hush-1")
                    // A revoked token is replaced.
                    func giveOut(_ token: String) async throws {
                        issuer.setAnswer { _ in .init(["access_token": .string(token), "expires_in": 3600]) }
                        try await server.execute("UPDATE _roost_mail SET due = now()")
                    }
                    try await giveOut("stale-1")
                    let isRefused = try await eventually {
                        try await reasons() == ["the server refused the access token (334)"]
                    }
                    let foundThen = try await reasons()
                    #expect(isRefused, "\(foundThen)")
                    try await giveOut("secret")
                    _ = try await catcher.mail(to: "ann@m.example")
                    let asked = issuer.requests.count
                    _ = try await concurrently(6) { number in
                        try await server.signUp("u\(number)", ["email": .string("u\(number)@m.example")])
                    }
                    for number in 0..<6 { _ = try await catcher.mail(to: "u\(number)@m.example") }
                    #expect(issuer.requests.count == asked)
                }
            }
        }
        for secret in ["hush-1", "refresh-1", "stale-1"] { #expect(lines.all.filter { $0.contains(secret) } == []) }
    }
}
