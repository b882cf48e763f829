import Encoding
import JSON
import Operations
import Outgoing
import ParseModel
import ServerConfiguration

/// Verifies LINE log-ins: checks a signed token, or fetches the profile for an access token.
///
/// LINE signs the tokens of mobile apps with its own key, and those of its web log-in with the channel secret.
struct LineProvider: AuthProvider {
    let signed: TokenProvider
    let profile: ProfileProvider

    var optionForms: [Name: AuthOptionForm]? {
        (profile.optionForms ?? [:]).merging(signed.optionForms ?? [:]) { $1 }
    }

    func warnings(_ name: Name, _ options: JSONObject) -> [String] { profile.warnings(name, options) }

    func check(_ name: Name, _ options: JSONObject) throws(ConfigurationError) {
        // Tokens that LINE signs with its own key require only the channel id.
        guard ProviderOptions.texts(options["clientId"]).isEmpty || options["clientSecret"] != nil else { return }
        try profile.check(name, options)
    }

    func exchange(_ data: JSONObject, _ options: JSONObject) async throws -> JSONObject {
        guard data["id_token"]?.isTruthy == true else {
            if data["code"]?.isTruthy == true, ProviderOptions.text(options["clientSecret"]) == nil {
                throw TokenCheck.refused("Line clientSecret is required to exchange code for token.")
            }
            return try await profile.exchange(data, options)
        }
        // The token contains the user id.
        guard data["id"]?.isTruthy != true else { return data }
        return data.merging(["id": .string(try await subject(data, options))]) { $1 }
    }

    func validate(_ data: JSONObject, _ options: JSONObject) async throws {
        if data["id_token"]?.isTruthy == true {
            _ = try await subject(data, options)
        } else {
            try await profile.validate(data, options)
        }
    }

    private func subject(_ data: JSONObject, _ options: JSONObject) async throws -> String {
        let claims = try bySecret(data, options)
        let all = if let claims { claims } else { try await signed.claims(data, options) }
        return all["sub"]?.stringValue ?? ""
    }

    /// Returns the claims of a token signed with the channel secret, or nil for other tokens.
    private func bySecret(_ data: JSONObject, _ options: JSONObject) throws -> JSONObject? {
        guard let token = data["id_token"]?.stringValue.flatMap({ JSONWebToken($0) }), token.header["alg"] == "HS256",
            let check = signed.rules.check(options, ProviderOptions.texts(options["clientId"]))
        else { return nil }
        guard let secret = ProviderOptions.text(options["clientSecret"]) else {
            throw TokenCheck.refused("Line clientSecret is required to verify HS256 id_token.")
        }
        guard token.isSigned(bySecret: secret) else { throw TokenCheck.refused("invalid signature") }
        try check.check(token, data["id"]?.stringValue, ProviderOptions.text(data["nonce"]))
        return token.claims
    }

    func visibleData(_ stored: JSONObject, _ options: JSONObject) -> JSONObject { profile.visibleData(stored, options) }
}
