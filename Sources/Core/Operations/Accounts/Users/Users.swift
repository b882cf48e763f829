import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// Rules for users: unique names, passwords, permission to update, and new sessions after a password change.
public struct Users: Sendable, BackendPart {
    let backend: Backend

    /// Ends a user's sessions after a password change if `revokeSessionOnPasswordReset` is on, and creates a new one
    /// for a client.
    ///
    /// - Returns: The token of the new session, or nil for a caller with full rights.
    func replaceSessions(of userId: String, _ context: RequestContext) async throws -> String? {
        if configuration.revokeSessionOnPasswordReset {
            try await store.deleteAll("_Session", where: ReadRules.sessions(of: userId))
            await backend.caches.invalidate(user: userId)
        }
        guard !context.caller.writesEverything else { return nil }
        return try await backend.sessions.open(
            for: userId, createdWith: ["action": "signup", "authProvider": "password"], context
        ).token
    }

    /// Checks that the caller may update the user: their own record, or one whose ACL allows it.
    ///
    /// - Throws: 206 if the caller may not, or the error of the class-level permissions.
    func authorizeUserUpdate(_ objectId: String, _ caller: Caller) async throws {
        guard caller.writesEverything || caller.userId != nil else {
            throw ParseError.denied(ParseError.sessionMissing, "Cannot modify user \(objectId).")
        }
        try await checkWriter(of: objectId, caller)
        if let schema = catalog.schema("_User") { _ = try schema.permit(.update, to: caller) }
    }

    private func checkWriter(of objectId: String, _ caller: Caller) async throws {
        guard !caller.writesEverything, !caller.isUser(objectId) else { return }
        var request = ObjectStore.FindRequest(className: "_User", objectId: objectId)
        // The ACL is always read. Other fields may be large.
        request.keys = []
        let acl = try await store.find(request).objects.first?["ACL"]?.objectValue
        let isWritable = acl.map { acl in caller.principals.contains { acl[$0]?["write"] == true } } ?? false
        guard isWritable else { throw ParseError.denied(ParseError.sessionMissing, "Insufficient auth.") }
    }

    func checkEmailVerified(_ body: JSONObject, _ caller: Caller) throws(ParseError) {
        guard body["emailVerified"] != nil, !caller.writesEverything else { return }
        throw .denied(
            ParseError.operationForbidden, "Clients aren't allowed to manually update email verification.")
    }

    func normalizeNames(_ body: inout JSONObject) {
        if configuration.convertUsernameToLowercase, let name = body["username"]?.stringValue {
            body["username"] = .string(name.lowercased())
        }
        if configuration.convertEmailToLowercase, let email = body["email"]?.stringValue {
            body["email"] = .string(email.lowercased())
        }
    }

    /// Rejects user names and addresses that can't be stored.
    func checkNames(_ body: JSONObject) throws {
        for name in claimedNames(body) { _ = try ValueText.checked(name.text) }
    }

    func claimedNames(_ body: JSONObject) -> Set<Name> {
        Set(["username", "email"].compactMap { body[$0]?.nameValue })
    }

    /// Checks that the user name and the address are free, ignoring case.
    ///
    /// - Throws: 202 if the name is taken, 203 if the address is taken, 125 or 111 if the address is invalid.
    func checkUnique(_ body: JSONObject, except objectId: String?) async throws {
        if let name = body["username"]?.stringValue,
            try await store.accounts.isTaken(name, as: .username, except: objectId)
        {
            throw ParseError(ParseError.usernameTaken, "Account already exists for this username.")
        }
        guard let email = body["email"], !email.isNull, email["__op"]?.stringValue != "Delete" else { return }
        guard let address = email.stringValue else { throw try ParseError.expectedString("_User.email", email) }
        if !address.isEmpty {
            let scalars = address.unicodeScalars
            // Rejects the form `Name <address>`.
            guard scalars.dropFirst().dropLast().contains("@"), !address.contains(where: \.isNewline),
                scalars.last != ">"
            else {
                throw ParseError(ParseError.invalidEmailAddress, "Email address format is invalid.")
            }
        }
        if try await store.accounts.isTaken(address, as: .email, except: objectId) {
            throw ParseError(ParseError.emailTaken, "Account already exists for this email address.")
        }
    }

    /// Returns the user of a log-in, or nil if no account matches. Looks up every spelling even after a match, because
    /// the number of round trips must not reveal who has an account.
    ///
    /// - Parameters:
    ///   - username: The user name, or empty.
    ///   - email: The email address, or empty.
    func loginCandidate(username: String, email: String) async throws -> LoginCandidate? {
        var candidate = try await store.accounts.loginCandidate(username: username, email: email)
        let name = configuration.convertUsernameToLowercase ? username.lowercased() : username
        let address = configuration.convertEmailToLowercase ? email.lowercased() : email
        // The user name may be an email address, which the server has stored in lower case.
        var spellings = [(name, address)]
        if configuration.convertEmailToLowercase, !configuration.convertUsernameToLowercase {
            spellings.append((username.lowercased(), address))
        }
        for (name, address) in spellings
        where !name.hasSameBytes(as: username) || !address.hasSameBytes(as: email) {
            let found = try await store.accounts.loginCandidate(username: name, email: address)
            candidate = candidate ?? found
        }
        guard configuration.caseInsensitiveLogin else { return candidate }
        let found = try await store.accounts.loginCandidate(username: username, email: email, ignoresCase: true)
        return candidate ?? found
    }

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
