import Encoding
import Outgoing
import Platform

/// Authenticates requests to an S3-compatible store.
protocol StoreSigner: Sendable {
    /// Whether the store is Google's, which uses other header names.
    var isForGoogle: Bool { get }

    /// Returns all header fields of a request. Throws `CredentialFailure` if no credentials are available.
    func headers(for request: S3Request, host: String, path: String, at date: Date) async throws -> [(
        name: String, value: String
    )]

    /// Fetches other credentials if a response rejected those of the request.
    ///
    /// - Parameter moment: The time at which the request was signed.
    /// - Returns: Whether other credentials are available.
    func renew(after failure: S3Failure, signed moment: ContinuousClock.Instant) async -> Bool

    /// Closes the signer's connections.
    func shutdown() async
}

/// Signs requests for AWS.
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
        // Signs only fields that must reach the store unchanged, because proxies change others.
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
