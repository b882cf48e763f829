public import Crypto
public import CryptoExtras
public import JSON
import Platform

/// A JSON Web Token (RFC 7519) in compact serialization.
public struct JSONWebToken: Sendable {
    public let header: JSONObject
    /// The claims. Parsing verifies neither the signature nor the claims.
    public let claims: JSONObject
    /// The encoded header and claims, which the signature covers.
    private let signed: [UInt8]
    /// The decoded signature, or empty if it can't be decoded. No key verifies an empty one.
    private let signature: [UInt8]

    private static let longest = 16_384

    /// Parses a token. Returns nil if it is malformed, too long, or requires extensions.
    public init?(_ text: String) {
        guard text.utf8.count <= Self.longest else { return nil }
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        // `crit` lists extensions that readers must support (RFC 7515, section 4.1.11). No extension is supported.
        guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
            header["crit"] == nil
        else { return nil }
        self.header = header
        self.claims = claims
        signed = Array(text.utf8[..<parts[1].endIndex])
        signature = Base64URL.decodeExactly(String(decoding: parts[2], as: UTF8.self)) ?? []
    }

    private static func object(_ part: Substring.UTF8View) -> JSONObject? {
        guard let bytes = Base64URL.decodeExactly(String(decoding: part, as: UTF8.self)) else { return nil }
        return (try? JSONValue(parsing: bytes))?.objectValue
    }

    public var audiences: [String] {
        switch claims["aud"] {
        case .string(let audience)?: [audience]
        case .array(let list)?: list.compactMap(\.stringValue)
        default: []
        }
    }

    /// Returns a time claim in seconds since 1970, or nil if it isn't a number.
    public func time(_ claim: Name) -> Double? { claims[claim]?.numberValue }

    /// Returns whether the token is signed with a secret (HS256).
    public func isSigned(bySecret secret: String) -> Bool {
        header["alg"]?.stringValue == "HS256"
            && HMAC<SHA256>.isValidAuthenticationCode(
                signature, authenticating: signed, using: SymmetricKey(data: Array(secret.utf8)))
    }

    /// Returns whether the token is signed with an issuer's key.
    ///
    /// - Parameters:
    ///   - key: The issuer's public key as a JSON Web Key (RFC 7517). It must be for signatures and for the algorithm.
    ///   - algorithm: The algorithm that the caller allows: RS256 or ES256.
    public func isSigned(by key: JSONObject, _ algorithm: String) -> Bool {
        func number(_ name: Name) -> [UInt8]? { key[name]?.stringValue.flatMap(Base64URL.decode) }
        guard header["alg"]?.stringValue == algorithm, key["alg"]?.stringValue ?? algorithm == algorithm,
            key["use"]?.stringValue ?? "sig" == "sig"
        else { return false }
        let digest = SHA256.hash(data: signed)
        switch (algorithm, key["kty"]?.stringValue) {
        case ("RS256", "RSA"):
            // The initializer rejects keys of less than 2048 bits.
            guard let n = number("n"), let e = number("e"), let key = try? _RSA.Signing.PublicKey(n: n, e: e) else {
                return false
            }
            return key.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: signature), for: digest, padding: .insecurePKCS1v1_5)
        case ("ES256", "EC"):
            guard key["crv"]?.stringValue == "P-256", let x = number("x"), let y = number("y"), x.count == y.count,
                let key = try? P256.Signing.PublicKey(rawRepresentation: x + y),
                let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
            else { return false }
            return key.isValidSignature(signature, for: digest)
        default:
            return false
        }
    }

    /// Signs claims with ES256.
    public static func signed(
        _ claims: JSONObject, keyId: String? = nil, by key: P256.Signing.PrivateKey
    ) throws -> String {
        try serialized("ES256", keyId, claims) { try key.signature(for: $0).rawRepresentation }
    }

    /// Signs claims with RS256.
    public static func signed(
        _ claims: JSONObject, keyId: String? = nil, by key: _RSA.Signing.PrivateKey
    ) throws -> String {
        try serialized("RS256", keyId, claims) {
            try key.signature(for: $0, padding: .insecurePKCS1v1_5).rawRepresentation
        }
    }

    private static func serialized(
        _ algorithm: JSONValue, _ keyId: String?, _ claims: JSONObject, _ sign: ([UInt8]) throws -> Data
    ) rethrows -> String {
        var header: JSONObject = ["alg": algorithm, "typ": "JWT"]
        if let keyId { header["kid"] = .string(keyId) }
        let signed = [header, claims].map { Base64URL.encode(JSONValue.object($0).serialized()) }.joined(separator: ".")
        return "\(signed).\(Base64URL.encode(try sign(Array(signed.utf8))))"
    }
}
