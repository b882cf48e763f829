import JSON
import TestSupport
import Testing

/// Password resets: requests, links and their validity.
@Suite(.timeLimit(.minutes(10))) struct PasswordResetTests {
    private static func ask(_ server: TestServer, _ email: String = "ann@m.example") async throws {
        let answer = try await server.send("POST", "/requestPasswordReset", ["email": .string(email)])
        #expect(answer.status == 200 && answer.json == [:])
    }

    private static func logIn(_ server: TestServer, _ password: String) async throws -> Int {
        try await server.send("POST", "/login", ["username": "ann", "password": .string(password)]).status
    }

    @Test("Reset requests take the same time for known and unknown addresses, and only known ones get email")
    func timing() async throws {
        try await MailCatcher.serve { server, catcher in
            let lanes = 4
            // One user per lane, because concurrent requests for the same user wait for each other.
            for lane in 0..<lanes { _ = try await server.signUp("u\(lane)", ["email": .string("u\(lane)@m.example")]) }
            let isLevel = try await LevelTimes.hold(pairs: 200, lanes: lanes) { isKnown, lane in
                try await Self.ask(server, isKnown ? "u\(lane)@m.example" : "n\(lane)@m.example")
            }
            #expect(isLevel)
            _ = try await catcher.mail(to: "u0@m.example")
            #expect(try catcher.mails().allSatisfy { $0.recipients.first?.hasPrefix("u") == true })
            let waiting = "SELECT content ->> 'to' FROM _roost_mail WHERE content ->> 'to' NOT LIKE 'u%'"
            #expect(try await server.texts(waiting).isEmpty)
        }
    }

    /// The number of valid links.
    private static func goodLinks(_ tokens: [String], _ server: TestServer) async throws -> Int {
        var count = 0
        for token in tokens {
            let opened = try await server.open("\(TestServer.resetPath)?token=\(token)")
            if opened.page != "password_reset_link_invalid" { count += 1 }
        }
        return count
    }

    @Test("Sends a user at most ten reset links, of which only the last works; other users still get theirs")
    func floods() async throws {
        try await MailCatcher.serve { server, catcher in
            for name in ["ann", "bob"] { _ = try await server.signUp(name, ["email": .string("\(name)@m.example")]) }
            let call: JSONValue = [
                "method": "POST", "path": "/parse/requestPasswordReset", "body": ["email": "ann@m.example"],
            ]
            for _ in 0..<3 {
                _ = try await server.send("POST", "/batch", ["requests": .array(Array(repeating: call, count: 5))])
            }
            try await Self.ask(server, "bob@m.example")
            _ = try await catcher.mail(to: "bob@m.example")
            _ = try await catcher.mail(to: "ann@m.example", number: 10)
            let sent = try catcher.mails().filter { $0.recipients == ["ann@m.example"] }
            #expect(sent.count == 10)
            let waiting = "SELECT 1 FROM _roost_mail WHERE content ->> 'to' LIKE 'ann%'"
            let isEmpty = try await eventually { try await server.texts(waiting).isEmpty }
            #expect(isEmpty)
            // Only the last link is valid, whatever the order of arrival.
            let tokens = try catcher.mails().filter { $0.recipients != ["bob@m.example"] }
                .compactMap { $0.parameter("token") }
            #expect(try await Self.goodLinks(tokens, server) == 1)
        }
    }

    @Test("Sends the email to the user name if it is an address and the user has no email address")
    func nameAsAddress() async throws {
        try await MailCatcher.serve { server, catcher in
            _ = try await server.signUp("kim@m.example")
            try await Self.ask(server, "kim@m.example")
            #expect(try await catcher.mail(to: "kim@m.example").text.contains("'kim@m.example'"))
        }
    }

    @Test("Rejects an expired link, whose token can request a new email, unlike a valid or unknown one")
    func expiry() async throws {
        try await MailCatcher.serve(["passwordPolicy": ["resetTokenValidityDuration": 0.4]]) { server, catcher in
            _ = try await server.signUp("ann", ["email": "ann@m.example"])
            try await Self.ask(server)
            let token = try #require(try await catcher.mail(to: "ann@m.example").parameter("token"))
            try await Task.sleep(for: .milliseconds(500))
            let opened = try await server.open("\(TestServer.resetPath)?token=\(token)")
            #expect(opened.page == "password_reset_link_invalid")
            let posted = try await server.form(TestServer.resetPath, "token=\(token)&new_password=new")
            #expect(posted.status == 200 && posted.page == "password_reset")
            #expect(posted.headers["x-parse-page-param-error"] == "The password reset link has expired")
            #expect(try await Self.logIn(server, "secret") == 200)
            for token in [token, "unknown"] {
                let answer = try await server.send("POST", "/requestPasswordReset", ["token": .string(token)])
                #expect(answer.status == 200 && answer.json == [:])
            }
            let second = try await catcher.mail(to: "ann@m.example", number: 2)
            #expect(second.parameter("token") != token)
        }
        try await MailCatcher.serve(["passwordPolicy": ["resetTokenValidityDuration": 600]]) { server, catcher in
            _ = try await server.signUp("ann", ["email": "ann@m.example"])
            try await Self.ask(server)
            let token = try #require(try await catcher.mail(to: "ann@m.example").parameter("token"))
            let answer = try await server.send("POST", "/requestPasswordReset", ["token": .string(token)])
            #expect(answer.status == 200 && answer.json == [:])
            #expect(try await server.texts("SELECT id::text FROM _roost_mail").isEmpty)
            #expect(try catcher.mails().count == 1)
            #expect(try await server.open("\(TestServer.resetPath)?token=\(token)").page == "password_reset")
        }
    }

    @Test(
        "A second request invalidates the first link, unless resetTokenReuseIfValid is set", arguments: [true, false])
    func twice(reuses: Bool) async throws {
        let policy: JSONObject = ["resetTokenValidityDuration": 600, "resetTokenReuseIfValid": .bool(reuses)]
        try await MailCatcher.serve(["passwordPolicy": .object(policy)]) { server, catcher in
            _ = try await server.signUp("ann", ["email": "ann@m.example"])
            try await Self.ask(server)
            let first = try await catcher.mail(to: "ann@m.example")
            try await Self.ask(server)
            let second = try await catcher.mail(to: "ann@m.example", number: 2)
            #expect((first.link == second.link) == reuses)
            #expect(
                try await server.open(first.link).page == (reuses ? "password_reset" : "password_reset_link_invalid"))
        }
    }

    @Test("Of twenty concurrent resets with one token, one succeeds and sets its password")
    func parallel() async throws {
        try await MailCatcher.serve { server, catcher in
            _ = try await server.signUp("ann", ["email": "ann@m.example"])
            try await Self.ask(server)
            let token = try #require(try await catcher.mail(to: "ann@m.example").parameter("token"))
            let answers = try await concurrently(20) { number in
                try await server.form(TestServer.resetPath, "token=\(token)&new_password=new-\(number)")
            }
            let winners = answers.indices.filter { answers[$0].page == "password_reset_success" }
            #expect(winners.count == 1)
            #expect(answers.allSatisfy { $0.status == 200 })
            let winner = try #require(winners.first)
            let invalid = "Failed to reset password: username / email / token is invalid"
            for (number, answer) in answers.enumerated() where number != winner {
                #expect(answer.page == "password_reset")
                #expect(answer.headers["x-parse-page-param-error"] == invalid)
            }
            #expect(try await Self.logIn(server, "new-\(winner)") == 200)
            #expect(try await Self.logIn(server, "new-\((winner + 1) % 20)") == 404)
        }
    }

    @Test("Reports success if the password was changed but the notice can't be stored")
    func failureAfterwards() async throws {
        try await MailCatcher.serve { server, catcher in
            _ = try await server.signUp("ann", ["email": "ann@m.example"])
            try await Self.ask(server)
            let token = try #require(try await catcher.mail(to: "ann@m.example").parameter("token"))
            try await server.execute("ALTER TABLE _roost_mail RENAME TO _elsewhere")
            let answer = try await server.form(TestServer.resetPath, "token=\(token)&new_password=new")
            #expect(answer.page == "password_reset_success", "\(answer.status)")
            #expect(try await Self.logIn(server, "new") == 200)
            try await server.execute("ALTER TABLE _elsewhere RENAME TO _roost_mail")
        }
    }

    @Test("The reset page rejects passwords that violate the policy, and the link stays valid")
    func policy() async throws {
        let policy: JSONObject = [
            "validatorPattern": "^.{8,}$", "validationError": "At least 8 characters.", "maxPasswordHistory": 3,
        ]
        try await MailCatcher.serve(["passwordPolicy": .object(policy)]) { server, catcher in
            _ = try await server.signUp("ann", password: "password-0", ["email": "ann@m.example"])
            // Each reset needs a new link. After three others, the first password is allowed again.
            for (number, password) in ["password-1", "password-2", "password-3", "password-0"].enumerated() {
                try await Self.ask(server)
                let mail = try await catcher.mail(to: "ann@m.example", number: number * 2 + 1)
                let token = try #require(mail.parameter("token"))
                var refused = [("short", "At least 8 characters.")]
                if number == 2 {
                    refused += ["password-2", "password-0"].map {
                        ($0, "New password should not be the same as last 3 passwords.")
                    }
                }
                for (password, text) in refused {
                    let answer = try await server.form(TestServer.resetPath, "token=\(token)&new_password=\(password)")
                    #expect(answer.status == 200 && answer.page == "password_reset")
                    #expect(answer.headers["x-parse-page-param-error"] == text, "\(password) after \(number)")
                }
                let answer = try await server.form(TestServer.resetPath, "token=\(token)&new_password=\(password)")
                #expect(answer.page == "password_reset_success", "\(number): \(answer.headers)")
                _ = try await catcher.mail(to: "ann@m.example", number: number * 2 + 2)
            }
        }
    }

    @Test("Responds in JSON to reset forms sent with XMLHttpRequest")
    func scripts() async throws {
        try await MailCatcher.serve { server, catcher in
            _ = try await server.signUp("ann", ["email": "ann@m.example"])
            try await Self.ask(server)
            let token = try #require(try await catcher.mail(to: "ann@m.example").parameter("token"))
            let headers = ["X-Requested-With": "XMLHttpRequest"]
            let rows: [(String, Int, JSONValue)] = [
                ("new_password=a", 400, ["code": -1, "error": "Missing token"]),
                ("token=\(token)", 400, ["code": 201, "error": "Missing password"]),
                (
                    "token=wrong&new_password=a", 400,
                    ["code": -1, "error": "Failed to reset password: username / email / token is invalid"]
                ),
                ("token=\(token)&new_password=a", 200, "Password successfully reset"),
            ]
            for (form, status, json) in rows {
                let answer = try await server.form(TestServer.resetPath, form, headers)
                #expect(answer.status == status && answer.json == json, "\(form): \(answer.text)")
            }
        }
    }

    @Test("Treats repeated tokens, operators and malformed values as invalid links, and changes nothing")
    func tricks() async throws {
        try await MailCatcher.serve(["verifyUserEmails": true]) { server, catcher in
            let ann = try await server.signUp("ann", ["email": "ann@m.example"])
            _ = try await catcher.mail(to: "ann@m.example")
            try await Self.ask(server)
            let token = try #require(try await catcher.mail(to: "ann@m.example", number: 2).parameter("token"))
            let before = try await server.user(ann.id)
            let long = String(repeating: "x", count: 10_000)
            let tricks = [
                "token=\(token)&token=\(token)", "token[$ne]=1", "token[$regex]=.", "token[]=\(token)", "token=%00",
                "token=\(long)", "token=%FF", "token", "",
            ]
            for trick in tricks {
                for (path, page) in [
                    (TestServer.resetPath, "password_reset_link_invalid"),
                    ("/apps/\(TestServer.applicationID)/verify_email", "email_verification_link_invalid"),
                ] {
                    let opened = try await server.open("\(path)?\(trick)")
                    #expect(opened.status == 200 && opened.page == page, "\(trick.prefix(40)): \(opened.status)")
                }
                let posted = try await server.form(TestServer.resetPath, "\(trick)&new_password=evil")
                let isRefused =
                    posted.status == 303 && posted.location.contains("password_reset_link_invalid")
                    || posted.page == "password_reset"
                #expect(isRefused, "\(trick.prefix(40)): \(posted.status)")
            }
            #expect(try await server.user(ann.id) == before)
            #expect(try await Self.logIn(server, "secret") == 200)
            let huge = try await server.form(TestServer.resetPath, String(repeating: "x", count: 100_000))
            #expect((400..<500).contains(huge.status))
        }
    }

    @Test("A password reset unlocks the account only with unlockOnPasswordReset", arguments: [true, false])
    func lockout(unlocks: Bool) async throws {
        let lockout: JSONObject = ["threshold": 2, "duration": 5, "unlockOnPasswordReset": .bool(unlocks)]
        try await MailCatcher.serve(["accountLockout": .object(lockout)]) { server, catcher in
            let ann = try await server.signUp("ann", ["email": "ann@m.example"])
            for _ in 0..<3 { #expect(try await Self.logIn(server, "wrong") == 404) }
            try await Self.ask(server)
            let token = try #require(try await catcher.mail(to: "ann@m.example").parameter("token"))
            let answer = try await server.form(TestServer.resetPath, "token=\(token)&new_password=new")
            #expect(answer.page == "password_reset_success")
            let columns = "\"_failed_login_count\"::text, (\"_account_lockout_expires_at\" IS NULL)::text"
            let row = try await server.rows("SELECT \(columns) FROM \"_User\"")
            #expect(row == [unlocks ? [nil, "true"] : ["2", "false"]])
            #expect(try await Self.logIn(server, "new") == (unlocks ? 200 : 404))
            let isLocked = try await server.user(ann.id)["_account_lockout_expires_at"] != nil
            #expect(isLocked == !unlocks)
        }
    }

    @Test("A user whose password has expired can set a new one through a reset link")
    func age() async throws {
        try await MailCatcher.serve(["passwordPolicy": ["maxPasswordAge": 1]]) { server, catcher in
            let ann = try await server.signUp("ann", ["email": "ann@m.example"])
            try await server.execute("UPDATE \"_User\" SET \"_password_changed_at\" = now() - interval '2 days'")
            let old = try await server.send("POST", "/login", ["username": "ann", "password": "secret"])
            #expect(old.error == "Your password has expired. Please reset your password.")
            #expect(try await server.send("GET", "/users/me", as: .session(ann.token)).status == 200)
            try await Self.ask(server)
            let token = try #require(try await catcher.mail(to: "ann@m.example").parameter("token"))
            let answer = try await server.form(TestServer.resetPath, "token=\(token)&new_password=new")
            #expect(answer.page == "password_reset_success")
            #expect(try await Self.logIn(server, "new") == 200)
        }
    }
}
