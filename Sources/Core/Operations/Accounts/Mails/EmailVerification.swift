import JSON
import Logging
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// The result of opening an email-verification link.
public enum EmailVerification: Sendable, Equatable {
    case verified(username: String)
    case invalid
    /// The link was valid but has expired.
    case expired
}

/// Verifies email addresses with links.
public struct EmailVerifications: Sendable, BackendPart {
    let backend: Backend

    /// Whether an unverified user can't log in.
    ///
    /// - Parameters:
    ///   - createdWith: The origin of the requested session.
    ///   - user: The user, passed to app functions.
    func blocksUnverified(
        createdWith: JSONObject, _ context: RequestContext, _ user: () async throws -> JSONObject
    ) async throws -> Bool {
        let request = { () async throws -> JSONObject in
            ["object": .object(try await user()), "createdWith": .object(createdWith)]
        }
        guard try await isOn(.verifyUserEmails, context, request) else { return false }
        return try await isOn(.preventLoginWithUnverifiedEmail, context, request)
    }

    /// Evaluates an option that is a Boolean or an app function.
    ///
    /// - Parameter request: The function's argument without data of the caller. For stored users the id suffices, since
    ///   the function host loads the rest.
    /// - Throws: `ParseError` if the function fails.
    func isOn(
        _ option: Configuration.OptionFunction, _ context: RequestContext, _ request: () async throws -> JSONObject
    ) async throws -> Bool {
        let options = configuration.accountMail
        let value =
            switch option {
            case .verifyUserEmails: options.verifyUserEmails
            case .preventLoginWithUnverifiedEmail: options.preventLoginWithUnverifiedEmail
            case .sendUserEmailVerification: options.sendUserEmailVerification
            case .validatorCallback, .masterKey: false
            }
        guard value, let ask = try function(option) else { return value }
        var request = try await request()
        request["master"] = .bool(context.caller.readsEverything)
        request["ip"] = .string(context.address)
        request["installationId"] = context.caller.installationId.map(JSONValue.string)
        return try await ask(request)
    }

    static let emailIsNotVerified = ParseError(ParseError.emailNotFound, "User email is not verified.")

    /// Verifies the address of a token's owner and uses up the token. Opening the same link again shows success for a
    /// day.
    ///
    /// - Parameter username: The name in the link. Only links up to preset 7 have one.
    public func verifyEmail(token: String, username: String?, _ context: RequestContext) async throws
        -> EmailVerification
    {
        guard configuration.accountMail.verifyUserEmails else { return .invalid }
        let name = configuration.preset < 8 ? username ?? "" : nil
        guard let user = try await store.accounts.user(with: token, .verification, username: name) else {
            guard let spender = try await store.mails.userWhoSpent(token),
                name.map({ $0.hasSameBytes(as: spender) }) ?? true
            else { return .invalid }
            return .verified(username: spender)
        }
        if configuration.accountMail.emailVerifyTokenValidityDuration != nil, user.isExpired(at: context.now) {
            return .expired
        }
        var save = Save("_User", user.id, ["emailVerified": true], context.asLink)
        save.hidden = ["_email_verify_token": .null, "_email_verify_token_expires_at": .null]
        save.condition = .field(FieldPath("_email_verify_token"), .equal(.string(token)))
        // Recorded first, so that a concurrent request with the same link finds it.
        try await store.mails.recordSpentToken(token, of: user.username)
        do {
            _ = try await SavePipeline(backend: backend).run(save)
        } catch let error as ParseError where error.code == ParseError.objectNotFound {
            // A concurrent request has opened the same link or requested a new one.
            guard try await store.accounts.mailUser(user.id, .verification)?.isVerified == true else {
                try await store.mails.forgetSpentToken(token)
                return .invalid
            }
        } catch let error as ParseError
            where backend.triggers.isObserved && error.code != ParseError.internalServerError
        {
            // A trigger rejected the verification. The page has no text for that.
            try await store.mails.forgetSpentToken(token)
            logger.warning(
                "trigger rejected email verification", metadata: ["user": "\(user.id)", "error": "\(error.message)"])
            return .invalid
        } catch {
            try await store.mails.forgetSpentToken(token)
            throw error
        }
        return .verified(username: user.username)
    }

