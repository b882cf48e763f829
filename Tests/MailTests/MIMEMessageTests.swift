import Foundation
import Mail
import Testing

@Suite("MIME messages")
struct MIMEMessageTests {
    private static func message(_ mail: MailMessage) throws -> String {
        let bytes = try #require(MIMEMessage.bytes(mail, date: Date(timeIntervalSince1970: 1_700_000_000), id: "abc"))
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("Line breaks in sender names and subjects can't inject header fields")
    func injection() throws {
        let text = try Self.message(
            MailMessage(
                sender: "A\r\nBcc: x@y.z <a@b.c>", recipients: ["d@e.f"], subject: "s\r\nBcc: x@y.z\r\n\r\nbody",
                text: "t"))
        let head = try #require(text.components(separatedBy: "\r\n\r\n").first)
        let names = head.components(separatedBy: "\r\n").filter { !$0.hasPrefix(" ") }.map { $0.prefix { $0 != ":" } }
        #expect(
            names == [
                "From", "To", "Subject", "Date", "Message-ID", "MIME-Version", "Auto-Submitted", "Content-Type",
                "Content-Transfer-Encoding",
            ])
        #expect(text.contains("Date: Tue, 14 Nov 2023 22:13:20 +0000\r\n"))
    }

    @Test("Quotes a sender name that contains a comma")
    func names() throws {
        let text = try Self.message(
            MailMessage(sender: "Acme, Inc. <a@b.c>", recipients: ["d@e.f"], subject: "Hello, you", text: "t"))
        #expect(text.contains("From: \"Acme, Inc.\" <a@b.c>\r\n"))
        #expect(text.contains("Subject: Hello, you\r\n"))
    }

    @Test(
        "Rejects invalid email addresses",
        arguments: [
            "", "a", "@b", "a@", "a b@c", "a@b>c", "<a@b>, c@d", "a@b,c@d", "a@b.c\u{2028}Bcc: x@y.z",
            "a\u{85}b@c.d", "a@b.c> NOTIFY=<x@y", "a@b.c;x@y.z", "\"a@b.c\"@d",
        ])
    func addresses(text: String) {
        #expect(MailAddress(text) == nil)
    }

    @Test("Encodes long non-ASCII subjects in words of whole characters")
    func subjects() {
        let subject = String(repeating: "Größe 🎵 ", count: 12)
        let words = MIMEMessage.encodedText(subject).components(separatedBy: "\r\n ")
        let decoded = words.map { word in
            Data(base64Encoded: String(word.dropFirst(10).dropLast(2))).map { String(decoding: $0, as: UTF8.self) }
                ?? "?"
        }
        #expect(decoded.joined() == subject)
        #expect(words.allSatisfy { $0.utf8.count <= 75 })
        #expect(MIMEMessage.encodedText("Plain words") == "Plain words")
    }

    @Test("Keeps lines within 78 bytes even with a long link")
    func lines() throws {
        let link = "https://example.com/" + String(repeating: "x", count: 300)
        let text = try Self.message(MailMessage(sender: "a@b.c", recipients: ["d@e.f"], subject: "s", text: link))
        #expect(text.components(separatedBy: "\r\n").allSatisfy { $0.utf8.count <= 78 })
    }
}
