import CryptoExtras
public import JSON
import Platform
import ServerConfiguration

/// A Google service account and its signing key.
public struct ServiceAccount: Sendable {
    /// The project id, or nil if the credentials don't contain one.
    public let projectId: String?
    private let email: String
    private let keyId: String
    private let key: _RSA.Signing.PrivateKey
    private let tokenAddress: String

    /// The reason why Google issued no token. Contains no secrets.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        public var reason: String
        /// Whether Google rejected the credentials, which makes retrying useless.
        public var isFinal: Bool
        public var description: String { reason }
    }

    /// An access token issued by Google.
    public struct Token: Sendable {
        /// The token for the header `Authorization: Bearer`.
        public var text: String
        /// The validity in seconds.
        public var lifetime: Double

        /// Parses Google's response. Returns nil if it contains no token.
        public init?(_ reply: HTTPReply) {
            guard reply.isSuccess, let text = reply.json?["access_token"]?.stringValue, !text.isEmpty,
                text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else { return nil }
            self.text = text
            lifetime = min(reply.json?["expires_in"]?.numberValue ?? 3600, 86_400)
        }
    }

    /// Parses the credentials of an account.
    ///
    /// - Parameters:
    ///   - value: The credentials as a JSON object, as JSON text, or as the path of a key file.
    ///   - option: The name of the option, for errors.
    ///   - folder: The base folder of relative paths.
    /// - Throws: `ConfigurationError` if the credentials are invalid.
    public init(_ value: JSONValue, _ option: String, in folder: String) throws {
        var account = value.objectValue
        if let text = value.stringValue {
            let file = try KeyFile(text, option, in: folder)
            account = try? JSONValue(parsing: file.bytes).objectValue
        }
        func member(_ names: Name...) -> String? {
            for name in names { if let text = account?[name]?.stringValue, !text.isEmpty { return text } }
            return nil
        }
        let type = member("type") ?? "service_account"
        guard type == "service_account" else {
            throw ConfigurationError(
                "option \(option): credentials of the type \(type.prefix(40)) are not supported. Use those of a service account"
            )
        }
        guard let email = member("client_email", "clientEmail"), let key = member("private_key", "privateKey") else {
            throw ConfigurationError("option \(option): the service account has no client_email or private_key")
        }
        projectId = member("project_id", "projectId")
        self.email = email
        keyId = member("private_key_id", "privateKeyId") ?? ""
        tokenAddress = member("token_uri", "tokenUri") ?? "https://oauth2.googleapis.com/token"
        do {
            self.key = try _RSA.Signing.PrivateKey(pemRepresentation: key.replacing("\\n", with: "\n"))
        } catch {
            throw ConfigurationError("option \(option): private_key isn't a valid RSA key in PEM format")
        }
    }

    /// Requests a token from Google.
    ///
    /// - Parameter scope: The last part of the scope's URL, such as `devstorage.read_write`.
    /// - Throws: ``Failure``, or `CancellationError`.
    public func token(for scope: String, by caller: HTTPCaller) async throws -> Token {
        let now = Date.now.timeIntervalSince1970.rounded(.down)
        let claims: JSONObject = [
            "iss": .string(email), "scope": .string("https://www.googleapis.com/auth/\(scope)"),
            "aud": .string(tokenAddress), "iat": .number(now), "exp": .number(now + 3600),
        ]
        let assertion = try JSONWebToken.signed(claims, keyId: keyId, by: key)
        let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)"
        let reply: HTTPReply
        do {
            reply = try await caller.send(
                HTTPCall(
                    "POST", tokenAddress,
                    headers: [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")],
                    body: Array(form.utf8)))
        } catch let failure as HTTPCallFailure {
            throw Failure(reason: "no access token: \(failure.description)", isFinal: false)
        }
        guard let token = Token(reply) else {
            let code = reply.json?["error"]?.stringValue.map { " (\($0.prefix(40)))" } ?? ""
            throw Failure(
                reason: "no access token: Google's token service responded with status \(reply.status)\(code)",
                isFinal: reply.status == 400 || reply.status == 401)
        }
        return token
    }
}
