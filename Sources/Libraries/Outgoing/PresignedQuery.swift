import Crypto
import Encoding
public import Platform

/// Creates query parameters that let anyone read a host's URLs for a limited time. Everything that doesn't depend on
/// the path is computed once, because a list of objects can contain many files.
public struct PresignedQuery: Sendable {
    private let parameters: String
    private let host: String
    private let key: SymmetricKey
    private let signedStart: [UInt8]

    /// Prepares the query parameters shared by all paths.
    ///
    /// - Parameters:
    ///   - lifetime: The validity of the URLs in seconds.
    ///   - date: The time from which the URLs are valid.
    public init(_ signature: AWSSignature, host: String, lifetime: Int, at date: Date) {
        let time = AWSSignature.time(date)
        let scope = signature.scope(time)
        let credential = AWSSignature.encode("\(signature.accessKeyId)/\(scope)", keepingSlashes: false)
        var parameters = [
            "X-Amz-Algorithm=AWS4-HMAC-SHA256", "X-Amz-Credential=\(credential)", "X-Amz-Date=\(time)",
            "X-Amz-Expires=\(lifetime)", "X-Amz-SignedHeaders=host",
        ]
        if let token = signature.sessionToken {
            parameters.append("X-Amz-Security-Token=\(AWSSignature.encode(token, keepingSlashes: false))")
        }
        self.parameters = AWSSignature.ordered(parameters).joined(separator: "&")
        self.host = host
        key = signature.key(String(time.prefix(8)))
        signedStart = Array("AWS4-HMAC-SHA256\n\(time)\n\(scope)\n".utf8)
    }

    /// Returns the query parameters for a path, with the signature last.
    ///
    /// - Parameters:
    ///   - path: The percent-encoded path.
    ///   - others: Additional parameters, sorted, whose names come after `X-Amz-`, such as
    ///     `response-content-disposition=attachment`.
    public func callAsFunction(_ path: String, others: String? = nil) -> String {
        var query = parameters
        if let others { query += "&" + others }
        let request = "GET\n\(path)\n\(query)\nhost:\(host)\n\nhost\nUNSIGNED-PAYLOAD"
        let sum = SHA256.hash(data: Array(request.utf8))
        var code = HMAC<SHA256>(key: key)
        code.update(data: signedStart)
        code.update(data: Array(sum.hexadecimal.utf8))
        return "\(query)&X-Amz-Signature=\(code.finalize().hexadecimal)"
    }
}
