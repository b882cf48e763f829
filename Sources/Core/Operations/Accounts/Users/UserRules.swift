import JSON
import Logs
import OrderedCollections
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// Signs up and updates users.
struct UserRules: SaveRules {
    var backend: Backend

    var claims = ProviderClaims()
    private var linking: LoginDataChange?
    /// The `authData` of an update as sent by the client.
    private var sentLoginData: JSONValue?
    /// The providers in an update, recorded as the session's origin.
    private var namedProviders = ""
    private var generatedName: String?
    /// Whether to generate a user name unless a trigger sets one.
    private var needsName = false
    private var changesPassword = false
    var verification: (token: String, username: String, isSent: Bool)?
    /// Whether a new user must verify the address before the first log-in.
    private var isBlocked = false
    /// The user's former address, if it gets a notice.
    var notice: (address: String, username: String)?

    init(backend: Backend) { self.backend = backend }

    mutating func authorize(_ save: inout Save) async throws -> WriteResult? {
        if let objectId = save.objectId {
            // Rejects unauthorized callers before reading the user.
            try await backend.users.authorizeUserUpdate(objectId, save.caller)
            try backend.users.checkEmailVerified(save.body, save.caller)
            save.hidden.merge(try backend.permissions.extractInternalFields(&save.body, save.caller)) { $1 }
            sentLoginData = save.body["authData"]
            if let authData = sentLoginData {
                namedProviders = authData.objectValue?.keys.sorted().texts.joined(separator: ",") ?? ""
                linking = try await backend.providers.linking(
                    authData, to: objectId, with: save.body,
                    setsPassword: save.body["password"]?.stringValue?.isEmpty == false, save.context)
            }
            return nil
        }
        save.hidden = try backend.permissions.extractInternalFields(&save.body, save.caller)
        claims = try await backend.providers.claims(try backend.providers.named(save.body["authData"]))
        if save.isPartOfTransaction, try await backend.providers.isKnown(claims, save.caller) {
            throw Providers.noLogInOfTransaction
        }
        if !claims.identities.isEmpty, let result = try await backend.providers.logIn(with: claims, save.context) {
            return result
        }
        try checkNames(&save)
        try backend.users.checkEmailVerified(save.body, save.caller)
        if let schema = catalog.schema("_User") { _ = try schema.permit(.create, to: save.caller) }
        guard !claims.isEmpty else { return nil }
        let change = try await backend.providers.check(
            claims.claims, stored: [:], for: AuthSubject(changes: save.body), save.context)
        save.body["authData"] = .object(change.added)
        linking = change
        return nil
    }

    /// Sign-ups without a provider need a name and a password. Other sign-ups without a name get a generated one.
    private mutating func checkNames(_ save: inout Save) throws {
        let needsNoPassword = try backend.providers.needsNoPassword(save.body["authData"], save.body, save.caller)
        if claims.isEmpty { save.body["authData"] = nil }
        if claims.identities.isEmpty, !needsNoPassword {
            guard let name = save.body["username"]?.stringValue, !name.isEmpty else {
                throw ParseError(ParseError.usernameMissing, "bad or missing username")
            }
            // An import may provide the hash instead of the password.
            let hasPassword = save.body["password"]?.stringValue?.isEmpty == false
            guard hasPassword || save.hidden["_hashed_password"]?.isTruthy == true else {
                throw ParseError(ParseError.passwordMissing, "password is required")
            }
        } else if save.body["username"]?.stringValue?.isEmpty ?? true {
            needsName = true
        }
    }

    mutating func complete(_ save: inout Save) async throws {
        // Never stored, because all readers of the user would see it.
        save.body["sessionToken"] = nil
        if let objectId = save.objectId {
            try await completeChange(&save, objectId)
        } else {
            try await completeSignUp(&save)
        }
        try backend.users.checkNames(save.body)
    }

    private mutating func completeSignUp(_ save: inout Save) async throws {
        let objectId = try backend.saving.newObjectId(save.body, "_User")
        save.newId = objectId
        if needsName, save.body["username"]?.stringValue?.isEmpty ?? true {
            let name = Identifiers.alphanumeric(25)
            save.body["username"] = .string(name)
            generatedName = name
        }
        if let password = save.body["password"]?.stringValue {
            let columns = try await backend.users.columns(ofNew: password, save.body, save.context)
            save.hidden.merge(columns) { $1 }
        }
        save.body["password"] = nil
        let sentAddress = save.body["email"]?.stringValue
        backend.users.normalizeNames(&save.body)
        if let sentAddress, linking?.vouchedAddresses.contains(Name(sentAddress)) == true {
            // An address verified by the provider needs no link.
            if configuration.accountMail.verifyUserEmails { save.body["emailVerified"] = true }
        } else {
            let username = save.body["username"]?.stringValue ?? ""
            try await beginVerification(&save, ["objectId": .string(objectId)], original: nil, username)
        }
        if claims.identities.isEmpty {
            let user = subject(save, ["objectId": .string(objectId)])
            isBlocked = try await backend.verifications.blocksUnverified(
                createdWith: createdWith, save.context, { user })
        }
        save.acl = try ObjectACL.ofUser(
            save.body["ACL"], objectId: objectId, isPrivate: configuration.enforcePrivateUsers)
    }

