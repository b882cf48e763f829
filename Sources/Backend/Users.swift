import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Postgres

/// Signing up, and changing a user.
extension Backend {
    /// Makes a user, or logs one in whom a login provider already knows.
    func createUser(_ body: JSONObject, _ context: RequestContext) async throws -> WriteResult {
        let caller = context.caller
        var body = body
        var hidden = try takeInternalFields(&body, caller)
        let providers = try Self.providers(body["authData"])
        if !providers.isEmpty, let result = try await logIn(withProviders: providers, body, context) { return result }
        var generatedName: String?
        let needsNoPassword = try needsNoPassword(body["authData"], body, caller)
        if providers.isEmpty { body["authData"] = nil }
        if providers.isEmpty, !needsNoPassword {
            guard let name = body["username"]?.stringValue, !name.isEmpty else {
                throw ParseError(ParseError.usernameMissing, "bad or missing username")
            }
            // Who moves users brings the hash in place of the password.
            guard body["password"]?.stringValue?.isEmpty == false || hidden["_hashed_password"]?.isTruthy == true else {
                throw ParseError(ParseError.passwordMissing, "password is required")
            }
        } else if body["username"]?.stringValue?.isEmpty ?? true {
            let name = Identifiers.alphanumeric(25)
            body["username"] = .string(name)
            generatedName = name
        }
        try checkEmailVerified(body, caller)
        if let schema = catalog.schema("_User") { _ = try permit(.create, on: schema, caller) }
        let objectId = try newObjectId(body, "_User")
        if let password = body["password"]?.stringValue {
            for (column, value) in try await columns(ofNew: password, body, context) { hidden[column] = value }
        }
        body["password"] = nil
        normalizeNames(&body)
        let acl = try userACL(body["ACL"], objectId: objectId)
        var result = try await claimingNames(body, nil, context) { [body, hidden] backend in
            try await backend.checkUnique(body, except: nil)
            return try await backend.insert("_User", body, context, hidden: hidden, acl: acl, id: objectId)
        }
        if let generatedName { result.body["username"] = .string(generatedName) }
        if !providers.isEmpty, configuration.preset < 8 { result.body["authDataResponse"] = [:] }
        // With the master key users are made for others, who log in by themselves; servers before 9 did not say so.
        let isForOthers = caller.writesEverything && caller.installationId == nil && configuration.preset >= 9
        if !isForOthers {
            let action = providers.isEmpty ? "signup" : "login"
            let provider = providers.isEmpty ? "password" : providers.keys.sorted().texts.joined(separator: ",")
            result.body["sessionToken"] = .string(
                try await openSession(
                    for: objectId, createdWith: ["action": .string(action), "authProvider": .string(provider)], context
                ).token)
        }
        return result
    }

