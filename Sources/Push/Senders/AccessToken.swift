import Foundation
import JSON
import JWTKit
import Outgoing
import ServerConfiguration

/// A service account of Google's: who it is, and the key that it signs by.
struct ServiceAccount: Sendable {
    let projectId: String
    let email: String
    let keyId: String
    let key: Insecure.RSA.PrivateKey
    let tokenAddress: String

    /// Reads an account.
    ///
    /// - Parameter value: The JSON of it, or a path, or its text.
    /// - Throws: `ConfigurationError` for what is none.
    init(_ value: JSONValue, _ option: String, in folder: String) throws {
        var account = value.objectValue
        if let text = value.stringValue {
            account = try? JSONValue(parsing: KeyFile(text, option, in: folder).bytes).objectValue
            if account == nil { _ = try KeyFile(text, option, in: folder) }
        }
        func member(_ names: Name...) -> String? {
            for name in names { if let text = account?[name]?.stringValue, !text.isEmpty { return text } }
            return nil
        }
        guard let projectId = member("project_id", "projectId"), let email = member("client_email", "clientEmail"),
            let key = member("private_key", "privateKey")
        else {
            throw ConfigurationError(
                "option \(option): FCM Configuration is invalid: the service account has no project_id, client_email or "
                    + "private_key")
        }
        self.projectId = projectId
        self.email = email
        keyId = member("private_key_id", "privateKeyId") ?? ""
        tokenAddress = member("token_uri", "tokenUri") ?? "https://oauth2.googleapis.com/token"
        do {
            self.key = try Insecure.RSA.PrivateKey(pem: key.replacing("\\n", with: "\n"))
        } catch {
            throw ConfigurationError("option \(option): the private_key of the service account cannot be read")
        }
    }
}

/// The access token of a service account. It is kept until it is about to expire; those that need one at the same time wait for
/// the same request.
actor AccessToken {
    /// Why there is no token.
    struct Failure: Error {
        var reason: String
        /// Whether Google does not know the account.
        var isFinal: Bool
    }

    private struct Claims: JWTPayload {
        var iss: String
        var scope: String
        var aud: String
        var iat: Int
        var exp: Int

        func verify(using algorithm: some JWTAlgorithm) throws {}
    }

    private let account: ServiceAccount
    private let caller: HTTPCaller
    private var kept: (text: String, until: ContinuousClock.Instant)?
    private var underWay: Task<(text: String, until: ContinuousClock.Instant), any Error>?

    init(_ account: ServiceAccount, caller: HTTPCaller) {
        self.account = account
        self.caller = caller
    }

    /// A token for now.
    ///
    /// - Parameter refused: One that the service did not take.
    /// - Throws: ``Failure``.
    func text(refused: String? = nil) async throws -> String {
        if let kept, kept.until > .now, kept.text != refused { return kept.text }
        let task = underWay ?? Task { [account, caller] in try await Self.fetch(account, caller) }
        underWay = task
        defer { if underWay == task { underWay = nil } }
        let token = try await task.value
        kept = token
        return token.text
    }

    private static func fetch(_ account: ServiceAccount, _ caller: HTTPCaller) async throws
        -> (text: String, until: ContinuousClock.Instant)
    {
        let now = Int(Date.now.timeIntervalSince1970)
        let keys = JWTKeyCollection()
        let id = JWKIdentifier(string: account.keyId)
        await keys.add(rsa: account.key, digestAlgorithm: .sha256, kid: id)
        let assertion = try await keys.sign(
            Claims(
                iss: account.email, scope: "https://www.googleapis.com/auth/firebase.messaging",
                aud: account.tokenAddress, iat: now, exp: now + 3600), kid: id)
        let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)"
        let reply: HTTPReply
        do {
            reply = try await caller.send(
                HTTPCall(
                    "POST", account.tokenAddress,
                    headers: [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")],
                    body: Array(form.utf8)))
        } catch let failure as HTTPCallFailure {
            throw Failure(reason: "no access token: \(failure.description)", isFinal: false)
        }
        guard reply.isSuccess, let text = reply.json?["access_token"]?.stringValue, !text.isEmpty,
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            let code = reply.json?["error"]?.stringValue.map { " (\($0.prefix(40)))" } ?? ""
            throw Failure(
                reason: "no access token: the answer was \(reply.status)\(code)",
                isFinal: reply.status == 400 || reply.status == 401)
        }
        let seconds = reply.json?["expires_in"]?.numberValue ?? 3600
        return (text, .now + .seconds(max(min(seconds, 86_400) - 300, 30)))
    }
}
