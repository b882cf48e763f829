import JSON
import ParseStorage

/// Users as people write their names: exactly as they are stored, or as the deployment's options let them.
extension Users {
    /// The user whom a log-in means.
    ///
    /// - Parameters:
    ///   - username: The name; empty for none.
    ///   - email: The mail address; empty for none.
    func loginCandidate(username: String, email: String) async throws -> LoginCandidate? {
        if let exact = try await store.accounts.loginCandidate(username: username, email: email) { return exact }
        let name = configuration.convertUsernameToLowercase ? username.lowercased() : username
        let address = configuration.convertEmailToLowercase ? email.lowercased() : email
        // A name may be an address, which is stored as the other option says.
        let spellings = [
            (name, address), (configuration.convertEmailToLowercase ? username.lowercased() : name, address),
        ]
        for (name, address) in spellings
        where !name.hasSameBytes(as: username) || !address.hasSameBytes(as: email) {
            if let found = try await store.accounts.loginCandidate(username: name, email: address) { return found }
        }
        guard configuration.caseInsensitiveLogin else { return nil }
        return try await store.accounts.loginCandidate(username: username, email: email, ignoresCase: true)
    }

    /// The user whom a mail to an address is for.
    func user(withMail address: String, _ purpose: AccountRows.TokenPurpose) async throws -> MailUser? {
        if let exact = try await store.accounts.user(withMail: address, purpose) { return exact }
        if configuration.convertEmailToLowercase, !address.lowercased().hasSameBytes(as: address),
            let found = try await store.accounts.user(withMail: address.lowercased(), purpose)
        {
            return found
        }
        guard configuration.caseInsensitiveLogin else { return nil }
        return try await store.accounts.user(withMail: address, purpose, ignoresCase: true)
    }
}
