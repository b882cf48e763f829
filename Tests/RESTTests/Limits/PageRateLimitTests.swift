import JSON
import TestSupport
import Testing

/// Limits of API routes also apply to the pages behind links in emails.
@Suite(.timeLimit(.minutes(10))) struct PageRateLimitTests {
    private static let base = "/apps/\(TestServer.applicationID)"
    private static let remote = ["X-Forwarded-For": "203.0.113.7"]

    private static func run(
        _ options: JSONObject, _ body: @escaping @Sendable (TestServer) async throws -> Void
    ) async throws {
        let mail: JSONObject = [
            "appName": "Music", "publicServerURL": "https://music.example/parse", "verifyUserEmails": true,
            "trustProxy": true,
            "emailAdapter": [
                "module": "smtp", "options": ["host": "127.0.0.1", "port": 1, "from": "a@music.example"],
            ],
        ]
        try await TestServer.run(mail.merging(options) { $1 }, body)
    }

    private static func get(_ server: TestServer, _ path: String, _ headers: [String: String] = remote) async throws
        -> TestAnswer
    {
        try await server.send("GET", path, as: .nobody, headers: headers)
    }

    private static func limit(_ path: String, _ count: Int, _ more: JSONObject = [:]) -> JSONValue {
        let limit: JSONObject = [
            "requestPath": .string(path), "requestTimeWindow": 3_600_000, "requestCount": .number(Double(count)),
        ]
        return .object(limit.merging(more) { $1 })
    }

    @Test("The resend form and the verification-email routes share one limit of 100 emails per address")
    func resend() async throws {
        try await Self.run([:]) { server in
            _ = try await server.signUp("kim", ["email": "kim@music.example"])
            let before = try await server.texts("SELECT count(*)::text FROM _roost_mail")
            #expect(before == ["1"])
            let answers = try await concurrently(110) { number in
                number % 2 == 0
                    ? try await server.form("\(Self.base)/resend_verification_email", "username=kim", Self.remote)
                    : try await server.send(
                        "POST", "/verificationEmailRequest", ["email": "kim@music.example"], headers: Self.remote)
            }
            #expect(answers.count { $0.status == 429 } == 10)
            #expect(try await server.texts("SELECT count(*)::text FROM _roost_mail") == ["101"])
            let call: JSONValue = [
                "method": "POST", "path": "/parse/verificationEmailRequest", "body": ["email": "kim@music.example"],
            ]
            let batch = try await server.send("POST", "/batch", ["requests": [call]], headers: Self.remote)
            #expect(batch.status == 429)
            // Each address has its own count, and pages that send no email remain available.
            let other = try await server.form(
                "\(Self.base)/resend_verification_email", "username=kim", ["X-Forwarded-For": "203.0.113.8"])
            #expect(other.status == 303)
            #expect(try await Self.get(server, "/apps/style.css").status == 200)
        }
    }

    @Test("Allows 1000 token guesses per address, however the path is written, then rejects even valid tokens")
    func guesses() async throws {
        try await Self.run(["rateLimit": [Self.limit("/apps/:app/:page", 6)]]) { server in
            let kim = try await server.signUp("kim", ["email": "kim@music.example"])
            let reset = "\(Self.base)/request_password_reset"
            for path in [
                "\(reset)?token=a", "\(reset)/?token=b", "/apps//\(TestServer.applicationID)//request_password_reset",
                "\(Self.base)/%72equest_password_reset?token=c", "\(Self.base)/verify_email?token=d",
            ] {
                #expect(try await Self.get(server, path).status == 200, "\(path)")
            }
            #expect(try await server.form(reset, "token=e&new_password=x", Self.remote).status == 200)
            let token = try #require(try await server.user(kim.id)["_email_verify_token"]?.stringValue)
            for path in [
                "\(Self.base)/verify_email?token=\(token)", "\(Self.base)/verify%5femail/?token=\(token)",
                "/apps/\(TestServer.applicationID)//verify_email?token=\(token)",
            ] {
                let answer = try await Self.get(server, path)
                #expect(answer.status == 429 && answer.page == "too_many_requests", "\(path): \(answer.text)")
                #expect(answer.headers["retry-after"] != nil)
                #expect(answer.headers["cache-control"] == "no-store")
                #expect(answer.text.contains("Please wait a few minutes"))
            }
            // Page paths are case-sensitive.
            for path in ["/APPS/\(TestServer.applicationID)/verify_email", "\(Self.base)/VERIFY_EMAIL"] {
                let answer = try await Self.get(server, "\(path)?token=\(token)")
                #expect([403, 404].contains(answer.status), "\(path): \(answer.status)")
            }
            #expect(try await server.user(kim.id)["emailVerified"] == false)
            let script = try await server.form(
                reset, "token=e&new_password=x", Self.remote.merging(["X-Requested-With": "XMLHttpRequest"]) { $1 })
            #expect(script.status == 429 && script.json == ["code": 100, "error": "Too many requests."])
            // The proxy's own address is not a client address.
            #expect(try await Self.get(server, "\(Self.base)/verify_email?token=\(token)", [:]).status == 200)
        }
        try await Self.run([:]) { server in
            let answers = try await concurrently(1005) { number in
                number % 2 == 0
                    ? try await Self.get(server, "\(Self.base)/request_password_reset?token=\(number)")
                    : try await server.form(
                        "\(Self.base)/request_password_reset", "token=\(number)&new_password=x", Self.remote)
            }
            #expect(answers.count { $0.status == 429 } == 5)
        }
    }

    @Test("Configured limits apply to pages at a custom endpoint, also before preset 9, and show their message")
    func ownLimits() async throws {
        let message = "Slowly, <b>please</b>."
        let own: JSONObject = [
            "rateLimit": [
                Self.limit("/acc/*path", 1, ["errorResponseMessage": .string(message)]),
                Self.limit("/verificationEmailRequest", 1),
            ],
            "pages": ["pagesEndpoint": "acc", "enableRouter": true, "enableLocalization": true],
        ]
        for preset in [7.0, 9] {
            try await Self.run(own.merging(["preset": .number(preset)]) { $1 }) { server in
                let path = "/acc/\(TestServer.applicationID)/verify_email?token=x&username=x&locale=de"
                #expect(try await Self.get(server, path).status == 200)
                let refused = try await Self.get(server, path)
                #expect(refused.status == 429 && refused.page == "too_many_requests")
                #expect(refused.text.contains("Zu viele Versuche"))
                #expect(refused.text.contains("Slowly, &lt;b&gt;please&lt;&#x2F;b&gt;."))
                #expect(
                    try await server.send(
                        "POST", "/verificationEmailRequest", ["email": "a@b.c"], headers: Self.remote
                    ).status != 429)
                let form = try await server.form(
                    "/acc/\(TestServer.applicationID)/resend_verification_email", "username=x",
                    Self.remote.merging(["X-Forwarded-For": "203.0.113.9"]) { $1 })
                #expect(form.status == 303)
                let again = try await server.send(
                    "POST", "/verificationEmailRequest", ["email": "a@b.c"],
                    headers: ["X-Forwarded-For": "203.0.113.9"])
                #expect(again.status == 429)
            }
        }
        // Paths of the older redirects differ, but the same limits apply. The built-in limits don't cover them.
        try await Self.run(["preset": 7, "rateLimit": [Self.limit("/apps/*path", 101)]]) { server in
            for number in 1...102 {
                let answer = try await server.form(
                    "\(Self.base)/resend_verification_email", "username=x", Self.remote)
                #expect(answer.status == (number == 102 ? 429 : 302), "\(number)")
            }
        }
    }
}
