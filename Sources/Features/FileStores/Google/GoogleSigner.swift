import Encoding
import Platform

/// Sends a Google access token with each request. Cloud Storage then accepts S3 requests, with its own header names.
struct GoogleSigner: StoreSigner {
    let tokens: CredentialSource<GoogleToken>

    var isForGoogle: Bool { true }

    func headers(
        for request: S3Request, host: String, path: String, at date: Date
    ) async throws -> [(name: String, value: String)] {
        var headers = request.headers.map { name, value in
            let name = name.asciiLowercased
            return (name: name.hasPrefix("x-amz-") ? "x-goog-" + name.dropFirst("x-amz-".count) : name, value: value)
        }
        // Otherwise Cloud Storage decompresses files stored with gzip, and omits their length and ranges.
        if request.method == "GET" || request.method == "HEAD" { headers.append(("accept-encoding", "gzip")) }
        headers.append(("authorization", "Bearer \(try await tokens.current().text)"))
        return headers
    }

    func renew(after failure: S3Failure, signed moment: ContinuousClock.Instant) async -> Bool {
        guard failure.status == 401 else { return false }
        return await tokens.renew(those: moment)
    }

    func shutdown() async { await tokens.shutdown() }
}
