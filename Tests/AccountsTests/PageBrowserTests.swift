import Foundation
import JSON
import TestSupport
import Testing

/// Pages behind links in emails, in a real browser.
@Suite("Account pages in a browser", .timeLimit(.minutes(10))) struct PageBrowserTests {
    private static let application = TestServer.applicationID

    /// Runs a server at a public address that the browser can reach.
    private static func run(
        _ catcher: MailCatcher, _ more: JSONObject = [:],
        _ body: @escaping @Sendable (TestServer, String) async throws -> Void
    ) async throws {
        let port = try await FreePort.find()
        let address = "http://127.0.0.1:\(port)/parse"
        let options: JSONObject = [
            "port": .number(Double(port)), "publicServerURL": .string(address), "verifyUserEmails": true,
        ]
        try await TestServer.run(catcher.options(options.merging(more) { $1 })) { try await body($0, address) }
    }

    /// Checks of every page: no scripts, no foreign resources, no referrer, and no horizontal scrolling.
    private static func check(_ shown: Browser.Shown, _ page: String, _ browser: Browser, _ address: String)
        async throws
    {
        #expect(shown.page == page, "\(shown.url): \(shown.text)")
        #expect(shown.scripts == 0 && !shown.ranScript)
        #expect(shown.requests.allSatisfy { $0.hasPrefix(address) }, "\(shown.requests)")
        // Forms may send a referrer to their own server, but never with a token.
        #expect(shown.referrers.allSatisfy { !$0.contains("token") }, "\(shown.referrers)")
        #expect(!shown.background.isEmpty && shown.background != "rgba(0, 0, 0, 0)", "the style sheet is missing")
        for width in [320, 375, 1280] {
            let isTooWide = try await browser.isTooWide(for: width)
            #expect(!isTooWide, "\(page) at \(width)")
        }
    }

    @Test("Password resets, verification and expired links work in a browser, and no page runs scripts")
    func flows() async throws {
        try await MailCatcher.run { catcher in
            try await Browser.run { browser in
                try await Self.reset(browser, catcher)
                try await Self.verification(browser, catcher)
                try await Self.expiry(browser, catcher)
                try await Self.injection(browser, catcher)
                try await Self.languages(browser, catcher)
                try await Self.olderRedirects(browser, catcher)
                try await Self.names(browser, catcher)
                try await Self.frame(browser, catcher)
            }
        }
    }

    private static func reset(_ browser: Browser, _ catcher: MailCatcher) async throws {
        try await run(catcher, ["passwordPolicy": ["validatorPattern": "^.{8,}$", "validationError": "Too short."]]) {
            server, address in
            let email = "reset@m.example"
            let ann = try await server.signUp("ann", password: "old-password", ["email": .string(email)])
            _ = try await catcher.mail(to: email)
            _ = try await server.send("POST", "/requestPasswordReset", ["email": .string(email)]).succeeded()
            let mail = try await catcher.mail(to: email, number: 2)
            try await check(try await browser.open(mail.link), "password_reset", browser, address)
            for (password, again, text) in [
                ("short", "short", "Too short."), ("new-password", "other-password", "not the same"),
            ] {
                try await browser.fill("#new_password", password)
                try await browser.fill("#confirm_new_password", again)
                let refused = try await browser.click("button")
                try await check(refused, "password_reset", browser, address)
                #expect(refused.text.contains(text), "\(refused.text)")
            }
            try await browser.fill("#new_password", "new-password")
            try await browser.fill("#confirm_new_password", "new-password")
            try await check(try await browser.click("button"), "password_reset_success", browser, address)
            let logIn: JSONValue = ["username": "ann", "password": "new-password"]
            #expect(try await server.send("POST", "/login", logIn).status == 200)
            #expect(try await server.send("GET", "/users/me", as: .session(ann.token)).code == 209)
            try await check(try await browser.open(mail.link), "password_reset_link_invalid", browser, address)
        }
    }

    /// Checks that only the page in the option `parseFrameURL` can show the server's pages in a frame.
    private static func frame(_ browser: Browser, _ catcher: MailCatcher) async throws {
        try await WebhookServer.run { other in
            let framed: JSONObject = ["customPages": ["parseFrameURL": .string(other.url("frame"))]]
            for (index, options) in [framed, [:]].enumerated() {
                try await run(catcher, options) { server, address in
                    let email = "frame\(index)@m.example"
                    _ = try await server.signUp("ann", ["email": .string(email)])
                    let token = try #require(try await catcher.mail(to: email).parameter("token"))
                    let link = "\(address)/apps/\(application)/verify_email?token=\(token)"
                    other.on("frame") { _ in
                        .text(
                            "<title>Frame</title><iframe src='\(link)'></iframe>",
                            headers: [("Content-Type", "text/html")])
                    }
                    let shown = try await browser.open(other.url("frame"))
                    // A page that the browser blocks requests no style sheet.
                    let isShown = shown.requests.contains { $0.hasPrefix(address) && $0.hasSuffix(".css") }
                    #expect(isShown == !options.isEmpty, "\(shown.requests)")
                }
            }
        }
    }

    private static func verification(_ browser: Browser, _ catcher: MailCatcher) async throws {
        try await run(catcher) { server, address in
            _ = try await server.signUp("ann", ["email": "verify@m.example"])
            let mail = try await catcher.mail(to: "verify@m.example")
            let wrong = mail.link.dropLast() + (mail.link.hasSuffix("a") ? "b" : "a")
            for link in [String(wrong), mail.link.replacing("token=", with: "x="), mail.link + "&token=b"] {
                try await check(
                    try await browser.open(link), "email_verification_link_invalid", browser, address)
            }
            for _ in 0..<2 {
                try await check(
                    try await browser.open(mail.link), "email_verification_success", browser, address)
            }
            #expect(try await server.texts("SELECT username FROM \"_User\" WHERE \"emailVerified\"") == ["ann"])
        }
    }

    private static func expiry(_ browser: Browser, _ catcher: MailCatcher) async throws {
        try await run(catcher, ["emailVerifyTokenValidityDuration": 0.5]) { server, address in
            _ = try await server.signUp("ann", ["email": "late@m.example"])
            let mail = try await catcher.mail(to: "late@m.example")
            try await Task.sleep(for: .seconds(0.6))
            let expired = try await browser.open(mail.link)
            try await check(expired, "email_verification_link_expired", browser, address)
            #expect(expired.inputs["token"]?.stringValue == mail.parameter("token"))
            let sent = try await browser.click("button")
            try await check(sent, "email_verification_send_success", browser, address)
            let second = try await catcher.mail(to: "late@m.example", number: 2)
            #expect(second.link != mail.link)
            try await check(try await browser.open(mail.link), "email_verification_link_invalid", browser, address)
        }
    }

    private static func injection(_ browser: Browser, _ catcher: MailCatcher) async throws {
        let evil = "\"><script>window.ran=true</script><img src=x onerror=\"window.ran=true;alert(1)\">'"
        let folder = FileManager.default.temporaryDirectory.path + "/roost-pages-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // A page in the style of parse-server 7, with unescaped values in attributes.
        try Data(
            """
            <!doctype html><meta name="page" content="old"><body style="background:#fff"><h1>{{{appName}}}</h1>
            <form><input name="token" value="{{{token}}}"><input name='username' value='{{{username}}}'></form>
            <p>{{{error}}} {{{locale}}}</p>
            """.utf8
        ).write(to: URL(fileURLWithPath: folder + "/password_reset.html"))
        let encoded = evil.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let names = ["token", "username", "error", "locale", "appName"]
        let query = names.map { "\($0)=\(encoded)" }.joined(separator: "&")
        for (pages, page) in [([:], "password_reset"), (["pagesPath": .string(folder)], "old")]
            as [(JSONObject, String)]
        {
            try await run(catcher, ["appName": .string(evil), "pages": .object(pages)]) { server, address in
                let shown = try await browser.open("\(address)/apps/choose_password?appId=\(application)&\(query)")
                #expect(shown.page == page && !shown.ranScript && shown.scripts == 0, "\(shown)")
                #expect(shown.inputs["token"]?.stringValue == evil && shown.inputs["username"]?.stringValue == evil)
                #expect(shown.text.contains("<script>window.ran=true</script>"))
            }
        }
    }

    private static func languages(_ browser: Browser, _ catcher: MailCatcher) async throws {
        try await run(catcher, ["pages": ["enableLocalization": true]]) { server, address in
            let email = "german@m.example"
            _ = try await server.signUp("ann", ["email": .string(email)])
            _ = try await catcher.mail(to: email)
            _ = try await server.send("POST", "/requestPasswordReset", ["email": .string(email)]).succeeded()
            let mail = try await catcher.mail(to: email, number: 2)
            let form = try await browser.open(mail.link + "&locale=de-AT")
            try await check(form, "password_reset", browser, address)
            #expect(form.language == "de" && form.text.contains("Neues Passwort"))
            try await browser.fill("#new_password", "new-password")
            try await browser.fill("#confirm_new_password", "new-password")
            let done = try await browser.click("button")
            try await check(done, "password_reset_success", browser, address)
            #expect(done.language == "de")
        }
    }

    /// Checks that names of any length and direction fit, and that the rate limit has a page.
    private static func names(_ browser: Browser, _ catcher: MailCatcher) async throws {
        let limit: JSONValue = [
            "requestPath": "/apps/*path", "requestTimeWindow": 3_600_000, "requestCount": 0,
            "includeInternalRequests": true,
        ]
        for name in [String(repeating: "Donaudampfschifffahrt", count: 15), "تطبيق الموسيقى للمدرسة 2026", "🎵"] {
            try await run(catcher, ["appName": .string(name), "rateLimit": limit]) { server, address in
                let query = "appId=\(application)&token=t&username=" + String(repeating: "k", count: 300)
                let form = try await browser.open("\(address)/apps/choose_password?\(query)")
                try await check(form, "password_reset", browser, address)
                #expect(form.text.contains(name))
                let refused = try await browser.open("\(address)/apps/\(application)/verify_email?token=t")
                try await check(refused, "too_many_requests", browser, address)
                #expect(refused.text.contains("Please wait a few minutes"))
            }
        }
    }

    private static func olderRedirects(_ browser: Browser, _ catcher: MailCatcher) async throws {
        try await run(catcher, ["preset": 7]) { server, address in
            let email = "older@m.example"
            _ = try await server.signUp("a b", ["email": .string(email)])
            let verification = try await catcher.mail(to: email)
            try await check(
                try await browser.open(verification.link), "email_verification_success", browser, address)
            _ = try await server.send("POST", "/requestPasswordReset", ["email": .string(email)]).succeeded()
            let mail = try await catcher.mail(to: email, number: 2)
            try await check(try await browser.open(mail.link), "password_reset", browser, address)
            try await browser.fill("#new_password", "new-password")
            try await browser.fill("#confirm_new_password", "new-password")
            try await check(try await browser.click("button"), "password_reset_success", browser, address)
            let logIn: JSONValue = ["username": "a b", "password": "new-password"]
            #expect(try await server.send("POST", "/login", logIn).status == 200)
        }
    }
}
