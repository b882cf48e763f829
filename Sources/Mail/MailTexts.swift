import JSON
import Operations

/// The words of mails.
struct MailTexts: Sendable {
    /// The name of the app.
    let appName: String

    /// What a mail says.
    ///
    /// - Parameters:
    ///   - kind: What it is for.
    ///   - link: The link in it; nil for a notice.
    ///   - username: The name of the user; empty for none.
    ///   - email: The address that it is about.
    func text(_ kind: AccountMail.Kind, link: String?, username: String, email: String) -> (
        subject: String, text: String
    ) {
        switch kind {
        case .verification:
            (
                "Please verify your e-mail for \(appName)",
                """
                Hi,

                Please confirm that \(email) is your e-mail address for \(appName).

                Click here to confirm it:
                \(link ?? "")

                """
            )
        case .passwordReset:
            (
                "Password Reset for \(appName)",
                """
                Hi,

                Somebody asked to reset the password of your account at \(appName)\(known(username)).

                Click here to reset it:
                \(link ?? "")

                """
            )
        case .emailChanged:
            (
                "Your e-mail address for \(appName) was changed",
                """
                Hi,

                The account at \(appName)\(known(username)) now has another e-mail address.

                If that was not you, please write to those who run \(appName).

                """
            )
        case .passwordChanged:
            (
                "Your password for \(appName) was changed",
                """
                Hi,

                The password of your account at \(appName)\(known(username)) was changed.

                If that was not you, ask for a new password in the app at once.

                """
            )
        }
    }

    private func known(_ username: String) -> String { username.isEmpty ? "" : " (your username is '\(username)')" }
}
