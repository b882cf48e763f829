import JSON

/// A mail as it is sent.
struct MailMessage: Sendable {
    /// The sender, an address or `Name <address>`.
    var sender: String
    /// Where answers go to, an address or `Name <address>`; nil for the sender.
    var replyTo: String?
    /// The addresses of those who get it.
    var recipients: [String]
    var subject: String
    /// The body as plain text.
    var text: String
    /// The body as HTML; nil for none.
    var html: String?
    /// The name of the mail among those that the server sends.
    var name: Name = ""
    /// What its text was made of, for services that have texts of their own.
    var values: JSONObject = [:]
}