    private mutating func completeChange(_ save: inout Save, _ objectId: String) async throws {
        if let value = save.body.removeValue(forKey: "password"), value["__op"]?.stringValue != "Delete", !value.isNull
        {
            guard let password = value.stringValue else {
                throw try ParseError.expectedString("_User.password", value)
            }
            guard !password.isEmpty else { throw ParseError(ParseError.passwordMissing, "password is required") }
            let columns = try await backend.users.columns(ofChanged: password, save.body, objectId, save.context)
            save.hidden.merge(columns) { $1 }
            changesPassword = true
        }
        if let name = save.body["username"],
            name.stringValue?.isEmpty == true || name.isNull || name["__op"]?.stringValue == "Delete"
        {
            throw ParseError(ParseError.usernameMissing, "bad or missing username")
        }
        if changesPassword || save.body["email"] != nil {
            // Reset links sent to the old address, or for the old password, become invalid.
            save.hidden["_perishable_token"] = .null
            save.hidden["_perishable_token_expires_at"] = .null
        }
        let authData = save.body.removeValue(forKey: "authData")
        if authData != sentLoginData {
            linking = try await backend.providers.linking(
                authData, ofTriggerFor: objectId, after: linking, sentLoginData?.objectValue ?? [:])
        }
        save.body["authData"] = try linking.map { .object(try $0.applied(to: $0.base)) }
        backend.users.normalizeNames(&save.body)
        try await completeAddress(&save, objectId)
        // Users can't lock themselves out, but callers with full rights can lock out anyone.
        if save.body["ACL"] != nil, !save.caller.writesEverything {
            save.acl = try ObjectACL.ofUser(
                save.body["ACL"], objectId: objectId, isUpdate: true,
                isPrivate: configuration.enforcePrivateUsers)
        }
    }

    /// Enqueues the user's emails in the transaction that stores the user.
    private func sendMails(_ save: Save) async throws {
        guard let id = save.objectId ?? save.newId else { return }
        let email = save.body["email"]?.stringValue
        if let notice {
            let user = MailRecipient(id: id, username: notice.username, email: email)
            try await backend.mails.notify(.emailChanged, at: notice.address, user, save.context)
        }
        guard let verification, verification.isSent, let email else { return }
        let user = MailRecipient(id: id, username: verification.username, email: email)
        try await backend.mails.send(.verification, to: email, token: verification.token, of: user, save.context)
    }

    /// Stores the user. Names are locked against concurrent writes, and a password changes in the same transaction as
    /// the sessions.
    ///
    /// The unique indexes of parse-server's layout are case-sensitive but names must be unique ignoring case. So a save
    /// that writes a name locks it, ignoring case, until the commit.
    func store(_ planned: PlannedSave) async throws -> WriteResult {
        let save = planned.save
        let names = backend.users.claimedNames(save.body)
        do {
            guard !names.isEmpty || changesPassword || notice != nil || (linking != nil && !save.isNew) else {
                try await backend.users.checkUnique(save.body, except: save.objectId)
                return try await backend.saving.carryOut(planned)
            }
            // The class is created first, because a transaction that has read the table would block its own schema
            // change.
            if changesPassword, !backend.isInTransaction { _ = try await store.ensure("_Session", [:]) }
            return try await backend.transaction(conflictKey: save.objectId ?? names.min()?.text) {
                [changesPassword, linking] backend in
                try await backend.store.accounts.claim(names)
                try await backend.users.checkUnique(save.body, except: save.objectId)
                var planned = planned
                if let linking, let objectId = save.objectId {
                    // Applies the change to the current data, which keeps concurrent changes of other providers and
                    // rejects single-use proofs that were used meanwhile.
                    let stored = try await backend.store.accounts.authData(of: objectId, locks: true)
                    try await backend.providers.checkStillEnters(
                        linking, stored, objectId, setsPassword: changesPassword, save.caller)
                    let data = try linking.applied(to: stored)
                    planned.write?.write.operations["authData"] = .set(.object(data))
                }
                var result = try await backend.saving.carryOut(planned)
                try await over(backend).sendMails(save)
                if changesPassword, let objectId = save.objectId,
                    let token = try await backend.users.replaceSessions(of: objectId, save.context)
                {
                    result.body["sessionToken"] = .string(token)
                }
                return result
            }
        } catch let error as ParseError where error.code == ParseError.usernameTaken && save.isNew {
            backend.logger.event(
                configuration.eventLevels.signupUsernameTaken.rawValue, "sign-up: the user name is taken", metadata: [:]
            )
            throw error
        } catch let error as ParseError
            where error.code == ParseError.objectNotFound && !save.isNew && !save.caller.writesEverything
        {
            throw ParseError.denied(ParseError.sessionMissing, "Insufficient auth.")
        }
    }

    func finish(_ save: Save, _ result: inout WriteResult) async throws {
        if let objectId = save.objectId {
            await backend.caches.invalidate(user: objectId)
            guard let linking, !namedProviders.isEmpty else { return }
            backend.providers.addResponses(of: linking, to: &result.body)
            // Without a session, the update counts as a log-in with the providers, unless it is made for others.
            guard save.caller.userId == nil, !isForOthers(save) else {
                return
            }
            let session = try await backend.sessions.open(
                for: objectId, createdWith: ["action": "login", "authProvider": .string(namedProviders)], save.context)
            result.body["sessionToken"] = .string(session.token)
            return
        }
        if let generatedName { result.body["username"] = .string(generatedName) }
        if let linking { backend.providers.addResponses(of: linking, to: &result.body) }
        if isBlocked, configuration.accountMail.preventSignupWithUnverifiedEmail {
            throw EmailVerifications.emailIsNotVerified
        }
        guard !isForOthers(save), !isBlocked, let objectId = save.newId else { return }
        let session = try await backend.sessions.open(for: objectId, createdWith: createdWith, save.context)
        result.body["sessionToken"] = .string(session.token)
    }

    /// Whether the user is created or linked on behalf of someone else, who logs in separately: by cloud code, or from
    /// preset 9 on with the master key and no installation.
    private func isForOthers(_ save: Save) -> Bool {
        save.caller.isCloudCode
            || save.caller.writesEverything && save.caller.installationId == nil && configuration.preset >= 9
    }
}
