import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules
import Tasks

/// Logging in and out.
extension Backend {
    /// Logs a user in by name or mail address and password.
    ///
    /// - Returns: The user with a new session token, as JSON.
    public func logIn(_ parameters: JSONObject, _ context: RequestContext) async throws -> [UInt8] {
        let (candidate, change) = try await checkPassword(parameters, context) { candidate in
            try await checkFactors(parameters["authData"], of: candidate, context)
        }
        try await checkAge(candidate, context)
        if change.refusal != nil { try await apply(change, to: candidate.id) }
        try await callUserTrigger(.beforeLogin, of: candidate.id, context)
        try await apply(change, to: candidate.id)
        let session = try await openSession(
            for: candidate.id, createdWith: ["action": "login", "authProvider": "password"], context)
        try await checkStillValid(candidate, session)
        var members: JSONObject = ["sessionToken": .string(session.token)]
        if !change.responses.isEmpty { members["authDataResponse"] = .object(change.responses) }
        let user = try await ownRecord(candidate.id, session.user, members, context)
        try await callUserTrigger(.afterLogin, of: candidate.id, session: session.user, context)
        return user
    }

    private static let invalidPassword = ParseError(ParseError.objectNotFound, "Invalid username/password.")

    /// Ends a session that was opened by a password that was changed while it was compared: who changed it ended all
    /// sessions that there were.
    ///
    /// - Throws: 101.
    private func checkStillValid(_ candidate: LoginCandidate, _ session: OpenedSession) async throws {
        // The lock waits for a change that is under way.
        guard try await !store.hasPassword(candidate.id, hash: candidate.hash ?? "") else { return }
        try await store.deleteAll(
            "_Session", where: .field(FieldPath("objectId"), .equal(.string(session.user.sessionId))))
        await invalidate(user: candidate.id)
        throw Self.invalidPassword
    }

    /// Checks a password and gives the user, without opening a session.
    ///
    /// - Returns: The user, as JSON.
    public func verifyPassword(_ parameters: JSONObject, _ context: RequestContext) async throws -> [UInt8] {
        let id = try await checkPassword(parameters, context) { _ in nil }.candidate.id
        return try await ownRecord(
            id, SessionUser(id: id, sessionId: "", token: "", roles: try await roles(of: id), isAnonymous: false),
            [:], context)
    }

    /// The login data of the user whose name and password these are.
    func loginData(ofPassword parameters: JSONObject, _ context: RequestContext) async throws -> JSONObject {
        try await checkPassword(parameters, context) { _ in nil }.candidate.loginData
    }

    /// Opens a session for a user with the master key.
    ///
    /// - Returns: The user with the session token, as JSON.
    public func logIn(as parameters: JSONObject, _ context: RequestContext) async throws -> [UInt8] {
        guard context.caller.power == .master else {
            throw ParseError.denied(ParseError.operationForbidden, "master key is required")
        }
        guard let id = parameters["userId"]?.stringValue, !id.isEmpty else {
            throw ParseError(ParseError.invalidValue, "userId must not be empty, null, or undefined")
        }
        var request = ObjectStore.FindRequest(className: "_User")
        request.filter = .field(FieldPath("objectId"), .equal(.string(id)))
        guard try await store.find(request).rowCount > 0 else {
            throw ParseError(ParseError.objectNotFound, "user not found")
        }
        let session = try await openSession(
            for: id, createdWith: ["action": "login", "authProvider": "masterkey"], context)
        return try await ownRecord(id, session.user, ["sessionToken": .string(session.token)], context)
    }

    /// A user's record as the user sees it, as JSON: no values are made of it.
    ///
    /// - Parameter members: What the answer has besides.
    func ownRecord(_ id: String, _ user: SessionUser, _ members: JSONObject, _ context: RequestContext) async throws
        -> [UInt8]
    {
        guard let found = try await ownRow(id, user, context) else {
            let known: JSONObject = ["objectId": .string(id)]
            return JSONValue.object(known.merging(members) { $1 }).serialized()
        }
        return try await HeavyWork.run(if: found.isHeavy) {
            var writer = JSONWriter(capacity: max(1024, found.size))
            try found.write(0, extra: members.map { JSONValue.member($0.key, $0.value) }, into: &writer)
            return writer.take()
        }
    }

    /// A user's record as the user sees it, as values.
    func ownRecord(_ id: String, _ user: SessionUser, _ context: RequestContext) async throws -> JSONObject {
        try await ownRow(id, user, context)?.objects.first ?? ["objectId": .string(id)]
    }

    /// A user's row as the user sees it; nil where the user does not.
    ///
    /// From preset 9 on it is read with the user's own rights: class permissions and protected fields apply.
    private func ownRow(_ id: String, _ user: SessionUser, _ context: RequestContext) async throws
        -> ObjectStore.Found?
    {
        var own = context
        own.caller = configuration.preset >= 9 ? Caller(user: user) : .server
        do {
            return try await found("_User", id, own, loginData: loginDataView)
        } catch let error as ParseError
            where error.code == ParseError.operationForbidden || error.code == ParseError.objectNotFound
        {
            return nil
        }
    }

