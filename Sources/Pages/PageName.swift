/// The pages that links in mails lead to; the raw values are the keys of parse-server's option `customUrls`.
public enum PageName: String, Sendable, CaseIterable {
    case passwordReset
    case passwordResetSuccess
    case passwordResetLinkInvalid
    case emailVerificationSuccess
    case emailVerificationSendSuccess
    case emailVerificationSendFail
    case emailVerificationLinkInvalid
    case emailVerificationLinkExpired

    /// The name of its file, in snake case as parse-server has it, and of `<meta name="page">`.
    public var fileName: String {
        rawValue.reduce(into: "") { name, letter in
            name += letter.isUppercase ? "_" + letter.lowercased() : String(letter)
        }
    }
}
