import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Postgres
import Rules

/// Logging in and out.
extension Backend {
    private static let loginStatement = """
        SELECT "objectId", "_hashed_password", "username" = $1 AS "byName", "_rperm", "_wperm", "_password_changed_at"
        FROM "_User"
        """

    /// Logs a user in by name or mail address and password.
    ///
    /// - Returns: The user with a new session token.
    public func logIn(_ parameters: JSONObject, _ context: RequestContext) async throws -> JSONObject {
        let candidate = try await checkPassword(parameters, context)
        let session = try await openSession(
            for: candidate.id, createdWith: ["action": "login", "authProvider": "password"], context)
        try await checkStillValid(candidate, session)
        var user = try await ownRecord(candidate.id, session.user, context)
        user["sessionToken"] = .string(session.token)
        return user
    }

    private static let invalidPassword = ParseError(ParseError.objectNotFound, "Invalid username/password.")

    /// Ends a session that was opened by a password that was changed while it was compared: who changed it ended all
    /// sessions that there were.
    ///
    /// - Throws: 101.
    private func checkStillValid(_ candidate: Candidate, _ session: OpenedSession) async throws {
        // The lock waits for a change that is under way.
        let rows = try await store.query(
            Statement(
                "SELECT 1 FROM \"_User\" WHERE \"objectId\" = $1 AND \"_hashed_password\" = $2 FOR SHARE",
                [.text(candidate.id), .text(candidate.hash ?? "")]))
        guard rows.rowCount == 0 else { return }
        try await store.deleteAll(
            "_Session", where: .field(FieldPath("objectId"), .equal(.string(session.user.sessionId))))
        await invalidate(user: candidate.id)
        throw Self.invalidPassword
    }

    /// Checks a password and gives the user, without opening a session.
    public func verifyPassword(_ parameters: JSONObject, _ context: RequestContext) async throws -> JSONObject {
        let id = try await checkPassword(parameters, context).id
        return try await ownRecord(
            id, SessionUser(id: id, sessionId: "", token: "", roles: try await roles(of: id), isAnonymous: false),
            context)
    }

    /// Opens a session for a user with the master key.
    public func logIn(as parameters: JSONObject, _ context: RequestContext) async throws -> JSONObject {
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
        var user = try await ownRecord(id, session.user, context)
        user["sessionToken"] = .string(session.token)
        return user
    }

    /// A user's record as the user sees it.
    ///
    /// From preset 9 on it is read with the user's own rights: class permissions and protected fields apply.
    func ownRecord(_ id: String, _ user: SessionUser, _ context: RequestContext) async throws -> JSONObject {
        var own = context
        own.caller = configuration.preset >= 9 ? Caller(user: user) : .server
        do {
            return try await object("_User", id, own)
        } catch let error as ParseError
            where error.code == ParseError.operationForbidden || error.code == ParseError.objectNotFound
        {
            return ["objectId": .string(id)]
        }
    }

    /// The user whose name and password these are.
    private func checkPassword(_ parameters: JSONObject, _ context: RequestContext) async throws -> Candidate {
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
        guard let row = try await candidate(name?.stringValue ?? "", email?.stringValue ?? "") else {
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
        try await resetAttempts(of: row.id)
        guard context.caller.readsEverything || !row.isLockedAway else { throw Self.invalidPassword }
        try await checkAge(row, context)
        return row
    }

    /// The hash that a user's password is compared with, if it can be.
    private func affordableHash(_ row: Candidate) -> BcryptHash? {
        guard let hash = row.hash.flatMap({ BcryptHash($0) }) else { return nil }
        guard hash.isAffordable else {
            logger.warning(
                "the hash of a user's password is too dear to compute: the password is taken for wrong",
                metadata: ["user": "\(row.id)", "cost": "\(hash.cost)", "highest": "\(BcryptHash.highestCost)"])
            return nil
        }
        return hash
    }

    private struct Candidate {
        var id: String
        var hash: String?
        /// An empty ACL: only the master key reaches this user.
        var isLockedAway: Bool
        /// When the password was set, where that is noted.
        var passwordChangedAt: Int64?
    }

    /// Both given, both must fit; a name alone may also be the mail address, but whoever bears it as name comes first.
    private func candidate(_ name: String, _ email: String) async throws -> Candidate? {
        guard !name.utf8.contains(0), !email.utf8.contains(0) else { return nil }
        let condition =
            if email.isEmpty {
                "\"username\" = $1 OR \"email\" = $1"
            } else if name.isEmpty {
                "\"email\" = $2 AND $1 = ''"
            } else {
                "\"username\" = $1 AND \"email\" = $2"
            }
        let parameters: [PostgresParameter] = email.isEmpty ? [.text(name)] : [.text(name), .text(email)]
        let rows: PostgresResult
        do {
            rows = try await store.query(
                "\(Self.loginStatement) WHERE \(condition) ORDER BY 3 DESC LIMIT 1", parameters, readOnly: true)
        } catch let error as PostgresError {
            throw store.failure(error)
        }
        guard rows.rowCount > 0, let id = rows.string(0, 0) else { return nil }
        let isLockedAway = rows.textArray(0, 3)?.isEmpty == true && rows.textArray(0, 4)?.isEmpty == true
        return Candidate(
            id: id, hash: rows.string(0, 1), isLockedAway: isLockedAway,
            passwordChangedAt: rows.timestamp(0, 5))
    }

    /// Passwords grow too old from the day that is noted; where none is, that day is today.
    private func checkAge(_ row: Candidate, _ context: RequestContext) async throws {
        guard let days = configuration.passwordPolicy?.maxPasswordAge else { return }
        guard let changedAt = row.passwordChangedAt else {
            _ = try await store.query(
                "UPDATE \"_User\" SET \"_password_changed_at\" = $1 WHERE \"objectId\" = $2",
                [.timestamp(milliseconds: context.now.milliseconds), .text(row.id)])
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
        try await store.deleteAll(
            "_Session", where: .field(FieldPath("objectId"), .equal(.string(user.sessionId))))
        await invalidate(user: user.id)
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
        var record = try await ownRecord(user.id, user, context)
        record["sessionToken"] = .string(user.token)
        if configuration.preset < 9 {
            // These servers read the user as an included object.
            record["__type"] = "Object"
            record["className"] = "_User"
        }
        let bytes = JSONValue.object(record).serialized()
        if !isInTransaction, bytes.count <= Self.largestRecord {
            user.record = SessionUser.Record(bytes: bytes, mountURL: context.mountURL, schemaVersion: schemaVersion)
        }
        return bytes
    }

    /// Records of more bytes are not remembered, as there may be many of them.
    private static let largestRecord = 16 * 1024
}
