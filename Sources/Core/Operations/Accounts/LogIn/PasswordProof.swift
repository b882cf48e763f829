import JSON
import Logging
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// Checks a user name or email address with its password, for log-ins, `verifyPassword` and `/challenge`.
struct PasswordProof: Sendable, BackendPart {
    let backend: Backend

    static let invalidPassword = ParseError(ParseError.objectNotFound, "Invalid username/password.")

    /// Checks the password and any additional proof.
    ///
    /// - Parameter prove: Checks the additional proof, or returns nil if none is needed. Its failures count like wrong
    ///   passwords unless it releases the attempt.
    /// - Returns: The user, and the changes to the user's `authData`.
    func check(
        _ parameters: JSONObject, _ context: RequestContext, prove: (LoginCandidate) async throws -> LoginDataChange?
    ) async throws -> (candidate: LoginCandidate, change: LoginDataChange) {
        let name = parameters["username"]
        let email = parameters["email"]
        guard name?.isTruthy == true || email?.isTruthy == true else {
            throw ParseError(ParseError.usernameMissing, "username/email is required.")
        }
        guard let secret = parameters["password"], secret.isTruthy else {
            throw ParseError(ParseError.passwordMissing, "password is required.")
        }
        guard let password = secret.stringValue, name?.isTruthy != true || name?.stringValue != nil,
            email?.isTruthy != true || email?.stringValue != nil
        else { throw Self.invalidPassword }
        let username = name?.stringValue ?? ""
        let address = email?.stringValue ?? ""
        guard let row = try await backend.users.loginCandidate(username: username, email: address) else {
            try await backend.lockout.reserveAttempt(ofUnknown: username, address, context)
            // Takes as long as a real comparison, so that the response time doesn't reveal whether the name exists.
            _ = try await services.passwords.verify(password, hash: nil, from: context.address)
            throw Self.invalidPassword
        }
        try await backend.lockout.reserveAttempt(of: row.id, context)
        let isRight: Bool
        do {
            isRight = try await services.passwords.verify(password, hash: affordableHash(row), from: context.address)
        } catch {
            await backend.lockout.releaseAttempt(of: row.id)
            throw error
        }
        guard isRight else { throw Self.invalidPassword }
        let change = try await prove(row)
        // A correct password alone doesn't reset the count of wrong second-factor codes.
        if change.map({ $0.refusal == nil }) ?? !backend.providers.hasFactors(row.loginData) {
            try await backend.lockout.resetAttempts(of: row.id)
        } else {
            await backend.lockout.releaseAttempt(of: row.id)
        }
        guard context.caller.readsEverything || !row.isLockedAway else { throw Self.invalidPassword }
        let isExempt = context.caller.writesEverything && parameters["ignoreEmailVerification"] == true
        if !row.isVerified, !isExempt,
            try await backend.verifications.blocksUnverified(
                createdWith: ["action": "login", "authProvider": "password"], context,
                { ["objectId": .string(row.id)] })
        {
            throw EmailVerifications.emailIsNotVerified
        }
        return (row, change ?? LoginDataChange())
    }

    /// Checks the second factors. A log-in without a required factor doesn't count as an attempt, because apps learn
    /// that way that the factor is missing.
    func checkFactors(_ authData: JSONValue?, of row: LoginCandidate, _ context: RequestContext) async throws
        -> LoginDataChange
    {
        do {
            return try await backend.providers.checkLogin(authData, of: row.id, stored: row.loginData, context)
        } catch let error as ParseError where error.code == -1 {
            await backend.lockout.releaseAttempt(of: row.id)
            throw error
        }
    }

    private func affordableHash(_ row: LoginCandidate) -> BcryptHash? {
        guard let hash = row.hash.flatMap({ BcryptHash($0) }) else { return nil }
        guard hash.isAffordable else {
            logger.warning(
                "password hash exceeds the cost limit, log-in rejected",
                metadata: ["user": "\(row.id)", "cost": "\(hash.cost)", "highest": "\(BcryptHash.highestCost)"])
            return nil
        }
        return hash
    }

    /// Checks the age of the password. A password without a date starts aging now.
    ///
    /// - Throws: 101 if the password is too old.
    func checkAge(_ row: LoginCandidate, _ context: RequestContext) async throws {
        guard let days = configuration.passwordPolicy?.maxPasswordAge else { return }
        guard let changedAt = row.passwordChangedAt else {
            try await store.accounts.setPasswordDate(of: row.id, to: context.now)
            return
        }
        if Double(context.now.milliseconds - changedAt) > days * 86_400_000 {
            throw ParseError(
                ParseError.objectNotFound, "Your password has expired. Please reset your password.")
        }
    }
}
