/// A mail as it is sent.
public struct MailMessage: Sendable, Equatable {
    /// The sender, an address or `Name <address>`.
    public var sender: String
    /// The addresses of those who get it.
    public var recipients: [String]
    /// The subject.
    public var subject: String
    /// The body as plain text.
    public var text: String
    /// The body as HTML; nil for none.
    public var html: String?
    /// Where answers go; nil for the sender.
    public var replyTo: String?

    /// Makes a mail.
    public init(
        from sender: String, to recipients: [String], subject: String, text: String, html: String? = nil,
        replyTo: String? = nil
    ) {
        self.sender = sender
        self.recipients = recipients
        self.subject = subject
        self.text = text
        self.html = html
        self.replyTo = replyTo
    }
}
