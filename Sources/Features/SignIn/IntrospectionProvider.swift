import Encoding
import JSON
import Operations
import Outgoing
import ParseModel
import ServerConfiguration

/// A token introspection service of the deployment (RFC 7662). Handles every name in `auth` with `oauth2: true`.
struct IntrospectionProvider: AuthProvider {
    let caller: HTTPCaller

    private static let invalid = TokenCheck.refused("OAuth2 access token is invalid for this user.")

    var optionForms: [Name: AuthOptionForm]? {
        [
            "oauth2": .flag, "tokenIntrospectionEndpointUrl": .text, "authorizationHeader": .text, "useridField": .text,
            "appidField": .text, "appIds": .texts,
        ]
    }

    func check(_ name: Name, _ options: JSONObject) throws(ConfigurationError) {
        guard options["enabled"] != false else { return }
        guard let url = ProviderOptions.text(options["tokenIntrospectionEndpointUrl"]),
            url.hasPrefix("https://") || url.hasPrefix("http://")
        else {
            throw ConfigurationError(
                "OAuth2 token introspection endpoint URL is missing from configuration! (auth.\(name))")
        }
        if ProviderOptions.text(options["appidField"]) != nil, ProviderOptions.texts(options["appIds"]).isEmpty {
            throw ConfigurationError("option auth.\(name).appIds is required with appidField")
        }
    }

    func validate(_ data: JSONObject, _ options: JSONObject) async throws {
        guard let token = ProviderOptions.text(data["access_token"]), let id = ProviderOptions.text(data["id"]) else {
            throw Self.invalid
        }
        var headers = [(name: "Content-Type", value: "application/x-www-form-urlencoded")]
        if let authorization = ProviderOptions.text(options["authorizationHeader"]) {
            headers.append((name: "Authorization", value: authorization))
        }
        let call = HTTPCall(
            "POST", ProviderOptions.text(options["tokenIntrospectionEndpointUrl"]) ?? "", headers: headers,
            body: Array("token=\(PercentEncoding.encode(token))".utf8))
        guard let reply = try? await caller.send(call), reply.isSuccess, let json = reply.json?.objectValue,
            json["active"] == true
        else { throw Self.invalid }
        let field = Name(ProviderOptions.text(options["useridField"]) ?? "sub")
        guard id.hasSameBytes(as: json[field]?.stringValue) else { throw Self.invalid }
        if let field = ProviderOptions.text(options["appidField"]) {
            try Self.checkApp(json[Name(field)], ProviderOptions.texts(options["appIds"]))
        }
    }

    /// Checks that the token was issued to one of the deployment's apps. A token may name several.
    private static func checkApp(_ value: JSONValue?, _ apps: [String]) throws {
        let named = ProviderOptions.texts(value)
        guard named.contains(where: { name in apps.contains { $0.hasSameBytes(as: name) } }) else {
            throw TokenCheck.refused(
                "OAuth2: the access_token's appID is empty or is not in the list of permitted appIDs in the auth "
                    + "configuration.")
        }
    }
}
