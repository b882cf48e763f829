import Crypto
import Foundation
import JSON
import JWTKit
import ParseModel

/// A signed token (RFC 7519) as it came, before anybody has checked it.
struct JSONWebToken {
    let text: String
    let header: JSONObject
    /// What the token says.
    let claims: JSONObject

    /// The longest token that is read, in bytes.
    private static let longest = 16_384

    /// Takes a token apart; nil for what is none.
    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard text.utf8.count <= Self.longest, parts.count == 3,
            let header = Self.object(parts[0]), let claims = Self.object(parts[1])
        else { return nil }
        self.text = text
        self.header = header
        self.claims = claims
    }

    private static func object(_ part: Substring.UTF8View.SubSequence) -> JSONObject? {
        guard let bytes = base64(String(decoding: part, as: UTF8.self)) else { return nil }
        return (try? JSONValue(parsing: bytes))?.objectValue
    }

    /// The bytes of a text in Base64 for URLs, without padding (RFC 7515, section 2).
    static func base64(_ text: String) -> [UInt8]? {
        var plain = text.replacing("-", with: "+").replacing("_", with: "/")
        guard !plain.utf8.contains(UInt8(ascii: "=")) else { return nil }
        plain += String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
        return Data(base64Encoded: plain).map { Array($0) }
    }

    var audiences: [String] {
        switch claims["aud"] {
        case .string(let audience)?: [audience]
        case .array(let list)?: list.compactMap(\.stringValue)
        default: []
        }
    }

    /// A claim that is a time, in seconds since 1970.
    func time(_ claim: Name) -> Double? { claims[claim]?.numberValue }

    /// Whether a secret signed the token (HS256).
    func isSigned(bySecret secret: String) -> Bool {
        guard let dot = text.utf8.lastIndex(of: UInt8(ascii: ".")),
            let signature = Self.base64(String(text[text.utf8.index(after: dot)...]))
        else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(
            signature, authenticating: Array(text.utf8[..<dot]), using: SymmetricKey(data: Array(secret.utf8)))
    }

    /// Whether a key of the issuer signed the token.
    ///
    /// - Parameters:
    ///   - key: The key, as JSON (RFC 7517).
    ///   - algorithm: What the token must be signed by: never what it says itself.
    func isSigned(by key: JSONObject, _ algorithm: String) async -> Bool {
        // Of the key only what verifying takes, and the algorithm that is allowed.
        let wanted: Set<Name> = ["kty", "n", "e", "crv", "x", "y"]
        var plain = key.filter { wanted.contains($0.key) }
        plain["alg"] = .string(algorithm)
        plain["kid"] = "key"
        guard let json = try? JWK(json: JSONValue.object(plain).text) else { return false }
        let keys = JWTKeyCollection()
        guard (try? await keys.add(jwk: json, isDefault: true)) != nil,
            let signer = try? await keys.getKey(for: "key", alg: algorithm)
        else { return false }
        guard let dot = text.utf8.lastIndex(of: UInt8(ascii: ".")),
            let signature = Self.base64(String(text[text.utf8.index(after: dot)...]))
        else { return false }
        return (try? signer.verify(signature, signs: Array(text.utf8[..<dot]))) ?? false
    }
}