    /// Changes a user: their own record, or anybody's with the master key.
    func updateUser(_ objectId: String, _ body: JSONObject, _ context: RequestContext) async throws -> WriteResult {
        let caller = context.caller
        // Whoever may not change the record is told before anything of it is looked at.
        try await authorizeUserUpdate(objectId, caller)
        var body = body
        try checkEmailVerified(body, caller)
        var hidden = try takeInternalFields(&body, caller)
        var passwordChanged = false
        if let value = body.removeValue(forKey: "password"), value["__op"]?.stringValue != "Delete", !value.isNull {
            guard let password = value.stringValue else {
                let type = try FieldType.inferred(from: value) ?? .object
                throw ParseError(
                    ParseError.incorrectType, "schema mismatch for _User.password; expected String but got \(type)")
            }
            guard !password.isEmpty else { throw ParseError(ParseError.passwordMissing, "password is required") }
            for (column, value) in try await columns(ofChanged: password, body, objectId, context) {
                hidden[column] = value
            }
            passwordChanged = true
        }
        for (key, error) in [("username", "bad or missing username")] {
            guard let value = body[key] else { continue }
            if value.stringValue?.isEmpty == true || value.isNull || value["__op"]?.stringValue == "Delete" {
                throw ParseError(ParseError.usernameMissing, error)
            }
        }
        if passwordChanged || body["email"] != nil {
            hidden["_perishable_token"] = .null
            hidden["_perishable_token_expires_at"] = .null
        }
        var linked: JSONObject?
        if let authData = body.removeValue(forKey: "authData") {
            linked = try await mergeProviders(authData, objectId, context)
            body["authData"] = linked.map { .object($0) }
        }
        normalizeNames(&body)
        // Users cannot lock themselves out; whoever has the master key can lock out anybody.
        let acl =
            body["ACL"] == nil || caller.writesEverything
            ? nil : try userACL(body["ACL"], objectId: objectId, isUpdate: true)
        var answer: JSONObject
        do {
            answer = try await claimingNames(body, objectId, isWhole: passwordChanged, context) {
                [body, hidden, passwordChanged] backend in
                try await backend.checkUnique(body, except: objectId)
                var answer = try await backend.modify("_User", objectId, body, context, hidden: hidden, acl: acl)
                guard passwordChanged else { return answer }
                if let token = try await backend.replaceSessions(of: objectId, context) {
                    answer["sessionToken"] = .string(token)
                }
                return answer
            }
        } catch let error as ParseError where error.code == ParseError.objectNotFound && !caller.writesEverything {
            throw ParseError.denied(ParseError.sessionMissing, "Insufficient auth.")
        }
        // At once, because what follows may fail.
        await forget(user: objectId)
        if linked != nil, configuration.preset < 8 { answer["authDataResponse"] = [:] }
        return WriteResult(status: 200, location: nil, body: answer)
    }

    /// Ends the sessions of a user whose password was changed, and opens a new one for a client.
    ///
    /// - Returns: The token of the new session.
    private func replaceSessions(of userId: String, _ context: RequestContext) async throws -> String? {
        if configuration.revokeSessionOnPasswordReset {
            try await store.deleteAll("_Session", where: Self.sessions(of: userId))
            await forget(user: userId)
        }
        guard !context.caller.writesEverything else { return nil }
        return try await openSession(
            for: userId, createdWith: ["action": "signup", "authProvider": "password"], context
        ).token
    }

    /// Whether a caller may change a user's record at all: their own, or one whose ACL lets them.
    func authorizeUserUpdate(_ objectId: String, _ caller: Caller) async throws {
        guard caller.writesEverything || caller.userId != nil else {
            throw ParseError.denied(ParseError.sessionMissing, "Cannot modify user \(objectId).")
        }
        try await checkWriter(of: objectId, caller)
        if let schema = catalog.schema("_User") { _ = try permit(.update, on: schema, caller) }
    }

    private func checkWriter(of objectId: String, _ caller: Caller) async throws {
        guard !caller.writesEverything, !caller.isUser(objectId) else { return }
        var request = ObjectStore.FindRequest(className: "_User")
        request.filter = .field(FieldPath("objectId"), .equal(.string(objectId)))
        request.limit = 1
        let acl = try await store.find(request).objects.first?["ACL"]?.objectValue
        let isWritable = acl.map { acl in caller.principals.contains { acl[$0]?["write"] == true } } ?? false
        guard isWritable else { throw ParseError.denied(ParseError.sessionMissing, "Insufficient auth.") }
    }

    /// All sessions of a user.
    static func sessions(of userId: String) -> Filter {
        .field(FieldPath("user"), .equal(Pointer(className: "_User", objectId: userId).json))
    }

