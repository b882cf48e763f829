import JSON
import TestSupport
import Testing

/// Mails for accounts, over a mail server, and the pages that their links lead to.
@Suite struct AccountMailTests {
    @Test("A sign-up is confirmed by the link in its mail, once; the same link tells the same again")
    func verification() async throws {
        try await MailCatcher.run { catcher in
            try await TestServer.run(catcher.options(["verifyUserEmails": true])) { server in
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
                // The same address again starts nothing; another one does, and a notice goes to the old one.
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
    }

    @Test("A user changes the address ten times in ten minutes, and no more; others and the master key go on")
    func manyAddresses() async throws {
        try await MailCatcher.run { catcher in
            try await TestServer.run(catcher.options(["verifyUserEmails": true])) { server in
                let ann = try await server.signUp("ann")
                let lou = try await server.signUp("lou")
                func change(_ number: Int, _ user: (id: String, token: String), _ identity: TestServer.Identity?)
                    async throws -> TestAnswer
                {
                    try await server.send(
                        "PUT", "/users/\(user.id)", ["email": .string("\(user.id)\(number)@m.example")],
                        as: identity ?? .session(user.token))
                }
                for number in 0..<10 { #expect(try await change(number, ann, nil).status == 200) }
                let refused = try await change(10, ann, nil)
                #expect(refused.code == 155, "\(refused.text)")
                #expect(try await change(11, lou, nil).status == 200)
                #expect(try await change(12, ann, .master).status == 200)
                // What is no change of the address is none.
                let name = try await server.send("PUT", "/users/\(ann.id)", ["nick": "a"], as: .session(ann.token))
                #expect(name.status == 200, "\(name.text)")
            }
        }
    }

    @Test("Where addresses are not confirmed, too, a user has ten mails sent by changing the address, and no more")
    func manyNotices() async throws {
        try await MailCatcher.run { catcher in
            try await TestServer.run(catcher.options()) { server in
                let ann = try await server.signUp("ann", ["email": "ann@m.example"])
                func change(_ email: JSONValue) async throws -> TestAnswer {
                    try await server.send("PUT", "/users/\(ann.id)", ["email": email], as: .session(ann.token))
                }
                for number in 0..<10 {
                    #expect(try await change(.string("ann\(number)@m.example")).status == 200)
                }
                for email: JSONValue in ["other@m.example", ["__op": "Delete"]] {
                    let refused = try await change(email)
                    #expect(refused.code == 155, "\(refused.text)")
                }
                #expect(try await server.user(ann.id)["email"] == "ann9@m.example")
                for address in ["ann"] + (0..<9).map({ "ann\($0)" }) {
                    #expect(try await catcher.mail(to: "\(address)@m.example").link.isEmpty)
                }
                #expect(try catcher.mails().count == 10)
            }
        }
    }

    @Test("A forgotten password is replaced by the link in a mail: sessions end, and the link is worth nothing after")
    func reset() async throws {
        try await MailCatcher.run { catcher in
            try await TestServer.run(catcher.options()) { server in
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
                // Many with one token: one of them wins, and the user has exactly that password.
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
    }

    @Test("What is no address, or no token, is refused as parse-server does")
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

    @Test("Where nothing sends mails, who asks for one is told what is missing", arguments: [7, 9])
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

    @Test("Without an address for links pages are shown, and a wrong application is refused", arguments: [7, 9])
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

    @Test("Who has not confirmed an address does not log in, where that is asked for")
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

    @Test("Servers before 8 redirect to pages, and name the user in links and addresses, in parse-server's order")
    func redirects() async throws {
        try await MailCatcher.run { catcher in
            try await TestServer.run(catcher.options(["verifyUserEmails": true, "preset": 7])) { server in
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
                // Asking again made another link.
                let second = try await catcher.mail(to: "ann@m.example", number: 3)
                for _ in 0..<2 {
                    let opened = try await server.open(second.link)
                    #expect(opened.status == 302 && opened.location == base + "verify_email_success.html?\(user)")
                }
                // Another token of the same name is told to be none, though the address is confirmed.
                let other = try await server.open("/apps/\(app)/verify_email?token=other&\(user)")
                #expect(other.location == base + "invalid_verification_link.html?\(user)&appId=\(app)")
                let page = try await server.open("/apps/verify_email_success.html?username=%3Cscript%3E")
                #expect(page.page == "email_verification_success")
                #expect(!page.text.contains("<script"))
            }
        }
    }

    @Test("Two servers over one database send each mail once")
    func twoServers() async throws {
        try await MailCatcher.run { catcher in
            let options = catcher.options(["verifyUserEmails": true])
            try await TestServer.run(options) { first in
                try await first.alongside(options) { second in
                    _ = try await concurrently(24) { index in
                        let server = index % 2 == 0 ? first : second
                        return try await server.send(
                            "POST", "/users",
                            [
                                "username": .string("u\(index)"), "password": "p",
                                "email": .string("u\(index)@m.example"),
                            ])
                    }
                    for index in 0..<24 { _ = try await catcher.mail(to: "u\(index)@m.example") }
                    // Both look for mails once a second.
                    try await Task.sleep(for: .milliseconds(1500))
                    #expect(try catcher.mails().count == 24)
                    #expect(try await first.texts("SELECT id::text FROM _roost_mail").isEmpty)
                }
            }
        }
    }

    @Test(
        "With a password mails leave over TLS alone, by a certificate that is checked",
        arguments: [MailCatcher.Security.tls, .startTLS])
    func secure(security: MailCatcher.Security) async throws {
        try await MailCatcher.run(security: security) { catcher in
            func options(password: String, isTrusted: Bool) -> JSONObject {
                let server: JSONObject = [
                    "host": "localhost", "port": .number(Double(catcher.port)), "secure": .bool(security == .tls),
                    "from": "r@m.example", "user": "music", "password": .string(password),
                ]
                var options = catcher.options(["verifyUserEmails": true])
                options["emailAdapter"] = ["module": "smtp", "options": .object(server)]
                if isTrusted { options["trustedCertificates"] = .string(catcher.authority) }
                return options
            }
            try await TestServer.run(options(password: "secret", isTrusted: true)) { server in
                _ = try await server.signUp("ann", ["email": "ann@m.example"])
                _ = try await catcher.mail(to: "ann@m.example")
            }
            for (password, isTrusted) in [("wrong", true), ("secret", false)] {
                try await TestServer.run(options(password: password, isTrusted: isTrusted)) { server in
                    _ = try await server.signUp("ann", ["email": "ann@m.example"])
                    let isRefused = try await eventually {
                        try await !server.texts("SELECT reason FROM _roost_mail WHERE reason IS NOT NULL").isEmpty
                    }
                    #expect(isRefused)
                }
            }
            #expect(try catcher.mails().count == 1)
        }
    }

    @Test(
        "A recipient or a mail that is refused for good is given up; what passes, and a refused sender, are tried again",
        arguments: [
            ("roost@m.example", "550-ann@m.example", "Roost", "the server answered 550", true),
            ("roost@m.example", "450-ann@m.example", "Roost", "the server answered 450", false),
            ("550-roost@m.example", "ann@m.example", "Roost", "the server answered 550", false),
            ("roost@m.example", "ann@m.example", "554 refused", "the server answered 554", true),
            ("roost@m.example", "ann@m.example", "451 refused", "the server answered 451", false),
        ])
    func refusals(sender: String, recipient: String, appName: String, reason: String, isFinal: Bool) async throws {
        try await MailCatcher.run { catcher in
            let adapter: JSONValue = [
                "module": "smtp",
                "options": ["host": "127.0.0.1", "port": .number(Double(catcher.port)), "from": .string(sender)],
            ]
            let options: JSONObject = [
                "verifyUserEmails": true, "appName": .string(appName), "emailAdapter": adapter,
            ]
            try await TestServer.run(catcher.options(options)) { server in
                _ = try await server.signUp("ann", ["email": .string(recipient)])
                let isTold = try await eventually {
                    try await server.texts("SELECT reason FROM _roost_mail WHERE reason IS NOT NULL") == [reason]
                }
                #expect(isTold)
                let isGivenUp = try await server.texts("SELECT (due = 'infinity')::text FROM _roost_mail")
                #expect(isGivenUp == ["\(isFinal)"])
                #expect(try catcher.mails().isEmpty)
            }
        }
    }

    @Test("Mails that wait for a silent mail server keep no file and no connection waiting")
    func filesMeanwhile() async throws {
        try await SilentServer.run { silent in
            let options = MailCatcher.options(["verifyUserEmails": true], port: silent.port)
            try await TestServer.run(options) { server in
                for number in 0..<10 {
                    _ = try await server.signUp("u\(number)", ["email": .string("u\(number)@m.example")])
                }
                // Half of the eight at a time go to one domain.
                let areTaken = try await eventually { silent.connections >= 4 }
                #expect(areTaken)
                let start = ContinuousClock.now
                let file = try await server.send(
                    "POST", "/files/a.txt", bytes: Array("text".utf8), as: .master,
                    headers: ["Content-Type": "text/plain"]
                ).succeeded()
                let name = try file.string("name")
                let path = "/files/\(TestServer.applicationID)/\(name)"
                #expect(try await server.send("GET", path, bytes: [], as: .nobody).text == "text")
                // The mail server is given half a minute.
                #expect(start.duration(to: .now) < .seconds(15))
            }
        }
    }

    @Test("A mail that may have been taken without an answer is not sent again within a minute")
    func unanswered() async throws {
        try await MailCatcher.run { catcher in
            catcher.fallSilent()
            try await TestServer.run(catcher.options(["verifyUserEmails": true])) { server in
                _ = try await server.signUp("ann", ["email": "ann@m.example"])
                _ = try await catcher.mail(to: "ann@m.example")
                let isPutOff = try await eventually {
                    try await server.texts(
                        "SELECT (due > now() + interval '50 s' AND attempts = 1)::text FROM _roost_mail "
                            + "WHERE reason IS NOT NULL") == ["true"]
                }
                #expect(isPutOff)
                try await Task.sleep(for: .seconds(3))
                #expect(try catcher.mails().count == 1)
            }
        }
    }

    @Test(
        "A mail server that falls silent inside of a mail, or after it, is left in time",
        arguments: [("RCPT", 25), ("DATA", 25), ("QUIT", 25), ("END", 55)])
    func stalls(phase: String, seconds: Int) async throws {
        try await MailCatcher.run { catcher in
            try catcher.stall(phase)
            try await TestServer.run(catcher.options(["verifyUserEmails": true])) { server in
                let start = ContinuousClock.now
                _ = try await server.signUp("ann", ["email": "ann@m.example"])
                let rest = phase == "QUIT" ? [] : ["Timeout was reached"]
                let isLeft = try await eventually(within: .seconds(100)) {
                    try await server.texts("SELECT COALESCE(reason, '') FROM _roost_mail") == rest
                }
                #expect(isLeft)
                // A server that takes each command slowly, but takes them, is given half a minute.
                #expect(start.duration(to: .now) < .seconds(seconds))
                // What the server may have taken is sent again a minute later.
                guard phase != "END" else { return }
                try catcher.stall(nil)
                _ = try await catcher.mail(to: "ann@m.example")
                let isSent = try await eventually { try await server.texts("SELECT 1::text FROM _roost_mail").isEmpty }
                #expect(isSent)
                #expect(try catcher.mails().count == 1)
            }
        }
    }

    @Test("A mail server that takes connections and says nothing delays no request")
    func silence() async throws {
        try await SilentServer.run { silent in
            try await TestServer.run(MailCatcher.options(["verifyUserEmails": true], port: silent.port)) { server in
                for number in 0..<3 {
                    let start = ContinuousClock.now
                    let ann = try await server.signUp("u\(number)", ["email": .string("u\(number)@m.example")])
                    let body: JSONValue = ["email": .string("u\(number)@m.example")]
                    _ = try await server.send("POST", "/requestPasswordReset", body).succeeded()
                    #expect(try await server.send("GET", "/users/me", as: .session(ann.token)).status == 200)
                    // The mail server is given half a minute.
                    #expect(start.duration(to: .now) < .seconds(10))
                }
                let isTried = try await eventually { silent.connections > 0 }
                #expect(isTried)
                #expect(try await server.texts("SELECT id::text FROM _roost_mail").count == 6)
            }
        }
    }

    @Test("A mail server that is down delays no request, and gets the mail when it is there; no log has the token")
    func outage() async throws {
        let lines = LogLines()
        let port = try await FreePort.find()
        try await MailCatcher.run { catcher in
            var options = catcher.options(["verifyUserEmails": true])
            options["emailAdapter"] = [
                "module": "smtp",
                "options": ["host": "127.0.0.1", "port": .number(Double(port)), "from": "r@m.example"],
            ]
            try await TestServer.run(options, logger: lines.logger) { server in
                let ann = try await server.signUp("ann", ["email": "ann@m.example"])
                let token = try #require(try await server.user(ann.id)["_email_verify_token"]?.stringValue)
                // The first attempt fails before the server is there.
                while try await server.texts("SELECT reason FROM _roost_mail WHERE reason IS NOT NULL").isEmpty {
                    try await Task.sleep(for: .milliseconds(50))
                }
                try await MailCatcher.run(port: port) { late in
                    _ = try await late.mail(to: "ann@m.example")
                    while try await !server.texts("SELECT id::text FROM _roost_mail").isEmpty {
                        try await Task.sleep(for: .milliseconds(50))
                    }
                    #expect(try late.mails().count == 1)
                }
                let written = lines.all
                #expect(written.contains { $0.contains("a mail could not be sent, and will be tried again") })
                #expect(!written.contains { $0.contains(token) || $0.contains("ann@m.example") })
            }
        }
    }
}
