import Crypto
import Encoding
import JSON
import Operations
import Outgoing
import ParseModel
import ServerConfiguration

/// Verifies Facebook log-ins: checks a signed token (Limited Login), or asks the Graph API about an access token.
struct FacebookProvider: AuthProvider {
    let limited: TokenProvider
    let caller: HTTPCaller

    private static let invalid = TokenCheck.refused("Facebook auth is invalid for this user.")

    var optionForms: [Name: AuthOptionForm]? { ["appIds": .texts, "appSecret": .text, "clientId": .texts] }

    func check(_ name: Name, _ options: JSONObject) throws(ConfigurationError) {
        guard options["enabled"] != false else { return }
        if let ids = options["appIds"], ids.arrayValue == nil {
            throw ConfigurationError("option auth.\(name).appIds must be an array.")
        }
        let apps = ProviderOptions.texts(options["appIds"]) + ProviderOptions.texts(options["clientId"])
        guard !apps.isEmpty else {
            throw ConfigurationError(
                "option auth.\(name).appIds is missing. Without it or clientId, tokens of other apps would be accepted")
        }
    }

    func validate(_ data: JSONObject, _ options: JSONObject) async throws {
        guard data["token"]?.isTruthy != true else { return try await limited.validate(data, options) }
        guard let token = ProviderOptions.text(data["access_token"]), let id = ProviderOptions.text(data["id"]) else {
            throw Self.invalid
        }
        let apps = ProviderOptions.texts(options["appIds"])
        guard !apps.isEmpty else { throw TokenCheck.refused("Facebook auth is not configured.") }
        let proof = ProviderOptions.text(options["appSecret"]).map { secret in
            let code = HMAC<SHA256>.authenticationCode(
                for: Array(token.utf8), using: SymmetricKey(data: Array(secret.utf8)))
            return "&appsecret_proof=" + code.hexadecimal
        }
        let access = "access_token=\(PercentEncoding.encode(token))\(proof ?? "")"
        guard try await ask("me?fields=id&\(access)").hasSameBytes(as: id) else { throw Self.invalid }
        let app = try await ask("app?\(access)")
        guard apps.contains(where: { $0.hasSameBytes(as: app) }) else { throw Self.invalid }
    }

    /// Fetches an object of the Graph API and returns its id.
    private func ask(_ question: String) async throws -> String {
        let call = HTTPCall("GET", "https://graph.facebook.com/\(question)")
        guard let reply = try? await caller.send(call), reply.isSuccess,
            let answer = ProviderOptions.text(reply.json?["id"])
        else { throw Self.invalid }
        return answer
    }
}
