import JSON
import TestSupport
import Testing

/// Mail servers that are slow, silent, strict or down.
@Suite struct MailDeliveryTests {
    @Test("Two servers with one database send each email once")
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
                    let isEmpty = try await eventually {
                        try await first.texts("SELECT id::text FROM _roost_mail").isEmpty
                    }
                    #expect(isEmpty)
                    // The queue is empty, but a duplicate could be in transit.
                    try await Task.sleep(for: .milliseconds(300))
                    #expect(try catcher.mails().count == 24)
                }
            }
        }
    }

    @Test(
        "Over TLS, sends emails only if the server accepts the password and has a trusted certificate",
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
        "Gives up on permanently rejected recipients and emails, and retries temporary and sender errors",
        arguments: [
            ("roost@m.example", "550-ann@m.example", "Roost", "the server replied 550", true),
            ("roost@m.example", "450-ann@m.example", "Roost", "the server replied 450", false),
            ("550-roost@m.example", "ann@m.example", "Roost", "the server replied 550", false),
            ("roost@m.example", "ann@m.example", "554 refused", "the server replied 554", true),
            ("roost@m.example", "ann@m.example", "451 refused", "the server replied 451", false),
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

    @Test("Emails that wait for a silent mail server delay neither uploads nor downloads")
    func filesMeanwhile() async throws {
        try await SilentServer.run { silent in
            let options = MailCatcher.options(["verifyUserEmails": true], port: silent.port)
            try await TestServer.run(options) { server in
                for number in 0..<10 {
                    _ = try await server.signUp("u\(number)", ["email": .string("u\(number)@m.example")])
                }
                // Half of the eight concurrent emails may go to the same domain.
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
                // The time limit of the mail server is 30 seconds.
                #expect(start.duration(to: .now) < .seconds(15))
            }
        }
    }

    @Test("The metric for the oldest queued email counts from when it was queued, not from its last attempt")
    func waiting() async throws {
        let closed = try await FreePort.find()
        try await TestServer.runMeasured(MailCatcher.options(["verifyUserEmails": true], port: closed)) {
            server, port in
            _ = try await server.signUp("ann", ["email": "ann@m.example"])
            let isPutOff = try await eventually {
                let ids = try await server.texts("SELECT id::text FROM _roost_mail WHERE reason IS NOT NULL")
                return ids.count == 1
            }
            #expect(isPutOff)
            try await server.execute(
                "UPDATE _roost_mail SET since = since - interval '1 hour', due = now() + interval '1 day'")
            // The queue is measured four times a minute.
            let isMeasured = try await eventually(within: .seconds(120)) {
                let samples = try await TestServer.metrics(at: port)
                let oldest = samples["roost_mail_queue_oldest_seconds"] ?? 0
                return samples["roost_mail_queue_length"] == 1 && oldest >= 3600
            }
            #expect(isMeasured)
        }
    }

    @Test("Waits about a minute before it retries an email that the mail server may have accepted")
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
                // The server checks for emails once a second.
                try await Task.sleep(for: .milliseconds(1500))
                #expect(try catcher.mails().count == 1)
            }
        }
    }

    @Test("Shutdown waits for the reply to a transferred email, so it isn't sent again")
    func wholeAtStop() async throws {
        try await MailCatcher.run { catcher in
            try catcher.stall("END")
            try await TestServer.run { first in
                let options = catcher.options(["verifyUserEmails": true])
                let answering = try await first.alongside(options) { (second) async throws -> Task<Void, any Error> in
                    _ = try await second.signUp("ann", ["email": "ann@m.example"])
                    let isWhole = try await catcher.waitsInStall("END")
                    #expect(isWhole)
                    return Task {
                        // The server is stopping. It would abort the email within a second.
                        try await Task.sleep(for: .seconds(3))
                        try catcher.stall(nil)
                    }
                }
                try await answering.value
                #expect(try await first.texts("SELECT id::text FROM _roost_mail").isEmpty)
                #expect(try catcher.mails().count == 1)
            }
        }
    }

    @Test("Shutdown releases a partly transferred email, which is sent after the next start")
    func brokenOffAtStop() async throws {
        try await MailCatcher.run { catcher in
            try catcher.stall("RCPT")
            let options = catcher.options(["verifyUserEmails": true])
            try await TestServer.run { first in
                try await first.alongside(options) { second in
                    _ = try await second.signUp("ann", ["email": "ann@m.example"])
                    let isUnderWay = try await catcher.waitsInStall("RCPT")
                    #expect(isUnderWay)
                }
                // No process reserves the email for the minute that a transfer may take.
                let mails = try await first.texts("SELECT (due < now() + interval '20 s')::text FROM _roost_mail")
                #expect(mails == ["true"])
                try catcher.stall(nil)
                try await first.alongside(options) { _ in _ = try await catcher.mail(to: "ann@m.example") }
                #expect(try catcher.mails().count == 1)
            }
        }
    }

    @Test(
        "Times out if the mail server stops responding during or after an email",
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
                // A mail server that is slow but responds to each command has 30 seconds.
                #expect(start.duration(to: .now) < .seconds(seconds))
                // An email that the server may have accepted is sent again after a minute.
                guard phase != "END" else { return }
                try catcher.stall(nil)
                _ = try await catcher.mail(to: "ann@m.example")
                let isSent = try await eventually { try await server.texts("SELECT 1::text FROM _roost_mail").isEmpty }
                #expect(isSent)
                #expect(try catcher.mails().count == 1)
            }
        }
    }

    @Test("A mail server that accepts connections but never responds doesn't delay requests")
    func silence() async throws {
        try await SilentServer.run { silent in
            try await TestServer.run(MailCatcher.options(["verifyUserEmails": true], port: silent.port)) { server in
                for number in 0..<3 {
                    let start = ContinuousClock.now
                    let ann = try await server.signUp("u\(number)", ["email": .string("u\(number)@m.example")])
                    let body: JSONValue = ["email": .string("u\(number)@m.example")]
                    _ = try await server.send("POST", "/requestPasswordReset", body).succeeded()
                    #expect(try await server.send("GET", "/users/me", as: .session(ann.token)).status == 200)
                    // The time limit of the mail server is 30 seconds.
                    #expect(start.duration(to: .now) < .seconds(25))
                }
                let isTried = try await eventually { silent.connections > 0 }
                #expect(isTried)
                #expect(try await server.texts("SELECT id::text FROM _roost_mail").count == 6)
            }
        }
    }

    @Test("Sends an email once the mail server is up again, and logs neither its token nor its address")
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
                // The first attempt fails before the mail server starts.
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
                #expect(written.contains { $0.contains("email not sent, will retry") })
                #expect(!written.contains { $0.contains(token) || $0.contains("ann@m.example") })
            }
        }
    }
}
