/// A mail as it is sent.
struct MailMessage: Sendable {
    /// The sender, an address or `Name <address>`.
    var sender: String
    /// The addresses of those who get it.
    var recipients: [String]
    var subject: String
    /// The body as plain text.
    var text: String
}
