import JSON
import ParseModel
import Rules

/// The user that a request is about, for JavaScript adapters of the app.
struct AuthSubject: Sendable {
    /// The user's id, or nil for a new user or one not identified yet.
    var id: String?
    /// The fields that the request writes.
    var changes: JSONObject = [:]
    /// Whether the client logs in as the user.
    var isLogin = false
    /// Whether the request is for a challenge.
    var isChallenge = false
}

/// The request data passed to JavaScript adapters of the app in addition to the `authData`.
package struct ModuleRequest: Sendable {
    package let address: String
    package let installationId: String?
    /// The HTTP header fields without server keys, passwords and cookies.
    package let headers: JSONObject
    /// The stored user without secrets and built-in providers' `authData`, or nil if the user is new or not identified.
    /// Contains only the id if the caller may not see more.
    package fileprivate(set) var stored: JSONObject?
    /// Whether the adapter gets the stored user as the original.
    package fileprivate(set) var hasOriginal = false
    /// The fields that the request writes, or nil if the request isn't about a user.
    package fileprivate(set) var changes: JSONObject?
    /// Whether the user is the caller.
    package fileprivate(set) var isCaller = false
    /// The caller, or nil if nobody is logged in or the caller is the stored user.
    package fileprivate(set) var user: JSONObject?
    package fileprivate(set) var isChallenge = false

    fileprivate init(_ context: RequestContext) {
        address = context.address
        installationId = context.caller.installationId
        headers = context.facts?.headerFields ?? [:]
    }
}

extension Providers {
    /// Returns the request for JavaScript adapters of the app, or nil if no claim is for such an adapter.
    func moduleRequest(
        for claims: [ProviderClaims.Claim], of subject: AuthSubject, _ context: RequestContext
    ) async throws -> ModuleRequest? {
        let own = claims.filter { $0.provider.runsModule }
        guard !own.isEmpty else { return nil }
        var request = try await moduleRequest(of: subject, context)
        var sent: JSONObject = [:]
        for claim in own { sent[claim.name] = .object(claim.data) }
        request.changes?["authData"] = .object(sent)
        return request
    }

    /// Returns the request for JavaScript adapters of the app.
    ///
    /// - Parameter subject: The user, or nil for a challenge without a user.
    func moduleRequest(of subject: AuthSubject?, _ context: RequestContext) async throws -> ModuleRequest {
        var request = ModuleRequest(context)
        request.isChallenge = subject?.isChallenge ?? true
        if let subject {
            let secrets: Set<Name> = ["password", "authData", "sessionToken"]
            request.changes = subject.changes.filter { !secrets.contains($0.key) }
            if let id = subject.id {
                request.isCaller = context.caller.isUser(id)
                request.hasOriginal = subject.isLogin || request.isCaller || context.caller.writesEverything
                request.stored = request.hasOriginal ? try await storedUser(id, context) : ["objectId": .string(id)]
            }
        }
        if !request.isCaller, var user = try await backend.triggers.withUser(context).userRecord {
            for name in ["sessionToken", "authData"] as [Name] { user[name] = nil }
            request.user = user
        }
        return request
    }

    private func storedUser(_ id: String, _ context: RequestContext) async throws -> JSONObject {
        // Early versions of parse-server stored session tokens in users.
        var access = ReadAccess(hidden: ["sessionToken"])
        access.loginData = { [services] stored in
            stored.filter { services.authProviders[$0.key]?.runsModule == true }
        }
        return try await backend.triggers.object("_User", id, access, context)
    }
}
