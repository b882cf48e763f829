import Crypto
import Encoding
import JSON
import Operations
import Outgoing
import ParseModel
import Platform
import ServerConfiguration

/// Verifies Twitter log-ins by fetching the token's owner in a request signed with the app's and the token's
/// secrets (OAuth 1.0a, RFC 5849).
package struct TwitterProvider: AuthProvider {
    let caller: HTTPCaller

    package static let url = "https://api.twitter.com/1.1/account/verify_credentials.json"
    private static let invalid = TokenCheck.refused("Twitter auth is invalid for this user.")

    /// The app's secret, which some SDKs send and which must not be stored.
    package var unstored: Set<Name> { ["consumer_secret"] }

    package var optionForms: [Name: AuthOptionForm]? {
        ["apps": .any, "consumer_key": .text, "consumer_secret": .text]
    }

    package func check(_ name: Name, _ options: JSONObject) throws(ConfigurationError) {
        guard options["enabled"] != false else { return }
        let apps = Self.apps(options)
        guard !apps.isEmpty, apps.count == options["apps"]?.arrayValue?.count ?? 1 else {
            throw ConfigurationError(
                "Twitter auth configuration missing: auth.\(name) needs consumer_key and consumer_secret")
        }
    }

    private static func apps(_ options: JSONObject) -> [(key: String, secret: String)] {
        let all = options["apps"]?.arrayValue ?? [.object(options)]
        return all.compactMap { app in
            guard let key = ProviderOptions.text(app["consumer_key"]),
                let secret = ProviderOptions.text(app["consumer_secret"])
            else { return nil }
            return (key, secret)
        }
    }

    package func validate(_ data: JSONObject, _ options: JSONObject) async throws {
        let apps = Self.apps(options)
        let app = apps.count == 1 ? apps[0] : apps.first { $0.key.hasSameBytes(as: data["consumer_key"]?.stringValue) }
        guard let app, let token = ProviderOptions.text(data["auth_token"]),
            let secret = ProviderOptions.text(data["auth_token_secret"]), let id = ProviderOptions.text(data["id"])
        else { throw Self.invalid }
        let header = Self.authorization(
            url: Self.url, key: app.key, secret: app.secret, token: token, tokenSecret: secret,
            nonce: Identifiers.hexadecimal(32), seconds: Int(Date().timeIntervalSince1970))
        let call = HTTPCall("GET", Self.url, headers: [("Authorization", header)])
        guard let reply = try? await caller.send(call), reply.isSuccess,
            id.hasSameBytes(as: reply.json?["id_str"]?.stringValue)
        else { throw Self.invalid }
    }

    /// Returns the `Authorization` field for a GET request.
    package static func authorization(
        url: String, key: String, secret: String, token: String, tokenSecret: String, nonce: String, seconds: Int
    ) -> String {
        var parameters = [
            ("oauth_consumer_key", key), ("oauth_nonce", nonce), ("oauth_signature_method", "HMAC-SHA1"),
            ("oauth_timestamp", String(seconds)), ("oauth_token", token), ("oauth_version", "1.0"),
        ]
        let text = parameters.map { "\($0.0)=\(encoded($0.1))" }.joined(separator: "&")
        let base = ["GET", encoded(url), encoded(text)].joined(separator: "&")
        let code = HMAC<Insecure.SHA1>.authenticationCode(
            for: Array(base.utf8), using: SymmetricKey(data: Array("\(encoded(secret))&\(encoded(tokenSecret))".utf8)))
        parameters.append(("oauth_signature", Data(code).base64EncodedString()))
        return "OAuth "
            + parameters.sorted { $0.0 < $1.0 }.map { "\($0.0)=\"\(encoded($0.1))\"" }.joined(separator: ", ")
    }

    /// Percent-encodes all bytes except the unreserved characters of RFC 3986 (RFC 5849, section 3.6).
    private static func encoded(_ text: String) -> String {
        PercentEncoding.encode(text, keepingOnly: "-._~")
    }
}
