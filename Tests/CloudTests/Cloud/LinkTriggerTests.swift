import JSON
import TestSupport
import Testing

/// Webhook triggers of links in emails.
@Suite struct LinkTriggerTests {
    private static func run(
        _ body: @escaping @Sendable (TestServer, MailCatcher, WebhookServer) async throws -> Void
    ) async throws {
        try await MailCatcher.run { catcher in
            try await WebhookServer.run { hooks in
                let options = catcher.options(["verifyUserEmails": true])
                try await TestServer.run(options) { try await body($0, catcher, hooks) }
            }
        }
    }

    /// Waits for a user's email and returns its link to a page.
    private static func link(_ part: String, _ catcher: MailCatcher) async throws -> String {
        var link: String?
        let isThere = try await eventually {
            link = try catcher.mails().map(\.link).last { $0.contains(part) }
            return link != nil
        }
        #expect(isThere)
        return try #require(link)
    }

    @Test("A password reset by link calls save triggers as master; a rejected password keeps the token valid")
    func reset() async throws {
        try await Self.run { server, catcher, hooks in
            _ = try await server.signUp("ann", ["email": "ann@m.example"])
            _ = try await server.send("POST", "/requestPasswordReset", ["email": "ann@m.example"]).succeeded()
            let link = try await Self.link("reset", catcher)
            let token = try #require(link.split(separator: "token=").last?.split(separator: "&").first)
            for event in ["beforeSave", "afterSave"] {
                try await hooks.trigger(event, "_User", on: server) { call in
                    call["object"]?["password"] == "bad" ? .error("not that one") : .nothing
                }
            }
            func choose(_ password: String) async throws -> TestAnswer {
                try await server.form(TestServer.resetPath, "token=\(token)&new_password=\(password)")
            }
            #expect(try await choose("bad").page == "password_reset")
            #expect(try await server.send("POST", "/login", ["username": "ann", "password": "bad"]).code == 101)
            #expect(try await choose("good").page == "password_reset_success")
            let call = try #require(hooks.calls("_User.beforeSave").last)
            #expect(call["master"] == true)
            #expect(call["user"] == nil)
            #expect(call["object"]?["password"] == "good")
            #expect(call["original"]?["username"] == "ann")
            #expect(hooks.calls("_User.afterSave").last?["object"]?["password"] == nil)
            #expect(!hooks.calls.contains { $0.body.text.contains(String(token)) })
        }
    }

    @Test("Verifying an email address by link calls save triggers without the master flag or the token")
    func verification() async throws {
        try await Self.run { server, catcher, hooks in
            for event in ["beforeSave", "afterSave"] {
                try await hooks.trigger(event, "_User", on: server) { _ in .nothing }
            }
            _ = try await server.signUp("ann", ["email": "ann@m.example"])
            let link = try await Self.link("verify", catcher)
            hooks.forgetCalls()
            #expect(try await server.open(link).page == "email_verification_success")
            #expect(hooks.calls.map(\.name) == ["_User.beforeSave", "_User.afterSave"])
            for call in hooks.calls {
                #expect(call["master"] == false)
                #expect(call["isReadOnly"] == false)
                #expect(call["user"] == nil)
                #expect(call["object"]?["emailVerified"] == true)
                #expect(call["object"]?["_email_verify_token"] == nil)
                #expect(call["original"]?["_email_verify_token"] == nil)
            }
            let user = try await server.find("_User", ["where": ["username": "ann"]], as: .master).results.first
            #expect(user?["emailVerified"] == true)
        }
    }

    @Test("beforePasswordResetRequest can reject a request, but not reveal that a user doesn't exist")
    func request() async throws {
        try await Self.run { server, catcher, hooks in
            let ann = try await server.signUp("ann", ["email": "ann@m.example"])
            try await hooks.trigger("beforePasswordResetRequest", "_User", on: server) { _ in .nothing }
            func ask(_ email: String) async throws -> TestAnswer {
                try await server.send(
                    "POST", "/requestPasswordReset", ["email": .string(email)],
                    headers: ["X-Parse-Cloud-Context": "{\"a\":1}"])
            }
            hooks.on("_User.beforePasswordResetRequest") { _ in .error("not now") }
            let refused = try await ask("ann@m.example")
            #expect(refused.status == 400)
            #expect(refused.json == ["code": 141, "error": "not now"])
            let call = try #require(hooks.calls.first)
            #expect(call["triggerName"] == "beforePasswordResetRequest")
            #expect(call["object"]?["className"] == "_User")
            #expect(call["object"]?["objectId"] == .string(ann.id))
            #expect(call["object"]?["email"] == "ann@m.example")
            #expect(call["object"]?["password"] == nil)
            #expect(call["object"]?.text.contains("_perishable_token") == false)
            #expect(call["user"] == nil)
            #expect(call["master"] == false)
            #expect(call["context"] == ["a": 1])
            // The response must not reveal that the user doesn't exist.
            hooks.on("_User.beforePasswordResetRequest") { _ in .error(["code": 101, "message": "gone"]) }
            #expect(try await ask("ann@m.example").json == [:])
            #expect(try await ask("nobody@m.example").json == [:])
            #expect(hooks.calls.count == 2)
            let mails = try catcher.mails()
            #expect(mails.allSatisfy { !$0.link.contains("reset") })
            hooks.on("_User.beforePasswordResetRequest") { _ in .nothing }
            #expect(try await ask("ann@m.example").json == [:])
            _ = try await Self.link("reset", catcher)
        }
    }

    @Test("Answers a password-reset request before its trigger ends, and sends the email afterward")
    func slowTrigger() async throws {
        try await Self.run { server, catcher, hooks in
            _ = try await server.signUp("ann", ["email": "ann@m.example"])
            let (ends, end) = AsyncStream.makeStream(of: Void.self)
            try await hooks.trigger("beforePasswordResetRequest", "_User", on: server) { _ in
                for await _ in ends {}
                return .nothing
            }
            for email in ["ann@m.example", "nobody@m.example"] {
                let answer = try await server.send("POST", "/requestPasswordReset", ["email": .string(email)])
                #expect(answer.status == 200 && answer.json == [:])
            }
            #expect(hooks.calls.count == 1)
            #expect(try catcher.mails().allSatisfy { !$0.link.contains("reset") })
            end.finish()
            _ = try await Self.link("reset", catcher)
        }
    }
}
