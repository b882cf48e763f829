import ParseModel
import ServerConfiguration

package enum PasswordRules {
    /// bcrypt only compares the first 72 bytes.
    private static let comparedLength = 72

    /// The maximum size in bytes of a password that a pattern or a function checks.
    private static let longestChecked = 1024

    /// Checks a new password against the policy.
    ///
    /// - Parameter refusesUncompared: Whether to reject passwords longer than the 72 bytes that bcrypt compares.
    /// - Throws: 142, or 107 if the password contains NUL.
    package static func check(
        _ password: String, username: String?, _ policy: Configuration.PasswordPolicy?, refusesUncompared: Bool
    ) throws(ParseError) {
        guard !password.utf8.contains(0) else {
            throw ParseError(ParseError.invalidJSON, "Strings can't contain the NUL character")
        }
        guard !refusesUncompared || password.utf8.count <= comparedLength else {
            throw ParseError(
                ParseError.validationError, "Password can't be longer than \(comparedLength) bytes.")
        }
        guard let policy else { return }
        // The cost of a pattern can grow faster than the length of the text.
        if let pattern = policy.validatorPattern {
            try checkLength(password)
            guard RegularExpression(pattern)?.isFound(in: password) == true else { throw refusal(policy) }
        }
        if policy.doNotAllowUsername, let username, !username.isEmpty,
            Array(password.utf8).firstRange(of: Array(username.utf8)) != nil
        {
            throw ParseError(
                ParseError.validationError, policy.validationError ?? "Password cannot contain your username.")
        }
    }

    /// Checks that a password is short enough for a pattern or a function.
    ///
    /// - Throws: 142 if it is too long.
    package static func checkLength(_ password: String) throws(ParseError) {
        guard password.utf8.count <= longestChecked else {
            throw ParseError(ParseError.validationError, "Password can't be longer than \(longestChecked) bytes.")
        }
    }

    /// Returns the error for a password that the policy's pattern or function rejects.
    package static func refusal(_ policy: Configuration.PasswordPolicy) -> ParseError {
        ParseError(
            ParseError.validationError,
            policy.validationError ?? "Password does not meet the Password Policy requirements.")
    }
}
