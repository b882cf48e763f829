import Encoding
import JSON
import Platform

/// Encodes emails for sending (RFC 5322, 2045 to 2047): UTF-8 plain text, with HTML as an alternative if present.
///
/// User names and app names can't add header fields. Bodies are in Base64, so servers can't break links and texts can't
/// contain the boundary.
package enum MIMEMessage {
    /// Encodes an email. Returns nil if the sender or a recipient is invalid, or if there are no recipients.
    ///
    /// - Parameters:
    ///   - date: The value of the `Date` field.
    ///   - id: A unique text for the message id and the boundary.
    package static func bytes(_ mail: MailMessage, date: Date, id: String) -> [UInt8]? {
        guard let sender = MailAddress(mail.sender) else { return nil }
        let recipients = mail.recipients.compactMap { MailAddress($0) }
        guard !recipients.isEmpty, recipients.count == mail.recipients.count else { return nil }
        var fields = [
            ("From", field(sender)), ("To", recipients.map(field).joined(separator: ",\r\n ")),
            ("Subject", encodedText(mail.subject)), ("Date", self.date(date)),
            ("Message-ID", "<\(id)@\(sender.domain)>"), ("MIME-Version", "1.0"), ("Auto-Submitted", "auto-generated"),
        ]
        if let replyTo = mail.replyTo.flatMap({ MailAddress($0) }) { fields.append(("Reply-To", field(replyTo))) }
        guard let html = mail.html else { return Array((head(fields) + part("text/plain", mail.text)).utf8) }
        // Base64 can't contain this text.
        let boundary = "=_\(id)"
        fields.append(("Content-Type", "multipart/alternative; boundary=\"\(boundary)\""))
        let parts = [part("text/plain", mail.text), part("text/html", html)]
        return Array(
            (head(fields) + "\r\n" + parts.map { "--\(boundary)\r\n\($0)" }.joined() + "--\(boundary)--\r\n").utf8)
    }

    private static func head(_ fields: [(String, String)]) -> String { fields.map { "\($0.0): \($0.1)\r\n" }.joined() }

    private static func part(_ type: String, _ text: String) -> String {
        head([("Content-Type", "\(type); charset=utf-8"), ("Content-Transfer-Encoding", "base64")]) + "\r\n"
            + base64(text)
    }

    private static func base64(_ text: String) -> String {
        let encoded = Array(Data(text.utf8).base64EncodedString().utf8)
        return stride(from: 0, to: encoded.count, by: 76).map {
            String(decoding: encoded[$0..<min($0 + 76, encoded.count)], as: UTF8.self) + "\r\n"
        }.joined()
    }

    private static func field(_ address: MailAddress) -> String {
        guard let name = address.name else { return address.address }
        let encoded = encodedText(name)
        // A name that needs no encoding may contain characters that separate addresses, which require quotes.
        return encoded == name ? address.text : "\(encoded) <\(address.address)>"
    }

    /// Returns a text as a single line, with spaces instead of control characters.
    static func line(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isControl($0) ? " " : $0 }))
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar.value == 0x2028 || scalar.value == 0x2029
    }

    /// Encodes the text of a header field. Printable ASCII of up to 60 bytes without `=?` stays unchanged; other texts
    /// become encoded words in UTF-8 (RFC 2047) that don't split characters.
    package static func encodedText(_ text: String) -> String {
        let bytes = text.utf8
        if bytes.allSatisfy({ (0x20...0x7E).contains($0) }), bytes.count <= 60, !text.contains("=?") { return text }
        var words: [String] = []
        var word: [UInt8] = []
        for scalar in text.unicodeScalars {
            // Mail clients could act on a line break in the decoded text.
            let bytes = scalar.value < 0x20 || scalar.value == 0x7F ? [UInt8(ascii: " ")] : Array(String(scalar).utf8)
            if word.count + bytes.count > 39 {
                words.append(Data(word).base64EncodedString())
                word = []
            }
            word += bytes
        }
        words.append(Data(word).base64EncodedString())
        return words.map { "=?utf-8?B?\($0)?=" }.joined(separator: "\r\n ")
    }

    /// Returns a date in the format `Mon, 23 Nov 2026 20:15:04 +0000`.
    static func date(_ date: Date) -> String {
        let seconds = Int(date.timeIntervalSince1970.rounded(.down))
        return HTTPDate.string(seconds: seconds).replacing("GMT", with: "+0000")
    }
}

package struct MailMessage: Sendable {
    /// The sender as an address or `Name <address>`.
    var sender: String
    /// The address for replies as an address or `Name <address>`, or nil for the sender.
    var replyTo: String?
    var recipients: [String]
    package var subject: String
    package var text: String
    package var html: String?
    /// The kind of an account email, or empty for other emails.
    package var name: Name = ""
    /// The placeholder values, for the request bodies of HTTP services and the app's own adapter.
    var values: JSONObject = [:]

    package init(
        sender: String, replyTo: String? = nil, recipients: [String], subject: String, text: String,
        html: String? = nil, name: Name = "", values: JSONObject = [:]
    ) {
        self.sender = sender
        self.replyTo = replyTo
        self.recipients = recipients
        self.subject = subject
        self.text = text
        self.html = html
        self.name = name
        self.values = values
    }
}
