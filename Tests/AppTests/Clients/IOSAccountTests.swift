import JSON
import TestSupport
import Testing

/// An iOS app whose users verify their addresses and reset their passwords.
@Suite(.timeLimit(.minutes(10))) struct IOSAccountTests {
    private static func run(
        preset: Int, _ body: @escaping @Sendable (TestServer, MailCatcher) async throws -> Void
    ) async throws {
        try await MailCatcher.run { catcher in
            let options: JSONObject = [
                "preset": .number(Double(preset)), "classDefinitions": "music", "clientKey": "testClient",
                "verifyUserEmails": true,
            ]
            try await TestServer.run(catcher.options(options)) { try await body($0, catcher) }
        }
    }

    /// The path of an email's link, opened in the phone's browser.
    private static func path(_ link: String) throws -> String {
        try String(#require(link.split(separator: "/parse", maxSplits: 1).last))
    }

    @Test("A user verifies the email address by the mailed link, and the app sees it", arguments: [4, 7, 9])
    func verification(preset: Int) async throws {
        try await Self.run(preset: preset) { server, catcher in
            let phone = try await IOSClient(server).signUp("ann", ["email": "ann@m.example"])
            #expect(try await phone.me().succeeded()["emailVerified"] == false)
            let mail = try await catcher.mail(to: "ann@m.example")
            let opened = try await server.send("GET", try Self.path(mail.link), bytes: [], as: .nobody)
            #expect(opened.status == (preset < 9 ? 302 : 200), "\(opened.text)")
            #expect(try await phone.me().succeeded()["emailVerified"] == true)
            // The session remains valid, also after a restart of the app.
            let again = try await IOSClient(server).logIn("ann")
            #expect(try await again.me().succeeded()["emailVerified"] == true)
        }
    }

    @Test(
        "A user resets the password by the mailed link, which invalidates the old password and session",
        arguments: [4, 7, 9])
    func reset(preset: Int) async throws {
        try await Self.run(preset: preset) { server, catcher in
            let phone = try await IOSClient(server).signUp("ann", password: "old", ["email": "ann@m.example"])
            _ = try await catcher.mail(to: "ann@m.example")
            // `PFUser.requestPasswordResetForEmail` without a log-in.
            let asked = try await IOSClient(server).run(
                "POST", "/requestPasswordReset", ["email": "ann@m.example"], session: false
            ).succeeded()
            #expect(asked.json == [:])
            let mail = try await catcher.mail(to: "ann@m.example", number: 2)
            let token = try #require(mail.parameter("token"))
            let name = mail.parameter("username").map { "&username=\($0)" } ?? ""
            #expect(name.isEmpty == (preset >= 8))
            let opened = try await server.send("GET", try Self.path(mail.link), bytes: [], as: .nobody)
            #expect(opened.status == (preset < 9 ? 302 : 200), "\(opened.text)")
            let form = "new_password=new&token=\(token)\(name)"
            _ = try await server.send(
                "POST", "/apps/\(TestServer.applicationID)/request_password_reset", bytes: Array(form.utf8),
                as: .nobody,
                headers: ["Content-Type": "application/x-www-form-urlencoded"])
            #expect(try await IOSClient(server).logInAnswer("ann", password: "old").code == 101)
            #expect(try await phone.me().code == 209)
            let back = try await IOSClient(server).logIn("ann", password: "new")
            #expect(try await back.me().succeeded()["username"] == "ann")
        }
    }
}