    /// Sends a new link to replace an expired link.
    ///
    /// - Parameters:
    ///   - token: The token of the old link, or nil to use only the user name.
    ///   - username: The user name, which is used if the token is nil or unknown.
    /// - Returns: Whether the user exists and has an unverified address. False if `verifyUserEmails` is off.
    public func resendVerification(token: String?, username: String?, _ context: RequestContext) async throws -> Bool {
        guard configuration.accountMail.verifyUserEmails else { return false }
        let start = ContinuousClock.now
        var user: MailUser?
        if let token { user = try await store.accounts.user(with: token, .verification) }
        if user == nil, let username { user = try await store.accounts.user(named: username, .verification) }
        if let user, !user.isVerified, let email = user.email {
            try await sendVerification(to: user, email, context)
            try await AccountMails.level(start)
            return true
        }
        try await AccountMails.level(start)
        return false
    }

    /// `POST /verificationEmailRequest`: sends a new link to an address.
    ///
    /// - Throws: 108 if mail is not fully configured; 204 if the address is missing or 125 if it isn't a string; 205 if
    ///   it has no account or -1 if it is already verified, unless `emailVerifySuccessOnInvalidEmail` is set.
    public func requestVerification(_ body: JSONObject, _ context: RequestContext) async throws {
        let address = try AccountMails.address(in: body)
        try backend.mails.sender()
        let reveals = !configuration.accountMail.emailVerifySuccessOnInvalidEmail
        let start = ContinuousClock.now
        let user = try await backend.users.user(withMail: address, .verification)
        if let user, let email = user.email {
            if user.isVerified {
                if reveals { throw ParseError(ParseError.otherCause, "Email \(address) is already verified.") }
            } else if configuration.accountMail.verifyUserEmails {
                guard !reveals else { return try await sendVerification(to: user, email, context) }
                return try await backend.mails.answer(at: start + AccountMails.levelTime) {
                    try await self.sendVerification(to: user, email, context)
                }
            }
        } else if reveals {
            throw ParseError(ParseError.emailNotFound, "No user found with email \(address)")
        }
        try await AccountMails.level(start)
    }

    private func sendVerification(to user: MailUser, _ email: String, _ context: RequestContext) async throws {
        // Anyone can request links. If each request passes the whole user to app functions, requests are limited.
        let asks = configuration.cloudMain.app?.functions.contains { ![.validatorCallback, .masterKey].contains($0) }
        guard asks != true || backend.mails.allowsLink(to: user, context) else { return }
        let options = configuration.accountMail
        let subject: JSONObject = ["objectId": .string(user.id)]
        guard
            try await isOn(
                .verifyUserEmails, context,
                { ["object": .object(subject), "original": .object(subject), "resendRequest": true] })
        else { return }
        // Evaluated before the token changes. If the function fails, the previous link remains valid.
        let isSent = try await isOn(.sendUserEmailVerification, context, { ["user": .object(subject)] })
        var token = user.token
        if !options.emailVerifyTokenReuseIfValid || token == nil || user.isExpired(at: context.now) {
            let new = AccountMails.mailToken()
            let expiry = AccountMails.expiry(after: options.emailVerifyTokenValidityDuration, context)
            // If the address has changed meanwhile, a link sent to the old address must not verify the new one.
            guard try await store.accounts.setToken(new, expiry: expiry, of: user, .verification) else { return }
            token = new
        }
        guard let token, isSent else { return }
        try await backend.mails.send(.verification, to: email, token: token, of: user.recipient, context)
    }

    /// Marks the address in a save as unverified if it must be verified.
    ///
    /// - Parameter request: The argument for app functions.
    /// - Returns: The token for the link, or nil if the address needs no verification.
    func beginVerification(of save: inout Save, _ request: JSONObject) async throws -> String? {
        let options = configuration.accountMail
        guard options.verifyUserEmails, save.body["email"]?.stringValue?.isEmpty == false else { return nil }
        guard try await isOn(.verifyUserEmails, save.context, { request }) else {
            if !save.isNew {
                // A link sent to the old address must not verify the new one.
                save.hidden["_email_verify_token"] = .null
                save.hidden["_email_verify_token_expires_at"] = .null
            }
            return nil
        }
        let token = AccountMails.mailToken()
        // A trigger may have set `emailVerified`.
        if save.responseFields["emailVerified"] == nil { save.body["emailVerified"] = false }
        save.hidden["_email_verify_token"] = .string(token)
        if let end = AccountMails.expiry(after: options.emailVerifyTokenValidityDuration, save.context) {
            save.hidden["_email_verify_token_expires_at"] = end.json
        }
        return token
    }
}
