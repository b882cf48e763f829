import JSON
import Logging
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// The state of a password-reset link.
public enum PasswordResetLink: Sendable, Equatable {
    case valid(username: String)
    case invalid
    case expired
}

/// Resets passwords with emailed links.
public struct PasswordResets: Sendable, BackendPart {
    let backend: Backend

    /// `POST /requestPasswordReset`: sends a link to an address.
    ///
    /// - Throws: 108 if mail is not fully configured; 204 if the address is missing, 125 if it isn't a string or 162 if
    ///   the token isn't; 101 if the address has no account, unless `resetPasswordSuccessOnInvalidEmail` is set; errors
    ///   of the trigger.
    public func requestPasswordReset(_ body: JSONObject, _ context: RequestContext) async throws {
        try backend.mails.sender()
        let options = configuration.accountMail
        let start = ContinuousClock.now
        let user: MailUser?
        if configuration.preset >= 8, body["email"]?.isTruthy != true, let value = body["token"], value.isTruthy {
            guard let token = value.stringValue else {
                throw ParseError(ParseError.invalidValue, "token must be a string")
            }
            let holder = try await store.accounts.user(with: token, .passwordReset)
            // A link that is still valid isn't replaced.
            user = holder.flatMap {
                $0.email != nil && $0.tokenExpiry != nil && $0.isExpired(at: context.now) ? $0 : nil
            }
        } else {
            user = try await backend.users.user(withMail: try AccountMails.address(in: body), .passwordReset)
            if user == nil, !options.resetPasswordSuccessOnInvalidEmail {
                throw ParseError(ParseError.objectNotFound, "A user with that email does not exist.")
            }
        }
        guard options.resetPasswordSuccessOnInvalidEmail else {
            if let user { try await sendReset(to: user, context) }
            return
        }
        let hasTrigger = backend.triggers.trigger(.beforePasswordResetRequest, "_User") != nil
        let levelTime = hasTrigger ? AccountMails.levelTimeWithTrigger : AccountMails.levelTime
        try await backend.mails.answer(at: start + levelTime) {
            if let user { try await self.sendReset(to: user, context) }
        }
    }

    private func sendReset(to user: MailUser, _ context: RequestContext) async throws {
        let options = configuration.accountMail
        guard backend.mails.allowsLink(to: user, context) else { return }
        do {
            try await backend.triggers.callUserTrigger(.beforePasswordResetRequest, of: user.id, context)
        } catch let error as ParseError
            where error.code == ParseError.objectNotFound && options.resetPasswordSuccessOnInvalidEmail
        {
            return
        }
        var token = user.token
        if !options.resetTokenReuseIfValid || token == nil || user.isExpired(at: context.now) {
            let new = AccountMails.mailToken()
            let expiry = AccountMails.expiry(after: options.resetTokenValidityDuration, context)
            guard try await store.accounts.setToken(new, expiry: expiry, of: user, .passwordReset) else { return }
            token = new
        }
        try await backend.mails.send(
            .passwordReset, to: user.email ?? user.username, token: token ?? "", of: user.recipient, context)
    }

    /// Checks a link without using it up.
    ///
    /// - Parameter username: The name in the link. Only links up to preset 7 have one.
    public func passwordResetLink(token: String, username: String?, _ context: RequestContext) async throws
        -> PasswordResetLink
    {
        guard let user = try await resetUser(token: token, username: username) else { return .invalid }
        return isResetExpired(user, context) ? .expired : .valid(username: user.username)
    }

    /// Uses up a token to set its owner's password, and ends the sessions if `revokeSessionOnPasswordReset` is set.
    ///
    /// - Throws: -1 for invalid or expired tokens, 142 if the password violates the policy, and errors of triggers.
    public func resetPassword(token: String, username: String?, to password: String, _ context: RequestContext)
        async throws
    {
        guard let user = try await resetUser(token: token, username: username) else { throw Self.invalidResetToken }
        guard !isResetExpired(user, context) else {
            throw ParseError(ParseError.otherCause, "The password reset link has expired")
        }
        var save = Save("_User", user.id, ["password": .string(password)], context.asServer)
        save.condition = .field(FieldPath("_perishable_token"), .equal(.string(token)))
        if configuration.accountLockout?.unlockOnPasswordReset == true {
            save.hidden = ["_failed_login_count": .null, "_account_lockout_expires_at": .null]
        }
        let pipeline = SavePipeline(backend: backend)
        var stored: StoredSave?
        do {
            if case .planned(let planned) = try await pipeline.plan(save) { stored = try await pipeline.store(planned) }
        } catch let error as ParseError where error.code == ParseError.objectNotFound {
            // A trigger may throw the same code. If the token still exists, the error is the trigger's.
            guard try await resetUser(token: token, username: username) != nil else { throw Self.invalidResetToken }
            throw ParseError(ParseError.otherCause, error.message)
        }
        // The password has changed, so later failures are only logged.
        if let stored { await afterReset(of: user) { _ = try await pipeline.finish(stored) } }
        if let email = user.email {
            await afterReset(of: user) {
                try await backend.mails.notify(.passwordChanged, at: email, user.recipient, context)
            }
        }
    }

    private func afterReset(of user: MailUser, _ step: () async throws -> Void) async {
        do {
            try await step()
        } catch {
            logger.error(
                "password changed, but a later step failed", metadata: ["user": "\(user.id)", "error": "\(error)"])
        }
    }

    private static let invalidResetToken = ParseError(
        ParseError.otherCause, "Failed to reset password: username / email / token is invalid")

    private func resetUser(token: String, username: String?) async throws -> MailUser? {
        guard !token.isEmpty else { return nil }
        let name = configuration.preset < 8 ? username ?? "" : nil
        return try await store.accounts.user(with: token, .passwordReset, username: name)
    }

    private func isResetExpired(_ user: MailUser, _ context: RequestContext) -> Bool {
        configuration.accountMail.resetTokenValidityDuration != nil && user.isExpired(at: context.now)
    }
}
