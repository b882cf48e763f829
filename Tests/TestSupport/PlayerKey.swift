import Crypto
import CryptoExtras
import Foundation
import JSON
import SwiftASN1
import X509

/// A key by which a stand-in of Game Center signs who a player is, and the authority that signed its certificate.
public struct PlayerKey: Sendable {
    /// The certificate of the key, and that of the authority, as PEM.
    public let certificate: String
    public let authority: String
    private let key: _RSA.Signing.PrivateKey

    /// Makes a key and an authority of its own.
    public init() throws {
        let root = try Certificate.PrivateKey(_RSA.Signing.PrivateKey(keySize: .bits2048))
        key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let name = try DistinguishedName { CommonName("Authority of the players") }
        authority = try Self.certificate(root.publicKey, name, isAuthority: true, name, root)
        let own = try DistinguishedName { CommonName("Players") }
        certificate = try Self.certificate(
            Certificate.PublicKey(key.publicKey), own, isAuthority: false, name, root)
    }

    private static func certificate(
        _ key: Certificate.PublicKey, _ subject: DistinguishedName, isAuthority: Bool, _ issuer: DistinguishedName,
        _ signer: Certificate.PrivateKey
    ) throws -> String {
        try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: key, notValidBefore: Date() - 3600,
            notValidAfter: Date() + 86_400, issuer: issuer, subject: subject,
            signatureAlgorithm: .sha256WithRSAEncryption,
            extensions: try Certificate.Extensions {
                Critical(
                    isAuthority
                        ? BasicConstraints.isCertificateAuthority(maxPathLength: nil)
                        : BasicConstraints.notCertificateAuthority)
            }, issuerPrivateKey: signer
        ).serializeAsPEM().pemString
    }

    /// What the SDK of Game Center gives an app about a player.
    public func loginData(_ id: String, bundle: String, at date: Date = Date()) throws -> JSONObject {
        let milliseconds = UInt64(date.timeIntervalSince1970 * 1000)
        let salt = Data([1, 2, 3, 4])
        let time = Data((0..<8).map { UInt8(truncatingIfNeeded: milliseconds >> (56 - 8 * UInt64($0))) })
        let payload = Data(id.utf8) + Data(bundle.utf8) + time + salt
        let signature = try key.signature(for: SHA256.hash(data: payload), padding: .insecurePKCS1v1_5)
        return [
            "id": .string(id), "publicKeyUrl": "https://static.gc.apple.com/public-key/gc-prod-10.cer",
            "timestamp": .number(Double(milliseconds)), "salt": .string(salt.base64EncodedString()),
            "signature": .string(signature.rawRepresentation.base64EncodedString()),
        ]
    }
}
