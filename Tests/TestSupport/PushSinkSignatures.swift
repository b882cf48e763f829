import Crypto
import CryptoExtras
import Foundation
public import JSON

/// What a ``PushSink`` sees of signatures.
extension PushSink {
    /// Whether Apple would take a token: ES256 by the key, of the team, not older than an hour.
    func isSigned(_ authorization: String) -> Bool {
        if manners.wantsCertificates { return authorization.isEmpty }
        let parts = authorization.dropFirst(7).split(separator: ".").map(String.init)
        guard authorization.hasPrefix("bearer "), parts.count == 3,
            let header = Self.json(parts[0]), let claims = Self.json(parts[1]), let bytes = Self.bytes(parts[2]),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes)
        else { return false }
        let age = Date.now.timeIntervalSince1970 - (claims["iat"]?.numberValue ?? 0)
        return header["alg"] == "ES256" && header["kid"] == "KEY1234567" && claims["iss"] == "TEAM123456"
            && (-60..<3600).contains(age)
            && identity.appleKey.publicKey.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8))
    }

    /// The claims of an assertion of the service account; nil when its key did not sign it (RS256).
    public func claims(ofAssertion assertion: String) -> JSONValue? {
        let parts = assertion.split(separator: ".").map(String.init)
        guard parts.count == 3, Self.json(parts[0])?["alg"] == "RS256", let bytes = Self.bytes(parts[2]),
            identity.accountKey.publicKey.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: bytes), for: Array("\(parts[0]).\(parts[1])".utf8),
                padding: .insecurePKCS1v1_5)
        else { return nil }
        return Self.json(parts[1])
    }

    private static func json(_ text: String) -> JSONValue? {
        bytes(text).flatMap { try? JSONValue(parsing: Array($0)) }
    }

    private static func bytes(_ text: String) -> Data? {
        var plain = text.replacing("-", with: "+").replacing("_", with: "/")
        plain += String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
        return Data(base64Encoded: plain)
    }
}