    /// The user whose name and password these are, and what becomes of the login data by what is proved besides.
    ///
    /// - Parameter prove: Checks what is proved besides, while a wrong proof still counts like a wrong password; nil where
    ///   nothing is asked for.
    private func checkPassword(
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
        guard let row = try await loginCandidate(username: username, email: address) else {
            try reserveAttempt(ofUnknown: username, address)
            // As long as a real comparison takes, so that time does not tell whether the name exists.
            _ = try await passwords.verify(password, hash: nil, from: context.address)
            throw Self.invalidPassword
        }
        try await reserveAttempt(of: row.id, context)
        let isRight: Bool
        do {
            isRight = try await passwords.verify(password, hash: affordableHash(row), from: context.address)
        } catch {
            await releaseAttempt(of: row.id)
            throw error
        }
        guard isRight else { throw Self.invalidPassword }
        let change = try await prove(row)
        // The password alone clears no wrong codes of a second factor.
        if change.map({ $0.refusal == nil }) ?? !hasFactors(row.loginData) {
            try await resetAttempts(of: row.id)
        } else {
            await releaseAttempt(of: row.id)
        }
        guard context.caller.readsEverything || !row.isLockedAway else { throw Self.invalidPassword }
        let isExempt = context.caller.writesEverything && parameters["ignoreEmailVerification"] == true
        guard !blocksUnverified || row.isVerified || isExempt else { throw Self.emailIsNotVerified }
        return (row, change ?? LoginDataChange())
    }

    /// Who has not sent a second factor yet has made no attempt: apps ask for it when they learn that it is missing.
    private func checkFactors(_ authData: JSONValue?, of row: LoginCandidate, _ context: RequestContext) async throws
        -> LoginDataChange
    {
        do {
            return try await checkLogin(authData, of: row.id, stored: row.loginData, context)
        } catch let error as ParseError where error.code == -1 {
            await releaseAttempt(of: row.id)
            throw error
        }
    }

    /// The hash that a user's password is compared with, if it can be.
    private func affordableHash(_ row: LoginCandidate) -> BcryptHash? {
        guard let hash = row.hash.flatMap({ BcryptHash($0) }) else { return nil }
        guard hash.isAffordable else {
            logger.warning(
                "the hash of a user's password is too dear to compute: the password is taken for wrong",
                metadata: ["user": "\(row.id)", "cost": "\(hash.cost)", "highest": "\(BcryptHash.highestCost)"])
            return nil
        }
        return hash
    }

    /// Passwords grow too old from the day that is noted; where none is, that day is today.
    private func checkAge(_ row: LoginCandidate, _ context: RequestContext) async throws {
        guard let days = configuration.passwordPolicy?.maxPasswordAge else { return }
        guard let changedAt = row.passwordChangedAt else {
            try await store.setPasswordDate(of: row.id, to: context.now)
            return
        }
        if Double(context.now.milliseconds - changedAt) > days * 86_400_000 {
            throw ParseError(
                ParseError.objectNotFound, "Your password has expired. Please reset your password.")
        }
    }

    /// Ends the caller's session.
    public func logOut(_ context: RequestContext) async throws {
        guard let user = context.caller.user else { return }
        let after = await logoutTrigger(of: user.sessionId, context)
        try await changes.reporting("_Session", user.sessionId, by: context.caller) {
            let wants = changes.wants("_Session")
            guard wants.isEmpty else {
                return ((), try await store.delete("_Session", objectId: user.sessionId, wants: wants))
            }
            _ = try await store.delete("_Session", objectId: user.sessionId)
            return ((), nil)
        }
        await invalidate(user: user.id)
        // Clients close their live queries with the answer: that the session ended reaches them before.
        await userChanges.settle(user.id)
        try await after?()
    }

    /// The caller's own record, as `GET /users/me` gives it.
    ///
    /// It is remembered with the session: whatever changes a user makes its sessions forgotten.
    /// - Throws: 209 without a user.
    public func me(_ context: RequestContext) async throws -> [UInt8] {
        guard let user = context.caller.user else {
            throw ParseError(
                ParseError.invalidSessionToken, "Invalid session token", publicMessage: "Permission denied")
        }
        let schemaVersion = catalog.version
        if !isInTransaction, let known = user.record, known.mountURL == context.mountURL,
            known.schemaVersion == schemaVersion
        {
            return known.bytes
        }
        var members: JSONObject = ["sessionToken": .string(user.token)]
        if configuration.preset < 9 {
            // These servers read the user as an included object.
            members["__type"] = "Object"
            members["className"] = "_User"
        }
        let bytes = try await ownRecord(user.id, user, members, context)
        if !isInTransaction, bytes.count <= Self.largestRecord {
            user.record = SessionUser.Record(bytes: bytes, mountURL: context.mountURL, schemaVersion: schemaVersion)
        }
        return bytes
    }

    /// Records of more bytes are not remembered, as there may be many of them.
    private static let largestRecord = 16 * 1024
}
