import JSON
import TestSupport
import Testing

/// `Parse.Cloud.sendEmail`.
@Suite("Mails of code in JavaScript")
struct CodeMailTests {
    private static let code = """
        Parse.Cloud.define('mail', request => Parse.Cloud.sendEmail(request.params));
        """

    @Test("A mail is sent by the mail server of the configuration, and one that cannot be sent is an error")
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
                #expect(nobody.error == "A mail needs addresses that it goes to, 100 at most.")
                let empty = try await server.call("mail", ["to": "ann@m.example"])
                #expect(empty.error == "A mail needs a text.", "\(empty.text)")
            }
        }
    }
}
