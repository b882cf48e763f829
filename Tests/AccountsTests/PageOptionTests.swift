import Foundation
import JSON
import TestSupport
import Testing

/// Custom pages, paths and languages.
@Suite(.timeLimit(.minutes(10))) struct PageOptionTests {
    private static func run(
        _ pages: JSONObject, files: [String: [UInt8]] = [:], _ more: JSONObject = [:],
        _ body: @escaping @Sendable (TestServer, MailCatcher) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-pages-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var pages = pages
        for (path, content) in files {
            let file = URL(fileURLWithPath: "\(folder)/pages/\(path)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(content).write(to: file)
            pages["pagesPath"] = .string(folder + "/pages")
            if path == "../texts.json" { pages["localizationJsonPath"] = .string(folder + "/texts.json") }
        }
        let options: JSONObject = ["verifyUserEmails": true, "pages": .object(pages)]
        try await MailCatcher.run { catcher in
            try await TestServer.run(catcher.options(options.merging(more) { $1 })) { try await body($0, catcher) }
        }
    }

    /// Signs a user up and returns the password-reset email.
    private static func resetMail(_ server: TestServer, _ catcher: MailCatcher, _ name: String = "ann") async throws
        -> MailCatcher.Mail
    {
        _ = try await server.signUp(name, ["email": "ann@m.example"])
        _ = try await catcher.mail(to: "ann@m.example")
        _ = try await server.send("POST", "/requestPasswordReset", ["email": "ann@m.example"]).succeeded()
        return try await catcher.mail(to: "ann@m.example", number: 2)
    }

    @Test("Redirects to customUrls with all parameters added to the query, and ignores relative URLs")
    func customURL() async throws {
        try await Self.run(["customUrls": ["passwordReset": "https://w.example/x?y=1#z", "passwordResetSuccess": "/x"]])
        {
            server, catcher in
            let mail = try await Self.resetMail(server, catcher)
            let token = try #require(mail.parameter("token"))
            let opened = try await server.open(mail.link)
            #expect(opened.status == 303)
            let address = try #require(URLComponents(string: opened.location))
            #expect(address.host == "w.example" && address.path == "/x" && address.fragment == "z")
            let query = Dictionary(
                uniqueKeysWithValues: (address.queryItems ?? []).map { ($0.name, $0.value ?? "") })
            #expect(
                query.mapValues { $0.replacing("+", with: " ") } == [
                    "y": "1", "token": token, "appId": TestServer.applicationID, "appName": "Größe",
                    "publicServerUrl": "http://app.example/parse",
                ])
            // A form of the custom page works like the server's own. Paths are not accepted as custom URLs.
            let posted = try await server.form(TestServer.resetPath, "token=\(token)&new_password=new")
            #expect(posted.status == 200 && posted.page == "password_reset_success")
        }
    }

    @Test("Pages and their text use the request's language, also on the next page")
    func languages() async throws {
        let german =
            "<meta name=\"page\" content=\"de\"><p>{{heading}}</p><form action=\"{{appUrl}}/x\">{{locale}}</form>"
        let texts: JSONObject = [
            "de": ["translation": ["heading": "Neues Passwort für {{appName}}"]],
            "en": ["translation": ["heading": "A new one for {{appName}}"]],
        ]
        let files = [
            "de/password_reset.html": Array(german.utf8), "../texts.json": JSONValue.object(texts).serialized(),
            "password_reset.html": Array("<meta name=\"page\" content=\"base\"><p>{{heading}}</p>".utf8),
        ]
        try await Self.run(["enableLocalization": true], files: files) { server, catcher in
            let mail = try await Self.resetMail(server, catcher)
            let opened = try await server.open(mail.link + "&locale=de-AT")
            #expect(opened.page == "de" && opened.text.contains("Neues Passwort für Größe"))
            #expect(opened.headers["x-parse-page-param-locale"] == "de-AT")
            for locale in ["fr", "../../etc", "de/../..", "de%2f..", ""] {
                let other = try await server.open(mail.link + "&locale=\(locale)")
                #expect(other.page == "base" && other.text.contains("A new one for Größe"), "\(locale)")
            }
            let missing = try await server.form(TestServer.resetPath, "locale=de-AT")
            #expect(
                missing.location.hasPrefix("http://app.example/parse/apps/de-AT/password_reset_link_invalid.html?"))
            let token = try #require(mail.parameter("token"))
            let done = try await server.form(TestServer.resetPath, "token=\(token)&new_password=new&locale=de-AT")
            #expect(done.page == "password_reset_success" && done.text.contains("lang=\"de\""))
        }
    }

    @Test("With forceRedirect, redirects to each page, which reads its values from the URL")
    func redirects() async throws {
        try await Self.run(["forceRedirect": true]) { server, catcher in
            let mail = try await Self.resetMail(server, catcher)
            let token = try #require(mail.parameter("token"))
            let opened = try await server.open(mail.link)
            #expect(opened.status == 303)
            #expect(
                opened.location.hasPrefix("http://app.example/parse/apps/password_reset.html?"), "\(opened.location)")
            let shown = try await server.open(opened.location)
            #expect(shown.status == 200 && shown.page == "password_reset" && shown.text.contains(token))
            let posted = try await server.form(TestServer.resetPath, "token=\(token)&new_password=new")
            #expect(posted.status == 303)
            #expect(posted.location.hasPrefix("http://app.example/parse/apps/password_reset_success.html"))
            let logIn: JSONValue = ["username": "ann", "password": "new"]
            #expect(try await server.send("POST", "/login", logIn).status == 200)
        }
    }

    @Test("Fills in placeholders, prefers translations, and falls back to localizationFallbackLocale")
    func placeholders() async throws {
        let page = "<meta name=\"page\" content=\"own\"><p>{{team}} {{motto}}</p>"
        let texts: JSONObject = [
            "de": ["translation": ["motto": "Los geht's"]], "en": ["translation": ["motto": "Off we go"]],
        ]
        let files = ["password_reset.html": Array(page.utf8), "../texts.json": JSONValue.object(texts).serialized()]
        let pages: JSONObject = [
            "placeholders": ["team": "Blue & <b>", "motto": "none"], "enableLocalization": true,
            "localizationFallbackLocale": "de",
        ]
        try await Self.run(pages, files: files) { server, catcher in
            let mail = try await Self.resetMail(server, catcher)
            for (locale, motto) in [
                ("en", "Off we go"), ("en-GB", "Off we go"), ("fr", "Los geht&#39;s"), ("", "Los geht&#39;s"),
            ] {
                let opened = try await server.open(mail.link + "&locale=\(locale)")
                #expect(
                    opened.page == "own" && opened.text.contains("<p>Blue &amp; &lt;b&gt; \(motto)</p>"),
                    "\(opened.text)")
            }
        }
    }

    @Test("Percent-encodes page parameters in header fields if configured, and never adds a header line")
    func encodedHeaders() async throws {
        for encodes in [false, true] {
            try await Self.run(["encodePageParamHeaders": .bool(encodes)], ["appName": "Größe\r\nX-Evil: 1"]) {
                server, catcher in
                let mail = try await Self.resetMail(server, catcher)
                let opened = try await server.open(mail.link)
                #expect(opened.headers["x-evil"] == nil)
                let told = try #require(opened.headers["x-parse-page-param-appname"])
                #expect(told.hasPrefix(encodes ? "Gr%C3%B6%C3%9Fe" : "Gr"), "\(told)")
            }
        }
    }

    @Test("Up to preset 8, redirects to the URLs in customPages", arguments: [7, 8])
    func customPages(preset: Double) async throws {
        let own: JSONObject = [
            "invalidLink": "https://w.example/invalid?a=1", "verifyEmailSuccess": "https://w.example/done",
            "choosePassword": "https://w.example/choose", "passwordResetSuccess": "https://w.example/reset",
            "invalidVerificationLink": "https://w.example/again", "linkSendSuccess": "https://w.example/sent",
            "linkSendFail": "https://w.example/failed",
        ]
        try await Self.run([:], ["preset": .number(preset), "customPages": .object(own)]) { server, catcher in
            let mail = try await Self.resetMail(server, catcher)
            let token = try #require(mail.parameter("token"))
            let user = preset < 8 ? "&username=ann" : ""
            let verification = try await catcher.mail(to: "ann@m.example").link
            let resend = TestServer.resetPath.replacing("request_password_reset", with: "resend_verification_email")
            let rows: [(String, TestAnswer)] = [
                ("https://w.example/choose?", try await server.open(mail.link)),
                ("https://w.example/sent", try await server.form(resend, "username=ann")),
                ("https://w.example/failed", try await server.form(resend, "username=nobody")),
                ("https://w.example/again?", try await server.open(verification)),
                (
                    "https://w.example/reset",
                    try await server.form(TestServer.resetPath, "token=\(token)&new_password=new\(user)")
                ),
                ("https://w.example/invalid?a=1", try await server.open(mail.link)),
            ]
            for (target, answer) in rows {
                #expect(answer.status == 302 && answer.location.hasPrefix(target), "\(target): \(answer.location)")
            }
            let second = try await catcher.mail(to: "ann@m.example", number: 3)
            let done = try await server.open(second.link)
            #expect(done.location.hasPrefix("https://w.example/done"), "\(done.location)")
        }
    }

    @Test("Serves files below pagesPath unchanged with their types, and nothing outside")
    func files() async throws {
        let image: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0, 0xFF, 0xFE, 0x0D, 0x0A]
        let files = [
            "logo.png": image, "style.css": Array("body{}".utf8), "de/x.js": [0x3B], "../pages-other/x.css": [0x20],
        ]
        try await Self.run([:], files: files) { server, _ in
            let rows: [(String, [UInt8], String)] = [
                ("logo.png", image, "image/png"), ("style.css", Array("body{}".utf8), "text/css; charset=utf-8"),
                ("de/x.js", [0x3B], "text/javascript; charset=utf-8"),
            ]
            for (path, bytes, type) in rows {
                let answer = try await server.open("/apps/\(path)")
                #expect(answer.status == 200 && answer.bytes == bytes && answer.headers["content-type"] == type)
                #expect(answer.headers["x-content-type-options"] == "nosniff")
            }
            for path in [
                "..%2fpages-other%2fx.css", "..%2f..%2fx", "../pages-other/x.css", "x/%2e%2e/logo.png", "none.png",
            ] {
                let answer = try await server.open("/apps/\(path)")
                #expect(answer.status == 404, "\(path): \(answer.status)")
            }
        }
    }

    @Test("Links, forms, redirects and files use the path in pagesEndpoint")
    func endpoint() async throws {
        try await Self.run(["pagesEndpoint": "acc"]) { server, catcher in
            let mail = try await Self.resetMail(server, catcher)
            #expect(mail.link.hasPrefix("http://app.example/parse/acc/\(TestServer.applicationID)/request_password"))
            let opened = try await server.open(mail.link)
            let action = "action=\"http:&#x2F;&#x2F;app.example&#x2F;parse&#x2F;acc&#x2F;\(TestServer.applicationID)/"
            #expect(opened.page == "password_reset" && opened.text.contains(action), "\(opened.text)")
            #expect(opened.text.contains("&#x2F;acc&#x2F;style.css"))
            let path = TestServer.resetPath.replacing("/apps/", with: "/acc/")
            let missing = try await server.form(path, "")
            #expect(missing.location.hasPrefix("http://app.example/parse/acc/password_reset_link_invalid.html"))
            #expect(try await server.open("/acc/style.css").status == 200)
            #expect(try await server.open("/apps/style.css").status == 403)
        }
    }

    @Test("Links and forms with a user name, from presets below 8, still work with newer presets")
    func olderLinks() async throws {
        try await Self.run([:]) { server, catcher in
            let mail = try await Self.resetMail(server, catcher, "a b")
            let token = try #require(mail.parameter("token"))
            #expect(try await server.open(mail.link + "&username=a%20b").page == "password_reset")
            let form = "username=a%20b&token=\(token)&new_password=new&confirm_new_password=new&utf-8=%E2%9C%93"
            #expect(try await server.form(TestServer.resetPath, form).page == "password_reset_success")
            let verification = try await catcher.mail(to: "ann@m.example")
            let opened = try await server.open(verification.link + "&username=a%20b")
            #expect(opened.page == "email_verification_success")
        }
    }

    @Test("With enableRouter and preset 7, reset links contain the user name and forms accept it")
    func newerForms() async throws {
        try await Self.run(["enableRouter": true], ["preset": 7]) { server, catcher in
            let mail = try await Self.resetMail(server, catcher)
            let token = try #require(mail.parameter("token"))
            #expect(mail.parameter("username") == "ann")
            let form = "username=ann&token=\(token)&new_password=new"
            #expect(try await server.form(TestServer.resetPath, form).page == "password_reset_success")
        }
    }

    @Test("Pages forbid scripts, frames, referrers and caching")
    func guards() async throws {
        try await Self.run([:]) { server, catcher in
            let mail = try await Self.resetMail(server, catcher)
            let opened = try await server.open(mail.link)
            let missing = try await server.form(TestServer.resetPath, "")
            for answer in [opened, missing, try await server.open("/apps/none.html")] {
                #expect(answer.headers["referrer-policy"] == "no-referrer")
                #expect(answer.headers["cache-control"] == "no-store")
                #expect(answer.headers["x-frame-options"] == "DENY")
            }
            #expect(
                opened.headers["content-security-policy"]
                    == "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
            )
        }
    }
}
