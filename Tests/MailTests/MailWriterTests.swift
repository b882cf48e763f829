import Foundation
import JSON
import Mail
import ServerConfiguration
import Templates
import Testing

@Suite("Email texts from templates")
struct MailWriterTests {
    private static func writer(_ adapter: JSONValue, _ more: JSONObject = [:], folder: String = "/") throws
        -> MailWriter
    {
        let values: JSONObject = [
            "appId": "app", "masterKey": "m", "appName": "Größe", "publicServerURL": "https://h/parse",
            "emailAdapter": adapter,
        ]
        var configuration = try Configuration.load(
            file: values.merging(more) { $1 }.serialized(), environment: [:], flags: []
        ).configuration
        configuration.resolvePaths(in: folder)
        return try MailWriter(try #require(configuration.accountMail.delivery), configuration)
    }

    private static func smtp(_ options: JSONObject) -> JSONValue {
        let server: JSONObject = ["host": "h", "from": "a@b.c"]
        return ["module": "smtp", "options": .object(server.merging(options) { $1 })]
    }

    private static func content(_ more: JSONObject = [:]) -> JSONObject {
        let content: JSONObject = [
            "kind": "passwordResetEmail", "to": "kim@m.example", "link": "https://h/reset?token=t&x=1", "token": "t",
            "username": "kim", "email": "kim@m.example",
        ]
        return content.merging(more) { $1 }
    }

    private static func withFiles(_ files: [String: String], _ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-templates-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for (path, text) in files {
            let file = URL(fileURLWithPath: "\(folder)/\(path)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        try body(folder)
    }

    @Test("Placeholders show the app, link, token, user, selected columns and constants")
    func values() throws {
        let text =
            "{{appName}} {{{link}}} {{token}} {{username}} {{email}} {{locale}} {{publicServerUrl}} {{user.city}} "
            + "{{city}} {{plan}} {{none}}|"
        let writer = try Self.writer(
            Self.smtp([
                "templates": ["passwordResetEmail": ["text": .string(text), "placeholders": ["plan": "gold"]]],
                "placeholders": ["plan": "silver", "link": "no"], "userFields": ["city"], "localeField": "lang",
            ]))
        let mail = try writer.message(Self.content(["user": ["city": "Köln", "lang": "de_AT"]]))
        #expect(
            mail.text == "Größe https://h/reset?token=t&x=1 t kim kim@m.example de-AT https://h/parse Köln Köln gold |")
        #expect(mail.subject == "Größe: Neues Passwort wählen")
        #expect(mail.html == nil)
        #expect(writer.columns == ["city", "lang"])
    }

    @Test("Escapes user values in HTML, keeps links whole and derives the plain text")
    func html() throws {
        let html =
            "<style>p{}</style><p>Hi {{username}} &amp; {{{username}}},</p><p><a href=\"{{{link}}}\">Here</a> "
            + "or <a href='{{link}}'>{{link}}</a></p><ul><li>one<li>two</ul><script>x</script>"
        let writer = try Self.writer(Self.smtp(["templates": ["passwordResetEmail": ["html": .string(html)]]]))
        let mail = try writer.message(Self.content(["username": "<b>x</b>"]))
        let shown = try #require(mail.html)
        #expect(shown.contains("Hi &lt;b&gt;x&lt;&#x2F;b&gt; &amp; &lt;b&gt;x&lt;&#x2F;b&gt;,"))
        #expect(shown.contains("<a href=\"https://h/reset?token=t&amp;x=1\">"))
        #expect(
            mail.text == """
                Hi <b>x</b> & <b>x</b>,

                Here
                https://h/reset?token=t&x=1
                or https://h/reset?token=t&x=1

                - one
                - two

                """)
    }

    @Test("Replaces line breaks in values for subjects with spaces")
    func injection() throws {
        let writer = try Self.writer(
            Self.smtp(["templates": ["passwordResetEmail": ["subject": "For {{username}}"]]]))
        let mail = try writer.message(Self.content(["username": "a\r\nBcc: x@y.z\u{2028}b"]))
        #expect(mail.subject == "For a  Bcc: x@y.z b")
    }

    @Test("Looks for template files by region, then by language, then in the base folder")
    func locales() throws {
        let files = [
            "reset.txt": "base", "de/reset.txt": "deutsch", "de-CH/reset.txt": "schweizerisch", "notes/reset.txt": "no",
        ]
        try Self.withFiles(files) { folder in
            let options: JSONObject = [
                "templates": [
                    "passwordResetEmail": [
                        "subject": ["default": "Reset", "fr": "Oubli"], "textPath": "reset.txt",
                    ]
                ], "localeField": "lang", "localeFromRequest": true,
            ]
            let writer = try Self.writer(Self.smtp(options), folder: folder)
            let rows: [(String?, [String], String, String)] = [
                ("de-AT", [], "Reset", "deutsch"), ("de-CH", [], "Reset", "schweizerisch"),
                ("fr", ["de"], "Oubli", "base"),
                (nil, [], "Reset", "base"), (nil, ["fr-CA", "de"], "Oubli", "deutsch"),
                ("../../etc", ["de"], "Reset", "deutsch"),
            ]
            for (locale, wanted, subject, text) in rows {
                var content = Self.content(["locales": .array(wanted.map { .string($0) })])
                content["user"] = locale.map { ["lang": .string($0)] }
                let mail = try writer.message(content)
                #expect(mail.subject == subject && mail.text == text, "\(locale ?? "") \(wanted): \(mail)")
            }
            #expect(writer.locales == ["en", "de", "de-CH", "fr"])
        }
    }

    @Test("Adds the user's language to links if pages are localized")
    func linkLocale() throws {
        let adapter = Self.smtp(["localeField": "lang"])
        let pages: JSONObject = ["pages": ["enableLocalization": true]]
        let mail = try Self.writer(adapter, pages).message(Self.content(["user": ["lang": "de"]]))
        #expect(mail.text.contains("https://h/reset?token=t&x=1&locale=de\n"))
        #expect(mail.text.hasPrefix("Hallo,"))
    }

    @Test("Supports the templates of parse-server's mail adapters")
    func foreign() throws {
        try Self.withFiles([
            "one.html":
                "<p>${subject} ${body} ${options.btn} ${username} ${user.email} ${unknown} $ ${</p><a href='${link}'>x</a>",
            "verificationEmail.txt": "See {{ link }}", "de/verificationEmail.txt": "Siehe {{ link }}",
        ]) { folder in
            let mailgun = try Self.writer(
                [
                    "module": "@bcomeau/parse-server-simple-mailgun-adapter-template",
                    "options": [
                        "fromAddress": "a@b.c", "domain": "d", "apiKey": "k",
                        "passwordResetSubject": "%appname% 100% %x",
                        "passwordResetBody": "%username% %email% %link%", "passwordResetBodyHTML": "<b>%username%</b>",
                    ],
                ]
            ).message(Self.content(["username": "<k>"]))
            #expect(mailgun.subject == "Größe 100% %x")
            #expect(mailgun.text == "<k> kim@m.example https://h/reset?token=t&x=1")
            #expect(mailgun.html == "<b>&lt;k&gt;</b>")
            let template: JSONValue = [
                "module": "parse-smtp-template",
                "options": [
                    "host": "h", "port": 587, "user": "u@b.c", "password": "p", "fromAddress": "a@b.c",
                    "multiTemplate": true, "passwordTemplatePath": "one.html", "multiLang": true,
                    "passwordOptions": ["subject": "S", "body": "B", "btn": "Go"],
                    "multiLangPass": ["de": ["subject": "DS", "body": "DB", "btn": "Los"]],
                ],
            ]
            let smtp = try Self.writer(template, folder: folder)
            let english = try smtp.message(Self.content())
            #expect(english.subject == "S")
            #expect(
                english.html?.hasPrefix(
                    "<p>S B Go kim kim@m.example  $ ${</p><a href='https://h/reset?token=t&amp;x=1'>")
                    == true)
            let german = try smtp.message(Self.content(["user": ["lang": "de"]]))
            #expect(german.subject == "DS" && german.html?.contains("DS DB Los") == true)
            let openinc: JSONValue = [
                "module": "@openinc/parse-server-smtp-adapter",
                "options": [
                    "from": "a@b.c", "host": "h", "port": 465, "secure": true, "auth": ["user": "u", "pass": "p"],
                    "templateDir": ".", "languageAttribute": "language",
                    "subjectVerificationEmail": ["default": "V", "de": "B"],
                ],
            ]
            let files = try Self.writer(openinc, folder: folder)
            let verification = Self.content(["kind": "verificationEmail", "user": ["language": "de"]])
            #expect(try files.message(verification).subject == "B")
            #expect(try files.message(verification).text == "Siehe https://h/reset?token=t&x=1")
            // Parts without a file have the default text.
            #expect(try files.message(Self.content()).subject == "Password Reset for Größe")
        }
    }

    @Test("Rejects invalid templates and says why")
    func refusals() throws {
        try Self.withFiles(["nunjucks.txt": "{% if link %}{{ link }}{% endif %}"]) { folder in
            let rows: [(JSONObject, String)] = [
                (["textPath": "none.txt"], "/none.txt. Check its path"),
                (["text": "{{#open}}"], "passwordResetEmail.text is not a valid Mustache template"),
                (["html": ["default": "a", "de": "{% if a %}"]], "passwordResetEmail.html.de contains tags"),
                (["textPath": "nunjucks.txt"], "/nunjucks.txt contains tags such as {% if %}"),
            ]
            for (template, text) in rows {
                let adapter = Self.smtp(["templates": ["passwordResetEmail": .object(template)]])
                do {
                    _ = try Self.writer(adapter, folder: folder)
                    Issue.record("\(template) must be refused")
                } catch {
                    #expect((error as? ConfigurationError)?.message.contains(text) == true, "\(error)")
                }
            }
        }
    }

    @Test("Parses Accept-Language by weight")
    func acceptLanguage() {
        #expect(LanguageTag.list("fr;q=0.5, de-AT, *;q=0.1, en;q=0, ../x, it ; q=0.9") == ["de-AT", "it", "fr"])
    }
}