    private func checkEmailVerified(_ body: JSONObject, _ caller: Caller) throws(ParseError) {
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

    /// Runs a write while nobody else can take the names that it brings.
    ///
    /// The indexes of parse-server's layout tell names apart by the case of their letters, the rule does not: so whoever
    /// writes a name holds a lock on it, in any case, until the write is committed.
    ///
    /// - Parameters:
    ///   - objectId: The user who is changed; nil for a new one.
    ///   - isWhole: Whether the write is a transaction even if it brings no names.
    private func claimingNames<R: Sendable>(
        _ body: JSONObject, _ objectId: String?, isWhole: Bool = false, _ context: RequestContext,
        _ work: @escaping @Sendable (Backend) async throws -> R
    ) async throws -> R {
        let names = claimedNames(body)
        guard !names.isEmpty || isWhole else { return try await work(self) }
        for name in names { _ = try ValueText.checked(name.text) }
        // Missing fields are made before: a transaction that reads the table would lock out the change of it.
        let isCreating = objectId == nil
        _ = try await prepare(
            "_User", try operations(body, "_User", isCreating: isCreating), context.caller, isCreating: isCreating,
            objectId: objectId)
        if isWhole, !isInTransaction { _ = try await store.ensure("_Session", [:]) }
        return try await transaction(row: objectId) { backend in
            for claim in Self.claims(names) { _ = try await backend.store.query(claim) }
            return try await work(backend)
        }
    }

    /// The names that a write of a user brings.
    func claimedNames(_ body: JSONObject) -> Set<Name> {
        Set(["username", "email"].compactMap { body[$0]?.nameValue })
    }

    /// The statements that lock names, in any case of their letters, in one order, so that two who write the same names
    /// do not wait for each other.
    static func claims(_ names: Set<Name>) -> [Statement] {
        let names = names.filter { !$0.utf8.contains(0) }
        guard !names.isEmpty else { return [] }
        return [
            Statement(
                """
                SELECT pg_advisory_xact_lock(key) FROM (
                    SELECT DISTINCT hashtextextended(roost_fold(name), 1) AS key FROM unnest($1::text[]) AS name
                    ORDER BY 1) AS keys
                """, [.textArray(names.texts)])
        ]
    }

    /// User names and mail addresses are taken in any case of their letters, those beyond ASCII included: by Unicode's
    /// simple case folding, which `roost_fold` has of its own, since `lower` knows only ASCII where lc_ctype is C.
    private func checkUnique(_ body: JSONObject, except objectId: String?) async throws {
        if let name = body["username"]?.stringValue, try await isTaken("username", name, except: objectId) {
            throw ParseError(ParseError.usernameTaken, "Account already exists for this username.")
        }
        guard let email = body["email"], !email.isNull, email["__op"]?.stringValue != "Delete" else { return }
        guard let address = email.stringValue else {
            let type = try FieldType.inferred(from: email) ?? .object
            throw ParseError(
                ParseError.incorrectType, "schema mismatch for _User.email; expected String but got \(type)")
        }
        if !address.isEmpty {
            let scalars = address.unicodeScalars
            guard scalars.dropFirst().dropLast().contains("@"), !scalars.contains(where: Self.isNewline) else {
                throw ParseError(ParseError.invalidEmailAddress, "Email address format is invalid.")
            }
        }
        if try await isTaken("email", address, except: objectId) {
            throw ParseError(ParseError.emailTaken, "Account already exists for this email address.")
        }
    }

    private static func isNewline(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\n"..."\r", "\u{85}", "\u{2028}", "\u{2029}": true
        default: false
        }
    }

    private func isTaken(_ column: String, _ value: String, except objectId: String?) async throws -> Bool {
        guard !value.utf8.contains(0) else {
            throw ParseError(ParseError.invalidJSON, "Strings cannot contain the NUL character")
        }
        let rows = try await store.query(
            "SELECT 1 FROM \"_User\" WHERE roost_fold(\"\(column)\") = roost_fold($1) AND \"objectId\" <> $2 LIMIT 1",
            [.text(value), .text(objectId ?? "")], readOnly: true)
        return rows.rowCount > 0
    }

    /// The ACL of a user: always readable and writable by the user, and readable by all where users are public.
    func userACL(_ value: JSONValue?, objectId: String, isUpdate: Bool = false) throws(ParseError) -> ACL? {
        if isUpdate, value?.isNull ?? true { return nil }
        var acl: ACL
        if let value, value.isTruthy, let given = try Self.acl(value) {
            acl = given
        } else {
            acl = ACL()
            if !configuration.enforcePrivateUsers, !isUpdate { acl.readers.append("*") }
        }
        if !acl.readers.contains(objectId) { acl.readers.append(Name(objectId)) }
        if !acl.writers.contains(objectId) { acl.writers.append(Name(objectId)) }
        return acl
    }
}
