import JSON
import TestSupport
import Testing

/// Account emails through a mail server, and the pages behind their links.
@Suite struct AccountMailTests {
    @Test("The sign-up email's link verifies the address, even repeatedly; only a new address sends more emails")
    func verification() async throws {
        try await MailCatcher.serve(["verifyUserEmails": true]) { server, catcher in
            let ann = try await server.signUp("ann", ["email": "ann@m.example"])
            let mail = try await catcher.mail(to: "ann@m.example")
            #expect(mail.subject == "Please verify your e-mail for Größe")
            #expect(mail.from == "Roost <roost@example.com>")
            let token = try #require(mail.parameter("token"))
            #expect(
                mail.link == "http://app.example/parse/apps/\(TestServer.applicationID)/verify_email?token=\(token)"
            )
            var user = try await server.user(ann.id)
            #expect(user["emailVerified"] == false)
            #expect(user["_email_verify_token"] == .string(token))
            let other = "\(token.first == "x" ? "y" : "x")\(token.dropFirst())"
            for wrong in ["?token=\(other)", "", "?token=a&token=b", "?token[$ne]=1", "?token=%00"] {
                let path = "/apps/\(TestServer.applicationID)/verify_email\(wrong)"
                #expect(try await server.open(path).page == "email_verification_link_invalid")
            }
            #expect(try await server.user(ann.id)["emailVerified"] == false)
            for _ in 0..<2 {
                let opened = try await server.open(mail.link)
                #expect(opened.page == "email_verification_success")
                #expect(opened.headers["cache-control"] == "no-store")
                #expect(opened.headers["referrer-policy"] == "no-referrer")
            }
            user = try await server.user(ann.id)
            #expect(user["emailVerified"] == true)
            #expect(user["_email_verify_token"] == nil)
            // The same address triggers nothing. A new one triggers a verification, and a notice to the old one.
            for email in ["ann@m.example", "new@m.example"] {
                _ = try await server.send(
                    "PUT", "/users/\(ann.id)", ["email": .string(email)], as: .session(ann.token)
                ).succeeded()
            }
            let second = try await catcher.mail(to: "new@m.example")
            #expect(second.subject == mail.subject)
            #expect(try await catcher.mail(to: "ann@m.example", number: 2).link == "")
            #expect(try await server.user(ann.id)["emailVerified"] == false)
            #expect(try catcher.mails().count == 3)
        }
    }

    @Test("A reset link changes the password once, ends all sessions, and is invalid afterward")
    func reset() async throws {
        try await MailCatcher.serve { server, catcher in
            let ann = try await server.signUp("ann", password: "old-password", ["email": "ann@m.example"])
            for address in ["ann@m.example", "nobody@m.example", "ANN@M.example"] {
                let answer = try await server.send("POST", "/requestPasswordReset", ["email": .string(address)])
                #expect(answer.status == 200 && answer.json == [:])
            }
            let mail = try await catcher.mail(to: "ann@m.example")
            #expect(mail.subject == "Password Reset for Größe")
            #expect(mail.text.contains("(your username is 'ann')"))
            let token = try #require(mail.parameter("token"))
            let path = "/apps/\(TestServer.applicationID)/request_password_reset"
            #expect(mail.link == "http://app.example/parse\(path)?token=\(token)")
            let opened = try await server.open(mail.link)
            #expect(opened.page == "password_reset")
            #expect(opened.headers["x-parse-page-param-token"] == token)
            let refused = try await server.form(path, "token=\(token)&new_password=a&confirm_new_password=b")
            #expect(refused.page == "password_reset")
            #expect(refused.headers["x-parse-page-param-error"] == "The passwords do not match")
            let missing = try await server.form(path, "token=\(token)")
            #expect(missing.status == 303)
            // Of concurrent resets with the same token, one succeeds, and its password is set.
            let answers = try await concurrently(12) { index in
                try await server.form(
                    path, "token=\(token)&new_password=new-\(index)", ["X-Requested-With": "XMLHttpRequest"]
                )
            }
            let winners = answers.indices.filter { answers[$0].status == 200 }
            #expect(winners.count == 1, "\(answers.map(\.status))")
            #expect(answers.allSatisfy { $0.status == 200 || $0["code"] == -1 })
            let winner = try #require(winners.first)
            for (password, status) in [("old-password", 404), ("new-\(winner)", 200)] {
                let answer = try await server.send(
                    "POST", "/login", ["username": "ann", "password": .string(password)])
                #expect(answer.status == status)
            }
            #expect(try await server.send("GET", "/users/me", as: .session(ann.token)).status == 400)
            #expect(try await server.open(mail.link).page == "password_reset_link_invalid")
            #expect(try await server.user(ann.id)["_perishable_token"] == nil)
            #expect(try await catcher.mail(to: "ann@m.example", number: 2).subject.contains("was changed"))
            #expect(try catcher.mails().count == 2)
        }
    }

    @Test("Rejects email requests without a valid address or token with parse-server's error codes")
    func refusals() async throws {
        try await MailCatcher.run { catcher in
            let policy: JSONValue = ["resetPasswordSuccessOnInvalidEmail": false]
            let options = catcher.options([
                "verifyUserEmails": true, "emailVerifySuccessOnInvalidEmail": false, "passwordPolicy": policy,
            ])
            try await TestServer.run(options) { server in
                _ = try await server.signUp("ann", ["email": "ann@m.example"])
                _ = try await catcher.mail(to: "ann@m.example")
                let rows: [(String, JSONValue, Int, Int)] = [
                    ("requestPasswordReset", [:], 400, 204), ("verificationEmailRequest", [:], 400, 204),
                    ("requestPasswordReset", ["email": ["$ne": 1]], 400, 125),
                    ("verificationEmailRequest", ["email": ["$ne": 1]], 400, 125),
                    ("requestPasswordReset", ["token": ["$ne": 1]], 400, 162),
                    ("requestPasswordReset", ["email": "nobody@m.example"], 404, 101),
                    ("verificationEmailRequest", ["email": "nobody@m.example"], 400, 205),
                ]
                for (route, body, status, code) in rows {
                    let answer = try await server.send("POST", "/\(route)", body)
                    #expect(answer.status == status && answer.code == code, "\(route) \(body.text): \(answer.text)")
                }
                #expect(try catcher.mails().count == 1)
                let other = try await server.open("/apps/other/verify_email?token=x")
                #expect(other.status == 403 && other["error"] == "unauthorized")
                for path in ["/apps/..%2f..%2fetc%2fpasswd", "/apps/x.css", "/apps/de/none.html"] {
                    #expect(try await server.open(path).status == 404, "\(path)")
                }
            }
        }
    }

    @Test("Requests for email fail with 108 if the mail options are missing", arguments: [7, 9])
    func unconfigured(preset: Int) async throws {
        try await TestServer.run(["preset": .number(Double(preset)), "appName": "Größe"]) { server in
            _ = try await server.signUp("ann", ["email": "ann@m.example"])
            for route in ["requestPasswordReset", "verificationEmailRequest"] {
                for email in ["ann@m.example", "nobody@m.example"] {
                    let answer = try await server.send("POST", "/\(route)", ["email": .string(email)])
                    #expect(answer.status == 400 && answer.code == 108, "\(route): \(answer.text)")
                    #expect(
                        answer.error == "An appName, publicServerURL, and emailAdapter are required for password reset "
                            + "and email verification functionality.", "\(route)")
                }
            }
        }
    }

    @Test("Without publicServerURL, pages work, links fail with 404, and other app ids with 403", arguments: [7, 9])
    func noAddress(preset: Int) async throws {
        try await TestServer.run(["preset": .number(Double(preset))]) { server in
            let own = TestServer.applicationID
            let file = preset == 7 ? "invalid_link.html" : "password_reset_link_invalid.html"
            let rows: [(String, String, Int)] = [
                ("GET", file, 200), ("GET", "other/verify_email?token=x&username=u", 403),
                ("GET", "other/request_password_reset?token=x&username=u", 403),
                ("POST", "other/request_password_reset", 403), ("POST", "other/resend_verification_email", 403),
                ("GET", "choose_password?id=other&appId=other", 403),
                ("GET", "\(own)/verify_email?token=x&username=u", 404),
                ("GET", "\(own)/request_password_reset?token=x&username=u", 404),
                ("POST", "\(own)/request_password_reset", 404), ("POST", "\(own)/resend_verification_email", 404),
                ("GET", "choose_password?id=\(own)&appId=\(own)", 404),
            ]
            for (method, path, status) in rows {
                let answer = try await server.send(method, "/apps/\(path)", as: .nobody)
                #expect(answer.status == status, "\(method) \(path): \(answer.status) \(answer.text)")
                if status == 403 { #expect(answer["error"] == "unauthorized") }
                if status == 404 { #expect(answer.text == "Not found.") }
            }
        }
    }

    @Test("preventLoginWithUnverifiedEmail rejects log-ins until verification, unless the master key exempts them")
    func gates() async throws {
        try await MailCatcher.run { catcher in
            let options = catcher.options([
                "verifyUserEmails": true, "preventLoginWithUnverifiedEmail": true,
                "emailVerifyTokenValidityDuration": 600,
                "emailVerifyTokenReuseIfValid": true,
            ])
            try await TestServer.run(options) { server in
                let ann: JSONValue = ["username": "ann", "password": "p", "email": "ann@m.example"]
                let signedUp = try await server.send("POST", "/users", ann)
                #expect(signedUp.status == 201 && signedUp["sessionToken"] == nil)
                #expect(try await server.send("POST", "/login", ann).code == 205)
                #expect(try await server.send("POST", "/verifyPassword", ann).code == 205)
                let exempt: JSONValue = ["username": "ann", "password": "p", "ignoreEmailVerification": true]
                #expect(try await server.send("POST", "/login", exempt).code == 205)
                #expect(try await server.send("POST", "/login", exempt, as: .master).status == 200)
                let first = try await catcher.mail(to: "ann@m.example")
                _ = try await server.send("POST", "/verificationEmailRequest", ["email": "ann@m.example"]).succeeded()
                let second = try await catcher.mail(to: "ann@m.example", number: 2)
                #expect(first.link == second.link)
                #expect(try await server.open(second.link).page == "email_verification_success")
                #expect(try await server.send("POST", "/login", ann).status == 200)
            }
        }
    }

    @Test("With presets below 8, links name the user and redirect to pages like parse-server's")
    func redirects() async throws {
        try await MailCatcher.serve(["verifyUserEmails": true, "preset": 7]) { server, catcher in
            _ = try await server.signUp("a b", ["email": "ann@m.example"])
            let mail = try await catcher.mail(to: "ann@m.example")
            #expect(mail.link.hasSuffix("&username=a%20b"))
            _ = try await server.send("POST", "/requestPasswordReset", ["email": "ann@m.example"]).succeeded()
            let token = try #require(try await catcher.mail(to: "ann@m.example", number: 2).parameter("token"))
            let app = TestServer.applicationID
            let base = "http://app.example/parse/apps/"
            let refusal = "Failed%20to%20reset%20password%3A%20username%20%2F%20email%20%2F%20token%20is%20invalid"
            let user = "username=a%20b"
            let rows: [(String, String, String, String)] = [
                (
                    "GET", "verify_email?token=bad&\(user)", "",
                    "invalid_verification_link.html?\(user)&appId=\(app)"
                ),
                ("GET", "verify_email?\(user)", "", "invalid_link.html"),
                ("GET", "request_password_reset?token=bad&\(user)", "", "invalid_link.html"),
                (
                    "GET", "request_password_reset?token=\(token)&\(user)", "",
                    "choose_password?token=\(token)&id=\(app)&\(user)&app=Gr%C3%B6%C3%9Fe"
                ),
                (
                    "POST", "request_password_reset", "\(user)&token=bad&new_password=new",
                    "choose_password?\(user)&token=bad&id=\(app)&error=\(refusal)&app=Gr%C3%B6%C3%9Fe"
                ),
                (
                    "POST", "request_password_reset", "\(user)&token=\(token)&new_password=new",
                    "password_reset_success.html?\(user)"
                ),
                ("POST", "resend_verification_email", "", "invalid_link.html"),
                ("POST", "resend_verification_email", "username=nobody", "link_send_fail.html"),
                ("POST", "resend_verification_email", user, "link_send_success.html"),
            ]
            for (method, path, form, location) in rows {
                let path = "/apps/\(app)/\(path)"
                let answer =
                    method == "GET" ? try await server.open(path) : try await server.form(path, form)
                #expect(answer.status == 302 && answer.location == base + location, "\(path) \(form)")
            }
            // A further request creates a new link.
            let second = try await catcher.mail(to: "ann@m.example", number: 3)
            for _ in 0..<2 {
                let opened = try await server.open(second.link)
                #expect(opened.status == 302 && opened.location == base + "verify_email_success.html?\(user)")
            }
            // Another token for the same user is invalid, although the address is verified.
            let other = try await server.open("/apps/\(app)/verify_email?token=other&\(user)")
            #expect(other.location == base + "invalid_verification_link.html?\(user)&appId=\(app)")
            let page = try await server.open("/apps/verify_email_success.html?username=%3Cscript%3E")
            #expect(page.page == "email_verification_success")
            #expect(!page.text.contains("<script"))
        }
    }
}
