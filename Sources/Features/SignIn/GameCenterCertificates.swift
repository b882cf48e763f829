import CryptoExtras
import JSON
import Limits
import Operations
import Outgoing
import Platform

/// Fetches and verifies the signing certificates of Game Center. Each must be signed by the authority that issues
/// Apple's certificates.
///
/// Clients send the URL of the certificate, so certificates are cached for all clients, and log-ins with unverified
/// URLs are rate limited.
actor GameCenterCertificates {
    private static let authority =
        "https://cacerts.digicert.com/DigiCertTrustedG4CodeSigningRSA4096SHA3842021CA1.crt.pem"
    /// The maximum size of a certificate in bytes.
    private static let largest = 10_000
    private static let keeping = Duration.seconds(3600)
    private static let maxTrusted = 100
    /// The maximum number of log-ins per minute with unverified URLs, of all senders together.
    private static let maxUnverified = 300
    /// The maximum number of log-ins per minute with unverified URLs, per sender.
    private static let maxPerSender = 10

    private let certificates: SharedFetches<RSACertificate>
    private let others = RecentCounts(within: .seconds(60))
    private var trusted: Set<String> = []

    struct NotTrusted: Error {}

    init(caller: HTTPCaller) {
        certificates = SharedFetches { url in (try await Self.certificate(at: url, caller), Self.keeping) }
    }

    /// Returns the key of a certificate.
    ///
    /// - Parameters:
    ///   - url: The URL of the certificate, which must be Apple's.
    ///   - root: The URL of the authority's certificate, or nil for the default.
    /// - Throws: `HTTPCallFailure` if a certificate can't be fetched, `NotTrusted` if it isn't trusted or the rate
    ///   limit is exceeded, or another error if it can't be parsed.
    func key(at url: String, root: String?) async throws -> _RSA.Signing.PublicKey {
        // The limit per sender keeps one client from using up the total.
        let sender = Name("\(Sender.current.hashValue)")
        guard
            trusted.contains(url)
                || others.countOneMore(sender, limit: Self.maxPerSender)
                    && others.countOneMore("all", limit: Self.maxUnverified)
        else { throw NotTrusted() }
        async let leaf = certificates.value(at: url)
        async let issuer = certificates.value(at: root ?? Self.authority)
        let (certificate, authority) = try await (leaf, issuer)
        let now = Date().timeIntervalSince1970
        guard certificate.isSigned(by: authority), certificate.isValid(at: now), authority.isValid(at: now) else {
            throw NotTrusted()
        }
        if trusted.count >= Self.maxTrusted { trusted = [] }
        trusted.insert(url)
        return certificate.key
    }

    private static func certificate(at url: String, _ caller: HTTPCaller) async throws -> RSACertificate {
        let reply = try await caller.send(HTTPCall("GET", url), maxBytes: largest)
        guard reply.isSuccess else { throw NotTrusted() }
        return try RSACertificate(reply.body)
    }
}
