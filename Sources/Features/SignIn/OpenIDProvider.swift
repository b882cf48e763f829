import Encoding
import JSON
import Operations
import Outgoing
import ParseModel
import ServerConfiguration

/// Any OpenID Connect issuer, configured by its URL. Its discovery document contains the URL of its keys.
///
/// Specification: OpenID Connect Discovery 1.0, section 4.
struct OpenIDProvider: AuthProvider {
    let keys: IssuerKeys

    var optionForms: [Name: AuthOptionForm]? { ["issuer": .text, "clientId": .texts] }

    func check(_ name: Name, _ options: JSONObject) throws(ConfigurationError) {
        guard options["enabled"] != false else { return }
        guard let issuer = ProviderOptions.text(options["issuer"]), issuer.hasPrefix("https://") else {
            throw ConfigurationError("option auth.\(name).issuer must be a URL that begins with https://")
        }
        try ProviderOptions.require("clientId", of: name, in: options)
    }

    func validate(_ data: JSONObject, _ options: JSONObject) async throws { _ = try await claims(data, options) }

    func check(_ attempt: AuthAttempt) async throws -> AuthOutcome {
        TokenProvider.outcome(of: attempt, try await claims(attempt.data, attempt.options), unstored: unstored)
    }

    private func claims(_ data: JSONObject, _ options: JSONObject) async throws -> JSONObject {
        guard let token = ProviderOptions.text(data["id_token"]), let issuer = ProviderOptions.text(options["issuer"])
        else { throw TokenCheck.refused("id token is invalid for this user.") }
        let check = TokenCheck(
            keys: try await keysURL(of: issuer), issuers: [issuer],
            audiences: ProviderOptions.texts(options["clientId"]), algorithms: ["RS256", "ES256"])
        return try await check.claims(
            token, of: data["id"]?.stringValue, nonce: ProviderOptions.text(data["nonce"]), keys)
    }

    private func keysURL(of issuer: String) async throws -> String {
        var base = issuer[...]
        while base.hasSuffix("/") { base = base.dropLast() }
        let unknown = TokenCheck.refused("can't fetch the keys of issuer \(issuer)")
        let json: JSONObject
        do {
            json = try await keys.description(at: "\(base)/.well-known/openid-configuration")
        } catch is HTTPCallFailure {
            throw unknown
        }
        guard issuer.hasSameBytes(as: json["issuer"]?.stringValue),
            let url = json["jwks_uri"]?.stringValue, url.hasPrefix("https://")
        else { throw unknown }
        return url
    }
}
