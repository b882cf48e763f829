import App
import JSON
import Operations
import Rules
import TestSupport
import Testing

/// The conditions under which addresses need verification, and the ways to verify them.
@Suite(.timeLimit(.minutes(10))) struct EmailVerificationTests {
    private static let verification: JSONObject = ["verifyUserEmails": true]

    private static func run(
        _ options: JSONObject? = nil, extensions: ServerExtensions = ServerExtensions(),
        _ body: @escaping @Sendable (TestServer, MailCatcher) async throws -> Void
    ) async throws {
        try await MailCatcher.serve(verification.merging(options ?? [:]) { $1 }, extensions: extensions, body)
    }

    /// Waits for an empty mail queue, and returns the number of emails received.
    private static func sentMails(_ server: TestServer, _ catcher: MailCatcher) async throws -> Int {
        let isEmpty = try await eventually { try await server.texts("SELECT id::text FROM _roost_mail").isEmpty }
        #expect(isEmpty)
        return try catcher.mails().count
    }

    @Test("An address added after the sign-up gets a verification link, and deleting it sends one notice")
    func laterAddress() async throws {
        try await Self.run { server, catcher in
            let ann = try await server.signUp("ann")
            #expect(try await Self.sentMails(server, catcher) == 0)
            for email in [JSONValue.string("ann@m.example"), ["__op": "Delete"], .null] {
                _ = try await server.send("PUT", "/users/\(ann.id)", ["email": email], as: .session(ann.token))
            }
            #expect(try await Self.sentMails(server, catcher) == 2)
            #expect(try catcher.mails().map(\.recipients) == [["ann@m.example"], ["ann@m.example"]])
            #expect(try catcher.mails().count { $0.link.isEmpty } == 1)
        }
    }

    @Test(
        "Notifies the previous address when it is changed or removed, with or without verification",
        arguments: [true, false])
    func formerAddress(confirms: Bool) async throws {
        try await Self.run(["verifyUserEmails": .bool(confirms)]) { server, catcher in
            let ann = try await server.signUp("ann", ["email": "ann@m.example"])
            let changes: [JSONValue] = [
                ["__op": "Delete"], "two@m.example", "two@m.example", "three@m.example", .null, "four@m.example",
            ]
            for email in changes {
                let path = "/users/\(ann.id)"
                _ = try await server.send("PUT", path, ["email": email], as: .session(ann.token)).succeeded()
            }
            // Each new address receives a link, each old address a notice.
            #expect(try await Self.sentMails(server, catcher) == (confirms ? 7 : 3))
            let notices = try catcher.mails().filter { $0.subject == "Your e-mail address for Größe was changed" }
            #expect(notices.count == 3)
            #expect(Set(notices.flatMap(\.recipients)) == ["ann@m.example", "two@m.example", "three@m.example"])
            #expect(notices.allSatisfy { $0.link.isEmpty && !$0.text.contains("@m.example") })
        }
    }

    @Test("Verifying an address runs the user's beforeSave and afterSave triggers")
    func triggers() async throws {
        let calls = CallLog()
        var extensions = ServerExtensions()
        extensions.backend.triggers = calls
        try await Self.run(extensions: extensions) { server, catcher in
            _ = try await server.signUp("ann", ["email": "ann@m.example"])
            let mail = try await catcher.mail(to: "ann@m.example")
            calls.clear()
            #expect(try await server.open(mail.link).page == "email_verification_success")
            #expect(calls.seen == ["beforeSave emailVerified true", "afterSave emailVerified true"])
        }
    }

    @Test("An expired link shows a form that sends a new one, invalidates the old one, and reveals no users")
    func expired() async throws {
        try await Self.run(["emailVerifyTokenValidityDuration": 0.3]) { server, catcher in
            _ = try await server.signUp("ann", ["email": "ann@m.example"])
            let mail = try await catcher.mail(to: "ann@m.example")
            let token = try #require(mail.parameter("token"))
            try await Task.sleep(for: .milliseconds(400))
            let expired = try await server.open(mail.link)
            #expect(expired.page == "email_verification_link_expired")
            #expect(expired.text.contains("<input type=\"hidden\" name=\"token\" value=\"\(token)\">"))
            let resend = "/apps/\(TestServer.applicationID)/resend_verification_email"
            let sent = try await server.form(resend, "token=\(token)")
            #expect(sent.status == 303)
            #expect(
                sent.location.hasPrefix("http://app.example/parse/apps/email_verification_send_success.html?"))
            let second = try await catcher.mail(to: "ann@m.example", number: 2)
            #expect(second.parameter("token") != token)
            #expect(try await server.open(mail.link).page == "email_verification_link_invalid")
            // The response is the same for an unknown token, an unverified user and a verified one.
            for form in ["token=unknown", "username=nobody", "username=ann"] {
                #expect(try await server.form(resend, form).location.contains("email_verification_send_success.html"))
            }
            #expect(try await server.form(resend, "").location.contains("email_verification_link_invalid.html"))
        }
    }

    @Test(
        "Another request resends the same link if reuse is on, or else a new one that invalidates the first",
        arguments: [true, false])
    func again(reuses: Bool) async throws {
        let options: JSONObject =
            reuses ? ["emailVerifyTokenValidityDuration": 60, "emailVerifyTokenReuseIfValid": true] : [:]
        try await Self.run(options) { server, catcher in
            _ = try await server.signUp("ann", ["email": "ann@m.example"])
            let first = try await catcher.mail(to: "ann@m.example")
            for number in [2, 3] {
                let answer = try await server.send("POST", "/verificationEmailRequest", ["email": "ann@m.example"])
                #expect(answer.status == 200 && answer.json == [:])
                let next = try await catcher.mail(to: "ann@m.example", number: number)
                #expect((next.link == first.link) == reuses)
            }
            #expect(
                try await server.open(first.link).page
                    == (reuses ? "email_verification_success" : "email_verification_link_invalid"))
        }
    }

    @Test(
        "emailVerifySuccessOnInvalidEmail hides whether an address is unknown or already verified",
        arguments: [true, false])
    func unknown(hides: Bool) async throws {
        try await Self.run(["emailVerifySuccessOnInvalidEmail": .bool(hides)]) { server, catcher in
            let ann = try await server.signUp("ann", ["email": "ann@m.example"])
            _ = try await server.send("PUT", "/users/\(ann.id)", ["emailVerified": true], as: .master).succeeded()
            let rows: [(String, Int, String)] = [
                ("other@m.example", 205, "No user found with email other@m.example"),
                ("ann@m.example", -1, "Email ann@m.example is already verified."),
            ]
            for (email, code, text) in rows {
                let answer = try await server.send("POST", "/verificationEmailRequest", ["email": .string(email)])
                if hides {
                    #expect(answer.status == 200 && answer.json == [:])
                } else {
                    #expect(answer.status == 400 && answer.code == code && answer.error == text)
                }
            }
            #expect(try await Self.sentMails(server, catcher) == 1)
        }
    }

    @Test("Anonymous users with an address get a verification email")
    func anonymous() async throws {
        try await Self.run { server, catcher in
            let body: JSONValue = ["authData": ["anonymous": ["id": "device-0123456789"]], "email": "anon@m.example"]
            #expect(try await server.send("POST", "/users", body).status == 201)
            _ = try await catcher.mail(to: "anon@m.example")
        }
    }

    @Test("An address verified by the provider's token needs no email; any other does, without blocking log-ins")
    func provider() async throws {
        let key = try IdentityKey("one")
        let answer: IdentityStandIn.Answer = { _ in .init(["keys": .array([try key.published])]) }
        try await IdentityStandIn.run(answer) { standIn in
            var options: JSONObject = ["preventLoginWithUnverifiedEmail": true, "auth": ["apple": ["clientId": "app"]]]
            options.merge(standIn.options) { $1 }
            try await Self.run(options) { server, catcher in
                for (id, email, claimed, isVouched) in [
                    ("kim", "kim@m.example", "kim@m.example", true), ("lee", "lee@m.example", "other@m.example", false),
                ] {
                    let now = ParseTime.now
                    let token = try key.token([
                        "iss": "https://appleid.apple.com", "aud": "app", "sub": .string(id), "iat": .number(now),
                        "exp": .number(now + 600), "email": .string(claimed), "email_verified": "true",
                    ])
                    let signUp: JSONValue = [
                        "authData": ["apple": ["id": .string(id), "token": .string(token)]], "email": .string(email),
                    ]
                    let made = try await server.send("POST", "/users", signUp)
                    #expect(made.status == 201 && made["sessionToken"] != nil, "\(made.text)")
                    let user = try await server.user(try #require(made["objectId"]?.stringValue))
                    #expect(user["emailVerified"] == .bool(isVouched))
                    #expect(try await server.send("POST", "/users", signUp).status == 200)
                    guard isVouched, let session = made["sessionToken"]?.stringValue else { continue }
                    // The Objective-C SDK sends all of authData with every save of a user.
                    let change: JSONValue = ["authData": signUp["authData"] ?? .null, "email": "new@m.example"]
                    let id = made["objectId"]?.stringValue ?? ""
                    _ = try await server.send("PUT", "/users/\(id)", change, as: .session(session)).succeeded()
                    #expect(try await server.user(id)["emailVerified"] == false)
                }
                for address in ["lee@m.example", "new@m.example", "kim@m.example"] {
                    _ = try await catcher.mail(to: address)
                }
                #expect(try await Self.sentMails(server, catcher) == 3)
            }
        }
    }

    @Test("A new address, even together with authData, needs verification and invalidates reset links")
    func change() async throws {
        try await Self.run { server, catcher in
            let ann = try await server.signUp(
                "ann", ["email": "ann@m.example", "authData": ["anonymous": ["id": "device-0123456789"]]])
            let first = try await catcher.mail(to: "ann@m.example")
            _ = try await server.open(first.link)
            _ = try await server.send("POST", "/requestPasswordReset", ["email": "ann@m.example"]).succeeded()
            let reset = try await catcher.mail(to: "ann@m.example", number: 2)
            let authData: JSONValue = ["anonymous": ["id": "device-0123456789"]]
            for (body, isVerified) in [
                (["email": "ann@m.example"], true), (["email": "new@m.example", "authData": authData], false),
            ] as [(JSONValue, Bool)] {
                _ = try await server.send("PUT", "/users/\(ann.id)", body, as: .session(ann.token)).succeeded()
                #expect(try await server.user(ann.id)["emailVerified"] == .bool(isVerified))
            }
            _ = try await catcher.mail(to: "new@m.example")
            let notice = try await catcher.mail(to: "ann@m.example", number: 3)
            #expect(notice.subject == "Your e-mail address for Größe was changed")
            #expect(!notice.text.contains("new@m.example"))
            #expect(try await server.open(reset.link).page == "password_reset_link_invalid")
            #expect(try await Self.sentMails(server, catcher) == 4)
        }
    }

    @Test("preventSignupWithUnverifiedEmail rejects the sign-up, but creates the user and sends the email")
    func heldBack() async throws {
        let options: JSONObject = ["preventLoginWithUnverifiedEmail": true, "preventSignupWithUnverifiedEmail": true]
        try await Self.run(options) { server, catcher in
            let ann: JSONValue = ["username": "ann", "password": "p", "email": "ann@m.example"]
            let first = try await server.send("POST", "/users", ann)
            #expect(first.status == 400 && first.code == 205 && first.error == "User email is not verified.")
            #expect(try await server.send("POST", "/users", ann).code == 202)
            let mail = try await catcher.mail(to: "ann@m.example")
            #expect(try await server.open(mail.link).page == "email_verification_success")
            #expect(try await server.send("POST", "/login", ann).status == 200)
        }
    }

    @Test("With sendUserEmailVerification off, stores a valid token but sends no email")
    func muted() async throws {
        try await Self.run(["sendUserEmailVerification": false]) { server, catcher in
            let ann = try await server.signUp("ann", ["email": "ann@m.example"])
            _ = try await server.send("POST", "/verificationEmailRequest", ["email": "ann@m.example"]).succeeded()
            #expect(try await Self.sentMails(server, catcher) == 0)
            // The response doesn't wait for the new token.
            let isVerified = try await eventually {
                let token = try #require(try await server.user(ann.id)["_email_verify_token"]?.stringValue)
                #expect(token.utf8.count == 25)
                let page = try await server.open("/apps/\(TestServer.applicationID)/verify_email?token=\(token)")
                return page.page == "email_verification_success"
            }
            #expect(isVerified)
        }
    }

    @Test("Opening one link twenty times concurrently always succeeds, and updates the user once")
    func parallel() async throws {
        let calls = CallLog()
        var extensions = ServerExtensions()
        extensions.backend.triggers = calls
        try await Self.run(extensions: extensions) { server, catcher in
            _ = try await server.signUp("ann", ["email": "ann@m.example"])
            let mail = try await catcher.mail(to: "ann@m.example")
            calls.clear()
            let pages = try await concurrently(20) { _ in try await server.open(mail.link).page }
            #expect(pages.allSatisfy { $0 == "email_verification_success" }, "\(pages)")
            #expect(calls.seen.count { $0.hasPrefix("afterSave") } == 1)
        }
    }
}
