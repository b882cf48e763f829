import Foundation
import JSON
import TestSupport
import Testing

/// Emails with custom templates, as received by a mail server.
@Suite(.timeLimit(.minutes(10))) struct MailTemplateTests {
    private static func options(_ catcher: MailCatcher, _ mail: JSONObject, _ more: JSONObject = [:]) -> JSONObject {
        var adapter: JSONObject = [
            "host": "127.0.0.1", "port": .number(Double(catcher.port)), "from": "Größe <roost@example.com>",
        ]
        adapter.merge(mail) { $1 }
        let options: JSONObject = [
            "verifyUserEmails": true, "emailAdapter": ["module": "smtp", "options": .object(adapter)],
        ]
        return catcher.options(options.merging(more) { $1 })
    }

    /// Returns the email sent after a sign-up.
    private static func mail(
        _ mail: JSONObject, _ more: JSONObject = [:], name: String = "ann", user: JSONObject = [:],
        headers: [String: String] = [:]
    ) async throws -> MailCatcher.Mail {
        try await MailCatcher.run { catcher in
            try await TestServer.run(options(catcher, mail, more)) { server in
                let fields: JSONObject = ["username": .string(name), "password": "p", "email": "ann@m.example"]
                _ = try await server.send(
                    "POST", "/users", .object(fields.merging(user) { $1 }), headers: headers
                ).succeeded()
                let mail = try await catcher.mail(to: "ann@m.example")
                #expect(mail.recipients == ["ann@m.example"])
                let link = mail.link.isEmpty ? mail.html : mail.link
                #expect(link.contains("verify_email"))
                return mail
            }
        }
    }

    @Test("Line breaks in the user's or the app's name can't add header fields or recipients")
    func injection() async throws {
        let evil = "a\r\nBcc: x@y.z\r\n\r\nbody"
        let subject: JSONValue = ["verificationEmail": ["subject": "{{appName}} for {{username}}"]]
        let mail = try await Self.mail(["templates": subject], ["appName": .string("App\r\nBcc: z@y.z")], name: evil)
        #expect(mail.subject == "App  Bcc: z@y.z for a  Bcc: x@y.z    body")
        let head = mail.raw.prefix { $0 != "\u{1}" }.components(separatedBy: "\r\n\r\n")[0]
        #expect(!head.lowercased().contains("\r\nbcc:"))
    }

    @Test("Encodes non-ASCII names and text, and keeps links in one piece")
    func characters() async throws {
        let text = "Größe 🎵 {{username}}\n{{{link}}}\n" + String(repeating: "ü", count: 500)
        let mail = try await Self.mail(["templates": ["verificationEmail": ["text": .string(text)]]], name: "Zoë 🎸")
        #expect(mail.from == "Größe <roost@example.com>")
        #expect(mail.subject == "Please verify your e-mail for Größe")
        #expect(mail.text.hasPrefix("Größe 🎵 Zoë 🎸\n"))
        #expect(mail.parameter("token")?.utf8.count == 25)
        #expect(mail.raw.utf8.allSatisfy { $0 < 0x80 })
        #expect(mail.raw.contains("Subject: =?utf-8?B?"))
    }

    @Test("HTML emails contain the escaped user name, the link and a plain-text part")
    func html() async throws {
        let html = "<p>Hi {{username}} and {{{username}}}</p><p><a href=\"{{{link}}}\">Confirm</a></p>"
        let mail = try await Self.mail(
            ["templates": ["verificationEmail": ["html": .string(html)]]], name: "<b>x</b>")
        #expect(mail.html.contains("Hi &lt;b&gt;x&lt;&#x2F;b&gt; and &lt;b&gt;x&lt;&#x2F;b&gt;"))
        #expect(mail.html.contains("<a href=\"http://app.example/parse/apps/"))
        #expect(mail.text.contains("Hi <b>x</b> and <b>x</b>\n"))
        #expect(mail.link.hasPrefix("http://app.example/parse/apps/"))
    }

    @Test("Chooses the language by the user's column, or else by the request's Accept-Language")
    func languages() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-mail-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder + "/de", withIntermediateDirectories: true)
        try Data("Base of {{user.city}} {{{link}}}".utf8).write(to: URL(fileURLWithPath: folder + "/verify.txt"))
        try Data("Deutsch {{city}} {{{link}}}".utf8).write(to: URL(fileURLWithPath: folder + "/de/verify.txt"))
        let options: JSONObject = [
            "templates": ["verificationEmail": ["textPath": .string(folder + "/verify.txt")]], "userFields": ["city"],
            "localeField": "lang", "localeFromRequest": true,
        ]
        let rows: [(JSONObject, [String: String], String)] = [
            (["lang": "de-AT", "city": "Köln"], [:], "Deutsch Köln "),
            (["lang": "fr"], ["Accept-Language": "de"], "Base of  "),
            (["city": "Bonn"], ["Accept-Language": "it;q=0.4, de-CH"], "Deutsch Bonn "), ([:], [:], "Base of  "),
        ]
        for (user, headers, text) in rows {
            let mail = try await Self.mail(options, user: user, headers: headers)
            #expect(mail.text.hasPrefix(text + "http"), "\(user) \(headers): \(mail.text)")
        }
    }

    @Test("Adds the link to the query of parseFrameURL, and ignores a trailing slash in publicServerURL")
    func frame() async throws {
        try await MailCatcher.run { catcher in
            let options = Self.options(catcher, [:], ["customPages": ["parseFrameURL": "https://w.example/frame?a=1"]])
            try await TestServer.run(options) { server in
                _ = try await server.signUp("ann", ["email": "ann@m.example"])
                let mail = try await catcher.mail(to: "ann@m.example")
                let application = TestServer.applicationID
                #expect(
                    mail.link.hasPrefix(
                        "https://w.example/frame?a=1&link=%2Fapps%2F\(application)%2Fverify_email&token="))
                // The frame's link is relative to the public URL.
                let link = try #require(mail.parameter("link"))
                let token = try #require(mail.parameter("token"))
                let opened = try await server.open("\(link)?token=\(token)")
                #expect(opened.page == "email_verification_success")
                #expect(
                    opened.headers["content-security-policy"]?.contains("frame-ancestors https://w.example;") == true)
                #expect(opened.headers["x-frame-options"] == nil)
            }
        }
        let slashed = try await Self.mail([:], ["publicServerURL": "http://app.example/parse/"])
        #expect(slashed.link.hasPrefix("http://app.example/parse/apps/"))
    }
}
