import Crypto
import CryptoExtras
import Foundation
import JSON
import OrderedCollections

/// A key that signs tokens of a fake identity provider.
public struct IdentityKey: Sendable {
    public let id: String
    private let key: _RSA.Signing.PrivateKey

    public init(_ id: String) throws {
        self.id = id
        key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    }

    /// The public key as a JWK (RFC 7517).
    public var published: JSONValue {
        get throws {
            let numbers = try key.publicKey.getKeyPrimitives()
            return [
                "kty": "RSA", "use": "sig", "alg": "RS256", "kid": .string(id),
                "n": .string(Self.base64(numbers.modulus)), "e": .string(Self.base64(numbers.publicExponent)),
            ]
        }
    }

    /// The public key in PEM, which an attacker knows.
    public var publicText: String { key.publicKey.pemRepresentation }

    public func token(_ claims: JSONObject, header: JSONObject = [:]) throws -> String {
        let signed = try Self.unsigned(claims, header.merging(["alg": "RS256", "kid": .string(id)]) { own, _ in own })
        let signature = try key.signature(for: SHA256.hash(data: Array(signed.utf8)), padding: .insecurePKCS1v1_5)
        return "\(signed).\(Self.base64(signature.rawRepresentation))"
    }

    /// Returns a token whose HMAC uses the public key as its secret (algorithm confusion).
    public func forged(_ claims: JSONObject) throws -> String {
        let signed = try Self.unsigned(claims, ["alg": "HS256", "typ": "JWT", "kid": .string(id)])
        let code = HMAC<SHA256>.authenticationCode(
            for: Array(signed.utf8), using: SymmetricKey(data: Array(publicText.utf8)))
        return "\(signed).\(Self.base64(Data(code)))"
    }

    public static func unsigned(_ claims: JSONObject, _ header: JSONObject) throws -> String {
        [header, claims].map { base64(Data(JSONValue.object($0).text.utf8)) }.joined(separator: ".")
    }

    public static func base64(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
