import CryptoExtras
import JSON
import Operations
import Outgoing
import Tasks

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The certificates that Game Center signs with. Each must be signed by the authority that Apple's certificates come from.
///
/// Clients say where a certificate is: so each is fetched once for all who want it, and few that never were Apple's.
actor GameCenterCertificates {
    /// The authority's own certificate.
    private static let authority =
        "https://cacerts.digicert.com/DigiCertTrustedG4CodeSigningRSA4096SHA3842021CA1.crt.pem"
    /// The largest certificate, in bytes.
    private static let largest = 10_000
    /// Cache time of a certificate.
    private static let keeping = Duration.seconds(3600)
    /// Addresses remembered as Apple's.
    private static let mostTrusted = 100
    /// Log-ins per minute with other addresses.
    private static let mostOthers = 300
    /// Per sender.
    private static let mostOfSender = 10

    private let certificates: SharedFetches<RSACertificate>
    private let others = RecentCounts(within: .seconds(60))
    private var trusted: Set<String> = []

    /// Why a certificate is not taken.
    struct NotTrusted: Error {}

    /// - Parameter caller: What fetches them.
    init(caller: HTTPCaller) {
        certificates = SharedFetches { url in
            .init(value: try await Self.certificate(at: url, caller), age: Self.keeping)
        }
    }

    /// The key of a certificate.
    ///
    /// - Parameters:
    ///   - url: Where the certificate is: an address of Apple's.
    ///   - root: Where the certificate of the authority is; nil for the usual one.
    /// - Throws: `HTTPCallFailure`, `NotTrusted`.
    func key(at url: String, root: String?) async throws -> _RSA.Signing.PublicKey {
        // One client leaves others theirs.
        let sender = Name("\(Sender.current.hashValue)")
        guard
            trusted.contains(url)
                || others.countOneMore(sender, most: Self.mostOfSender)
                    && others.countOneMore("all", most: Self.mostOthers)
        else { throw NotTrusted() }
        async let leaf = certificates.value(at: url)
        async let issuer = certificates.value(at: root ?? Self.authority)
        let (certificate, authority) = try await (leaf, issuer)
        let now = Date().timeIntervalSince1970
        guard certificate.isSigned(by: authority), certificate.isValid(at: now), authority.isValid(at: now) else {
            throw NotTrusted()
        }
        if trusted.count >= Self.mostTrusted { trusted = [] }
        trusted.insert(url)
        return certificate.key
    }

    private static func certificate(at url: String, _ caller: HTTPCaller) async throws -> RSACertificate {
        let reply = try await caller.send(HTTPCall("GET", url), mostBytes: largest)
        guard reply.isSuccess else { throw NotTrusted() }
        return try RSACertificate(reply.body)
    }
}
