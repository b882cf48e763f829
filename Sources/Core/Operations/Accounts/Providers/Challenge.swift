import JSON
import ParseModel
import Rules

/// `/challenge`: challenges of auth providers before a log-in, for example to be signed by a passkey.
extension Providers {
    /// Returns the challenges of the requested providers.
    ///
    /// - Throws: -1 for a malformed request, 101 for an unknown user or a wrong proof, and errors of providers.
    public func challenge(_ body: JSONObject, _ context: RequestContext) async throws -> JSONObject {
        guard let data = body["challengeData"], data.isTruthy else { throw ParseError(-1, "Nothing to challenge.") }
        guard let challenges = data.objectValue else { throw ParseError(-1, "challengeData should be an object.") }
        let hasName = body["username"]?.isTruthy == true || body["email"]?.isTruthy == true
        if hasName, body["password"]?.isTruthy != true {
            throw ParseError(-1, "You provided username or email, you need to also provide password.")
        }
        let authData = try Self.identity(body["authData"], hasName: hasName)
        for (provider, value) in challenges where value.objectValue == nil {
            throw ParseError(-1, "challengeData.\(provider) should be an object.")
        }
        var stored: JSONObject = [:]
        var subject: AuthSubject?
        if hasName {
            let user = try await PasswordProof(backend: backend).check(body, context) { _ in nil }.candidate
            (stored, subject) = (user.loginData, AuthSubject(id: user.id, isLogin: true, isChallenge: true))
        } else if let authData {
            let id = try await user(of: authData, context)
            stored = try await store.accounts.authData(of: id)
            subject = AuthSubject(id: id, isLogin: true, isChallenge: true)
        }
        var request: ModuleRequest?
        var answers: JSONObject = [:]
        for (name, value) in challenges.sorted(by: { $0.key < $1.key }) {
            // Unknown and disabled providers are ignored.
            guard let (provider, options) = try? provider(name) else { continue }
            var attempt = AuthAttempt(
                purpose: .logIn, data: authData?[name]?.objectValue ?? [:], stored: stored[name]?.objectValue,
                options: options, isMaster: context.caller.writesEverything, now: context.now)
            if provider.runsModule {
                if request == nil { request = try await moduleRequest(of: subject, context) }
                attempt.request = request
            }
            answers[name] = try await hidingFailures(of: name) { [attempt] in
                try await provider.challenge(value.objectValue ?? [:], attempt)
            }
        }
        return answers
    }

    private static func identity(_ authData: JSONValue?, hasName: Bool) throws(ParseError) -> JSONObject? {
        guard let authData, authData.isTruthy else { return nil }
        guard let providers = authData.objectValue else { throw ParseError(-1, "authData should be an object.") }
        guard !hasName else {
            throw ParseError(
                -1, "You cannot provide username/email and authData, only use one identification method.")
        }
        guard providers.filter({ $0.value["id"] != nil }).count <= 1 else {
            throw ParseError(-1, "You cannot provide more than one authData provider with an id.")
        }
        for (name, value) in providers where value.objectValue == nil {
            throw ParseError(-1, "authData.\(name) should be an object.")
        }
        return providers
    }

    /// Throws 101 for unknown ids and wrong proofs alike, so clients can't find out which ids exist.
    private func user(of authData: JSONObject, _ context: RequestContext) async throws -> String {
        do {
            let claims = try await claims(try named(.object(authData.filter { $0.value["id"] != nil })))
            _ = try await check(
                claims.identities, stored: [:], for: AuthSubject(isChallenge: true), context)
            let owners = try await owners(of: claims.identities, isForAll: false)
            guard let id = owners.first, owners.count == 1 else { throw ParseError.notFound }
            return id
        } catch let error as ParseError {
            logger.info("auth challenge rejected", metadata: ["error": "\(error.message)"])
            throw ParseError(ParseError.objectNotFound, "User not found.")
        }
    }
}
