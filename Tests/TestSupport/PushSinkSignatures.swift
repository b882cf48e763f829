import Crypto
import CryptoExtras
import Foundation
public import JSON

extension PushSink {
    /// Returns whether Apple would accept a token: an ES256 signature of the key, the right team, at most one hour old.
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

    /// Returns the claims of a service account's assertion, or nil if its RS256 signature is invalid.
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
