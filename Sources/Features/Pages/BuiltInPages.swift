import JSON

/// A built-in page for links in account emails.
public enum BuiltInPage: String, CaseIterable, Sendable {
    case passwordReset, passwordResetSuccess, passwordResetLinkInvalid
    case emailVerificationSuccess, emailVerificationSendSuccess, emailVerificationSendFail
    case emailVerificationLinkInvalid, emailVerificationLinkExpired
    case invalidLink, tooManyRequests

    /// The page's name in snake case, without an extension.
    public var fileName: String {
        rawValue.reduce(into: "") { name, letter in
            name += letter.isUppercase ? "_" + letter.lowercased() : String(letter)
        }
    }

    /// The file names of this page, including those used by parse-server's older redirects.
    var files: [String] {
        let older: [String] =
            switch self {
            case .passwordReset: ["choose_password"]
            case .emailVerificationSuccess: ["verify_email_success.html"]
            case .emailVerificationSendSuccess: ["link_send_success.html"]
            case .emailVerificationSendFail: ["link_send_fail.html"]
            case .emailVerificationLinkExpired: ["invalid_verification_link.html"]
            default: []
            }
        return [fileName + ".html"] + older
    }

    /// Returns the page as a Mustache template. The HTML works without scripts.
    func template(_ texts: BuiltInTexts) -> String {
        guard let page = texts.pages[self] else { return "" }
        return """
            <!doctype html>
            <html lang="\(texts.language)">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta name="robots" content="noindex">
            <meta name="page" content="\(fileName)">
            <title>\(page.title){{#appName}} · {{appName}}{{/appName}}</title>
            <link rel="stylesheet" href="{{style}}">
            </head>
            <body>
            <main class="\(symbol)">
            {{#appName}}
            <p class="app" dir="auto">{{appName}}</p>
            {{/appName}}
            <h1>\(page.title)</h1>
            \(page.paragraphs.map { "<p>\($0)</p>\n" }.joined())\(form(texts))</main>
            </body>
            </html>

            """
    }

    private var symbol: String {
        switch self {
        case .passwordReset: "question"
        case .passwordResetSuccess, .emailVerificationSuccess: "success"
        case .emailVerificationSendSuccess: "sent"
        default: "failure"
        }
    }

    private func form(_ texts: BuiltInTexts) -> String {
        switch self {
        case .passwordReset: passwordForm(texts)
        case .emailVerificationLinkExpired: resendForm(texts)
        case .tooManyRequests: "<p dir=\"auto\">{{problem}}</p>\n"
        default: ""
        }
    }

    /// Returns the form, which includes the account name for password managers.
    private func passwordForm(_ texts: BuiltInTexts) -> String {
        """
        {{#problem}}
        <p class="error" role="alert" id="problem" dir="auto">{{problem}}</p>
        {{/problem}}
        <form method="post" action="{{appUrl}}/request_password_reset">
        <input type="hidden" name="token" value="{{token}}">
        {{#locale}}
        <input type="hidden" name="locale" value="{{locale}}">
        {{/locale}}
        {{#username}}
        <label for="username">\(texts.account)</label>
        <input id="username" name="username" type="text" value="{{username}}" autocomplete="username" dir="auto" \
        readonly>
        {{/username}}
        <label for="new_password">\(texts.newPassword)</label>
        <input id="new_password" name="new_password" type="password" autocomplete="new-password" required autofocus\
        {{#problem}} aria-invalid="true" aria-describedby="problem"{{/problem}}>
        <label for="confirm_new_password">\(texts.newPasswordAgain)</label>
        <input id="confirm_new_password" name="confirm_new_password" type="password" autocomplete="new-password" required>
        <button type="submit">\(texts.changePassword)</button>
        </form>

        """
    }

    private func resendForm(_ texts: BuiltInTexts) -> String {
        """
        <form method="post" action="{{appUrl}}/resend_verification_email">
        {{#token}}
        <input type="hidden" name="token" value="{{token}}">
        {{/token}}
        {{#username}}
        <input type="hidden" name="username" value="{{username}}">
        {{/username}}
        {{#locale}}
        <input type="hidden" name="locale" value="{{locale}}">
        {{/locale}}
        <button type="submit">\(texts.sendLink)</button>
        </form>

        """
    }
}
