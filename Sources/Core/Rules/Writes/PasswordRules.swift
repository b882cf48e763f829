import ParseModel
import ServerConfiguration

package enum PasswordRules {
    /// bcrypt only compares the first 72 bytes.
    private static let comparedLength = 72

    /// Maximum password length in bytes for matching patterns.
    private static let longestMatched = 1024

    /// Checks a new password against the policy.
    ///
    /// - Parameter refusesUncompared: Whether to reject passwords longer than the 72 bytes that bcrypt compares.
    /// - Throws: 142, or 107 if the password contains NUL.
    package static func check(
        _ password: String, username: String?, _ policy: Configuration.PasswordPolicy?, refusesUncompared: Bool
    ) throws(ParseError) {
        guard !password.utf8.contains(0) else {
            throw ParseError(ParseError.invalidJSON, "Strings cannot contain the NUL character")
        }
        guard !refusesUncompared || password.utf8.count <= comparedLength else {
            throw ParseError(
                ParseError.validationError, "Password cannot be longer than \(comparedLength) bytes.")
        }
        guard let policy else { return }
        // The cost of some patterns grows with the square of the password's length.
        guard policy.validatorPattern == nil || password.utf8.count <= longestMatched else {
            throw ParseError(
                ParseError.validationError, "Password cannot be longer than \(longestMatched) bytes.")
        }
        if let pattern = policy.validatorPattern, RegularExpression(pattern)?.isFound(in: password) != true {
            throw ParseError(
                ParseError.validationError,
                policy.validationError ?? "Password does not meet the Password Policy requirements.")
        }
        if policy.doNotAllowUsername, let username, !username.isEmpty,
            Array(password.utf8).firstRange(of: Array(username.utf8)) != nil
        {
            throw ParseError(
                ParseError.validationError, policy.validationError ?? "Password cannot contain your username.")
        }
    }
}
