import Crypto
import CryptoExtras
import Foundation
import Outgoing
import SwiftASN1
import X509

/// The certificates that Game Center signs with. Each must be signed by the authority that Apple's certificates come from.
actor GameCenterCertificates {
    private struct Known {
        var key: _RSA.Signing.PublicKey
        var expiresAt: ContinuousClock.Instant
    }

    /// Where the authority publishes its own certificate.
    private static let authority =
        "https://cacerts.digicert.com/DigiCertTrustedG4CodeSigningRSA4096SHA3842021CA1.crt.pem"
    /// The largest certificate, in bytes.
    private static let largest = 10_000
    /// How many certificates are kept, and for how long.
    private static let most = 20
    private static let keeping = Duration.seconds(3600)

    private var keys: [String: Known] = [:]

    /// Why a certificate is not taken.
    struct NotTrusted: Error {}

    /// The key of a certificate.
    ///
    /// - Parameters:
    ///   - url: Where the certificate is: an address of Apple's.
    ///   - root: Where the certificate of the authority is; nil for the usual one.
    /// - Throws: `HTTPCallFailure`, `NotTrusted`.
    func key(at url: String, root: String?, _ caller: HTTPCaller) async throws -> _RSA.Signing.PublicKey {
        let now = ContinuousClock.now
        if let known = keys[url], known.expiresAt > now { return known.key }
        async let leaf = Self.certificate(at: url, caller)
        async let issuer = Self.certificate(at: root ?? Self.authority, caller)
        let (certificate, authority) = try await (leaf, issuer)
        let today = Date()
        guard authority.publicKey.isValidSignature(certificate.signature, for: certificate),
            certificate.notValidBefore <= today, today <= certificate.notValidAfter,
            authority.notValidBefore <= today, today <= authority.notValidAfter,
            let key = _RSA.Signing.PublicKey(certificate.publicKey)
        else { throw NotTrusted() }
        if keys.count >= Self.most { keys = [:] }
        keys[url] = Known(key: key, expiresAt: now + Self.keeping)
        return key
    }

    private static func certificate(at url: String, _ caller: HTTPCaller) async throws -> Certificate {
        let reply = try await caller.send(HTTPCall("GET", url), mostBytes: largest)
        guard reply.isSuccess else { throw NotTrusted() }
        if let text = String(validating: reply.body, as: UTF8.self), text.contains("-----BEGIN") {
            return try Certificate(pemEncoded: text)
        }
        return try Certificate(derEncoded: reply.body)
    }
}
