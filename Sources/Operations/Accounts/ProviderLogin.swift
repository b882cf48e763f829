import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules

/// Logging in and linking by what providers say (`authData`).
extension Backend {
    /// Whether a sign-up by what providers say needs no name and password.
    ///
    /// Lines of parse-server before 9 make a user for whoever names no provider, or only some to be unlinked.
    ///
    /// - Throws: 252 where they refuse data without an id.
    func needsNoPassword(_ authData: JSONValue?, _ body: JSONObject, _ caller: Caller) throws(ParseError) -> Bool {
        guard configuration.preset < 9, let given = authData?.objectValue else { return false }
        let isUsable = given.isEmpty || given.values.contains { $0.isNull || $0["id"]?.isTruthy == true }
        let hasPassword = body["username"]?.stringValue != nil && body["password"]?.stringValue != nil
        guard isUsable || hasPassword || caller.writesEverything || caller.userId != nil else {
            throw Self.unsupported
        }
        try checkSupported(given.filter { !$0.value.isNull })
        return true
    }

    /// The providers that bring data, by name.
    ///
    /// - Throws: 252 for data of no form, 162 for an id that is not a text.
    static func providers(_ authData: JSONValue?) throws(ParseError) -> JSONObject {
        guard let authData, !authData.isNull else { return [:] }
        guard let object = authData.objectValue else { throw unsupported }
        var providers: JSONObject = [:]
        for (name, data) in object where !data.isNull {
            guard let fields = data.objectValue else { throw unsupported }
            guard let id = fields["id"], id.isTruthy else { continue }
            guard id.stringValue != nil else {
                throw ParseError(ParseError.invalidValue, "Invalid authData id for provider '\(name)'.")
            }
            providers[name] = data
        }
        return providers
    }

    /// Logs in whoever the providers know already; nil when nobody is known and a new user is to be made.
    ///
    /// - Throws: 208 when the data belong to several users, 252 for unsupported providers.
    func logIn(withProviders providers: JSONObject, _ body: JSONObject, _ context: RequestContext) async throws
        -> WriteResult?
    {
        try await validate(providers)
        let owners = try await owners(of: providers, isForAll: context.caller.readsEverything)
        guard let id = owners.first else { return nil }
        guard owners.count == 1 else {
            throw ParseError(ParseError.accountAlreadyLinked, "this auth is already used")
        }
        if context.caller.isUser(id) {
            // Already logged in: nothing to open, the record is all there is to give.
            let base = configuration.publicServerURL ?? context.mountURL
            return WriteResult(
                status: 200, location: "\(base)/users/\(id)",
                body: try await ownRecord(
                    id,
                    context.caller.user
                        ?? SessionUser(
                            id: id, sessionId: "", token: "", roles: [], isAnonymous: false), context))
        }
        try await callLoginTrigger(.beforeLogin, of: id, context)
        let session = try await openSession(
            for: id,
            createdWith: [
                "action": "login", "authProvider": .string(providers.keys.sorted().texts.joined(separator: ",")),
            ], context)
        var user = try await ownRecord(id, session.user, context)
        user["sessionToken"] = .string(session.token)
        if configuration.preset < 8 { user["authDataResponse"] = [:] }
        try await callLoginTrigger(.afterLogin, of: id, context)
        let base = configuration.publicServerURL ?? context.mountURL
        return WriteResult(status: 200, location: "\(base)/users/\(id)", body: user)
    }

    /// The ids of users who have any of the providers' ids.
    ///
    /// - Parameter isForAll: Whether users whose ACL lets nobody in count: nobody but the master key logs them in.
    private func owners(of providers: JSONObject, isForAll: Bool) async throws -> [String] {
        var owners: Set<Name> = []
        for (name, data) in providers {
            guard let id = data["id"]?.stringValue else { continue }
            owners.formUnion(try await store.users(of: name, id: id, isForAll: isForAll))
        }
        return owners.sorted().texts
    }

    /// The login data of a user after an update: providers with data are linked, `null` unlinks.
    func mergeProviders(_ value: JSONValue, _ objectId: String, _ context: RequestContext) async throws -> JSONObject? {
        guard !value.isNull else { return nil }
        guard let given = value.objectValue else { throw Self.unsupported }
        if given.isEmpty { return nil }
        let known = try await store.authData(of: objectId)
        // What is sent back unchanged needs no check: iOS sends the whole map with every save.
        let changed = given.filter { !$0.value.isNull && known[$0.key] != $0.value }
        let providers = try Self.providers(.object(changed))
        try await validate(changed)
        for owner in try await owners(of: providers, isForAll: true) where !owner.hasSameBytes(as: objectId) {
            throw ParseError(ParseError.accountAlreadyLinked, "this auth is already used")
        }
        var merged = known.filter { !$0.value.isNull }
        for (name, data) in given {
            if data.isNull { merged.removeValue(forKey: name) } else { merged[name] = data }
        }
        return merged
    }
}
