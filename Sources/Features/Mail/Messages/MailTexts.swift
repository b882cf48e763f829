import JSON
import Operations

/// The built-in texts of account emails.
enum MailTexts {
    enum Language { case english, german }

    /// Returns the subject and text of an email.
    ///
    /// - Parameters:
    ///   - link: The link in the email, or nil for a notification.
    ///   - username: The user name, or empty to leave it out.
    ///   - email: The address that the email is about.
    static func text(
        _ kind: AccountMail.Kind, in language: Language, appName: String, link: String?, username: String, email: String
    ) -> (subject: String, text: String) {
        let words =
            switch language {
            case .english: english(kind, appName, username.isEmpty ? "" : " (your username is '\(username)')", email)
            case .german: german(kind, appName, username.isEmpty ? "" : " (Benutzername: „\(username)“)", email)
            }
        let greeting = language == .english ? "Hi," : "Hallo,"
        let end = link.map { "\(words.last)\n\($0)" } ?? words.last
        return (words.subject, "\(greeting)\n\n\(words.sentence)\n\n\(end)\n")
    }

    /// A subject, a sentence about what happened, and instructions.
    private typealias Words = (subject: String, sentence: String, last: String)

    private static func english(_ kind: AccountMail.Kind, _ appName: String, _ known: String, _ email: String) -> Words
    {
        switch kind {
        case .verification:
            (
                "Please verify your e-mail for \(appName)",
                "Please confirm that \(email) is your e-mail address for \(appName).", "Click here to confirm it:"
            )
        case .passwordReset:
            (
                "Password Reset for \(appName)",
                "Someone asked to reset the password of your account at \(appName)\(known).",
                "Click here to reset it:"
            )
        case .emailChanged:
            (
                "Your e-mail address for \(appName) was changed",
                "The e-mail address of your account at \(appName)\(known) was changed or removed.",
                "If you didn't make this change, please contact \(appName) support."
            )
        case .passwordChanged:
            (
                "Your password for \(appName) was changed",
                "The password of your account at \(appName)\(known) was changed.",
                "If you didn't make this change, request a new password in the app at once."
            )
        case .operatorInvitation:
            (
                "Invitation to the console of \(appName)",
                "You have an account in the console of \(appName)\(known). You will get the password separately.",
                "Sign in here:"
            )
        }
    }

    private static func german(_ kind: AccountMail.Kind, _ appName: String, _ known: String, _ email: String) -> Words {
        switch kind {
        case .verification:
            (
                "\(appName): Bitte die E-Mail-Adresse bestätigen",
                "bitte bestätige, dass \(email) deine E-Mail-Adresse für \(appName) ist.",
                "Hier geht es zur Bestätigung:"
            )
        case .passwordReset:
            (
                "\(appName): Neues Passwort wählen",
                "jemand möchte das Passwort deines Kontos bei \(appName)\(known) neu setzen.",
                "Hier lässt sich ein neues wählen:"
            )
        case .emailChanged:
            (
                "\(appName): Deine E-Mail-Adresse wurde geändert",
                "das Konto bei \(appName)\(known) hat jetzt eine andere E-Mail-Adresse oder keine mehr.",
                "Wenn du das nicht warst, melde dich bitte bei den Betreibern von \(appName)."
            )
        case .passwordChanged:
            (
                "\(appName): Dein Passwort wurde geändert",
                "das Passwort deines Kontos bei \(appName)\(known) wurde geändert.",
                "Wenn du das nicht warst, fordere bitte sofort in der App ein neues an."
            )
        case .operatorInvitation:
            (
                "Einladung zur Konsole von \(appName)",
                "du hast ein Konto in der Konsole von \(appName)\(known). Das Passwort bekommst du getrennt.",
                "Hier geht es zur Anmeldung:"
            )
        }
    }
}
