import JSON

/// The texts of the built-in pages in one language.
struct BuiltInTexts: Sendable {
    struct Page: Sendable {
        var title: String
        var paragraphs: [String]
    }

    /// The value of the `lang` attribute.
    var language: String
    var pages: [BuiltInPage: Page]
    var account: String
    var newPassword: String
    var newPasswordAgain: String
    var changePassword: String
    var sendLink: String
    /// The texts that replace the server's error texts.
    var errors: [Name: String]

    static let english = BuiltInTexts(
        language: "en",
        pages: [
            .passwordReset: Page(title: "Choose a new password", paragraphs: []),
            .passwordResetSuccess: Page(
                title: "Your password was changed",
                paragraphs: ["You can log in with the new password now.", "You can close this page."]),
            .passwordResetLinkInvalid: Page(
                title: "This link no longer works",
                paragraphs: [
                    "A link to choose a new password works once, and for a limited time.",
                    "Please ask for a new one in the app.",
                ]),
            .emailVerificationSuccess: Page(
                title: "Your e-mail address is confirmed", paragraphs: ["Thank you. You can close this page."]),
            .emailVerificationSendSuccess: Page(
                title: "Check your inbox",
                paragraphs: [
                    "If your e-mail address isn't confirmed yet, a new link is on its way.",
                    "If it doesn't arrive within a few minutes, check your spam folder.",
                ]),
            .emailVerificationSendFail: Page(
                title: "No link was sent",
                paragraphs: [
                    "The e-mail address is already confirmed, or no account uses it.",
                    "The app can send you a new link.",
                ]),
            .emailVerificationLinkInvalid: Page(
                title: "This link does not work",
                paragraphs: [
                    "It may be incomplete, or a newer one was sent to you.",
                    "Please open the link in the latest e-mail, or ask for a new one in the app.",
                ]),
            .emailVerificationLinkExpired: Page(
                title: "This link has expired",
                paragraphs: ["We can send you a new one to confirm your e-mail address."]),
            .invalidLink: Page(
                title: "This link does not work",
                paragraphs: ["It may be incomplete or already used.", "Please ask for a new one in the app."]),
            .tooManyRequests: Page(title: "Too many attempts", paragraphs: []),
        ],
        account: "Account", newPassword: "New password", newPasswordAgain: "Repeat new password",
        changePassword: "Change password", sendLink: "Send a new link",
        errors: [
            "Failed to reset password: username / email / token is invalid":
                "This link was already used, or a newer one was sent to you. Please ask for a new one in the app.",
            "The password reset link has expired":
                "This link has expired. Please ask for a new one in the app.",
            "The passwords do not match": "The two passwords are not the same.",
            "Too many requests.": "Please wait a few minutes and try again.",
        ])

    static let german = BuiltInTexts(
        language: "de",
        pages: [
            .passwordReset: Page(title: "Neues Passwort wählen", paragraphs: []),
            .passwordResetSuccess: Page(
                title: "Das Passwort wurde geändert",
                paragraphs: [
                    "Die Anmeldung geht ab jetzt mit dem neuen Passwort.", "Diese Seite kann geschlossen werden.",
                ]),
            .passwordResetLinkInvalid: Page(
                title: "Dieser Link gilt nicht mehr",
                paragraphs: [
                    "Ein Link für ein neues Passwort gilt einmal und für begrenzte Zeit.",
                    "Bitte in der App einen neuen anfordern.",
                ]),
            .emailVerificationSuccess: Page(
                title: "Die E-Mail-Adresse ist bestätigt",
                paragraphs: ["Vielen Dank. Diese Seite kann geschlossen werden."]),
            .emailVerificationSendSuccess: Page(
                title: "Bitte ins Postfach schauen",
                paragraphs: [
                    "Falls die E-Mail-Adresse noch zu bestätigen ist, ist ein neuer Link dorthin unterwegs.",
                    "Nach einigen Minuten noch nichts da? Bitte im Spam-Ordner nachsehen.",
                ]),
            .emailVerificationSendFail: Page(
                title: "Es wurde kein Link verschickt",
                paragraphs: [
                    "Entweder ist die E-Mail-Adresse schon bestätigt, oder es gibt kein Konto mit ihr.",
                    "Die App kann einen neuen Link schicken.",
                ]),
            .emailVerificationLinkInvalid: Page(
                title: "Dieser Link funktioniert nicht",
                paragraphs: [
                    "Er ist unvollständig, oder es wurde ein neuerer verschickt.",
                    "Bitte den Link der neuesten Mail öffnen oder in der App einen neuen anfordern.",
                ]),
            .emailVerificationLinkExpired: Page(
                title: "Dieser Link ist abgelaufen",
                paragraphs: ["Wir können einen neuen schicken, mit dem sich die E-Mail-Adresse bestätigen lässt."]),
            .invalidLink: Page(
                title: "Dieser Link funktioniert nicht",
                paragraphs: [
                    "Er ist unvollständig oder wurde schon benutzt.", "Bitte in der App einen neuen anfordern.",
                ]),
            .tooManyRequests: Page(title: "Zu viele Versuche", paragraphs: []),
        ],
        account: "Konto", newPassword: "Neues Passwort", newPasswordAgain: "Neues Passwort wiederholen",
        changePassword: "Passwort ändern", sendLink: "Neuen Link schicken",
        errors: [
            "Failed to reset password: username / email / token is invalid":
                "Dieser Link wurde schon benutzt, oder es wurde ein neuerer verschickt. Bitte in der App einen neuen anfordern.",
            "The password reset link has expired":
                "Dieser Link ist abgelaufen. Bitte in der App einen neuen anfordern.",
            "The passwords do not match": "Die beiden Passwörter sind nicht gleich.",
            "Too many requests.": "Bitte einige Minuten warten und es noch einmal versuchen.",
        ])
}
