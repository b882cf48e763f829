import Encoding
import Outgoing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How a store that speaks S3's language knows who asks.
protocol StoreSigner: Sendable {
    /// Whether the store is Google's, whose own header fields have other names.
    var isForGoogle: Bool { get }

    /// The header fields of a request as they are sent; throws `CredentialFailure` when there are no credentials.
    func headers(for request: S3Request, host: String, path: String, at date: Date) async throws -> [(
        name: String, value: String
    )]

    /// Gets other credentials where an answer refuses those of the request.
    ///
    /// - Parameter moment: When the request was signed.
    /// - Returns: Whether there are others now.
    func renew(after failure: S3Failure, signed moment: ContinuousClock.Instant) async -> Bool

    /// Closes what it has open.
    func shutdown() async
}

/// Signs requests as Amazon's services want it.
struct AWSSigner: StoreSigner {
    let region: String
    let credentials: CredentialSource<AWSCredentials>

    var isForGoogle: Bool { false }

    func headers(
        for request: S3Request, host: String, path: String, at date: Date
    ) async throws -> [(name: String, value: String)] {
        let known = try await credentials.current()
        let signature = AWSSignature(
            accessKeyId: known.accessKeyId, secretAccessKey: known.secretAccessKey, sessionToken: known.sessionToken,
            region: region, service: "s3")
        // Only what the store must see unchanged is signed: proxies touch other fields.
        let (signed, others) = (
            request.headers.filter { Self.isSigned($0.name) }, request.headers.filter { !Self.isSigned($0.name) }
        )
        let content = [(name: "x-amz-content-sha256", value: request.digest)]
        let added = signature.headers(
            for: AWSSignature.Request(
                method: request.method, host: host, path: path, query: request.query, headers: signed + content,
                payload: request.digest), at: date)
        return signed + others + content + added
    }

    func renew(after failure: S3Failure, signed moment: ContinuousClock.Instant) async -> Bool {
        guard ["ExpiredToken", "InvalidToken", "TokenRefreshRequired"].contains(failure.code) else { return false }
        return await credentials.renew(those: moment)
    }

    func shutdown() async { await credentials.shutdown() }

    private static func isSigned(_ name: String) -> Bool {
        let name = name.asciiLowercased
        return name.hasPrefix("x-amz-") || name == "range"
    }
}
