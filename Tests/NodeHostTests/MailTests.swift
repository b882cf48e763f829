import JSON
import TestSupport
import Testing

@Suite("Emails from JavaScript cloud code")
struct CodeMailTests {
    private static let code = """
        Parse.Cloud.define('mail', request => Parse.Cloud.sendEmail(request.params));
        """

    @Test("Sends emails through the configured mail server, and rejects emails without recipients or text")
    func mails() async throws {
        try await MailCatcher.run { catcher in
            let options = catcher.options(["appName": "Tests"])
            try await CloudApp.serve(["main.js": Self.code], options) { server, _ in
                let sent = try await server.call(
                    "mail",
                    [
                        "to": "ann@m.example", "from": "Code <code@m.example>", "subject": "From\r\nBcc: all@m.example",
                        "html": "<p>Hello <b>Ann</b></p>",
                    ])
                #expect(sent.status == 200, "\(sent.text)")
                let mail = try await catcher.mail(to: "ann@m.example")
                #expect(mail.subject == "From  Bcc: all@m.example")
                #expect(mail.from == "Code <code@m.example>")
                #expect(mail.html.contains("<b>Ann</b>") && mail.text.contains("Hello Ann"))
                let nobody = try await server.call("mail", ["subject": "s", "text": "t"])
                #expect(nobody.code == 141, "\(nobody.text)")
                #expect(nobody.error == "An email needs recipients, 100 at most.")
                let empty = try await server.call("mail", ["to": "ann@m.example"])
                #expect(empty.error == "An email needs text or html.", "\(empty.text)")
            }
        }
    }

    private static let templateCode = """
        Parse.Cloud.define('mail', async request => {
          const user = new Parse.User({ username: '<kim>', email: 'kim@m.example', lang: 'de', secret: 'none' });
          await Parse.Cloud.sendEmail({ user, ...request.params });
        });
        """

    @Test("Sends configured templates in the user's language, with placeholders of the call")
    func templates() async throws {
        try await MailCatcher.run { catcher in
            var options = catcher.options(["appName": "Tests"])
            var adapter = try #require(options["emailAdapter"]?.objectValue)
            var settings = try #require(adapter["options"]?.objectValue)
            settings["localeField"] = "lang"
            settings["templates"] = [
                "welcome": [
                    "subject": ["default": "Hello {{name}}", "de": "Hallo {{name}}"],
                    "html": "<b>{{username}}</b> {{plan}} {{appName}} {{secret}}", "placeholders": ["plan": "silver"],
                ]
            ]
            adapter["options"] = .object(settings)
            options["emailAdapter"] = .object(adapter)
            try await CloudApp.serve(["main.js": Self.templateCode], options) { server, _ in
                let sent = try await server.call(
                    "mail", ["templateName": "welcome", "placeholders": ["name": "Kim", "plan": "gold"]])
                #expect(sent.status == 200, "\(sent.text)")
                let mail = try await catcher.mail(to: "kim@m.example")
                #expect(mail.subject == "Hallo Kim")
                #expect(mail.html.contains("<b>&lt;kim&gt;</b> gold Tests "), "\(mail.html)")
                #expect(!mail.html.contains("none"))
                let other: JSONObject = [
                    "templateName": "welcome", "recipient": "ann@m.example", "sender": "Code <code@m.example>",
                    "subject": "Own",
                ]
                let own = try await server.call("mail", .object(other))
                #expect(own.status == 200, "\(own.text)")
                let second = try await catcher.mail(to: "ann@m.example")
                #expect(second.subject == "Own" && second.from == "Code <code@m.example>")
                #expect(second.html.contains("silver"))
                let unknown = try await server.call("mail", ["templateName": "wlcome"])
                #expect(unknown.code == 141, "\(unknown.text)")
                #expect(unknown.error == "Unknown template wlcome in emailAdapter.options.templates.")
                let nobody = try await server.call("mail", ["templateName": "welcome", "user": [:]])
                #expect(nobody.code == 141, "\(nobody.text)")
            }
        }
    }
}
