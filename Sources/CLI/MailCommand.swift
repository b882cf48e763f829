import ArgumentParser

/// `roost mail`: looks at mails, and tries whether they are sent.
struct MailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mail",
        abstract: "Shows mails and pages as they are written, or sends a mail to try it.",
        subcommands: [MailPreview.self, MailTest.self])
}
