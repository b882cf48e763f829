import Crypto
import CryptoExtras
import Foundation
import JSON

/// A key that signs players' identities like Game Center, with a certificate and the authority that signed it.
public struct PlayerKey: Sendable {
    public let certificate: String
    public let authority: String
    private let key: _RSA.Signing.PrivateKey

    /// Creates a key and an authority.
    ///
    /// - Parameter end: The seconds until the key's certificate expires.
    public init(end: Double = 86_400) throws {
        let root = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let name = "Authority of the players"
        func signed(_ form: CertificateForm) throws -> String {
            CertificateForm.pem(
                try form.signed { try root.signature(for: $0, padding: .insecurePKCS1v1_5).rawRepresentation })
        }
        authority = try signed(CertificateForm(authority: name, key: root.publicKey.derRepresentation, .rsaSHA256))
        certificate = try signed(
            CertificateForm("Players", issuer: name, key: key.publicKey.derRepresentation, .rsaSHA256, end: end))
    }

    /// Returns the login data that Game Center's SDK provides for a player.
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
