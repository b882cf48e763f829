import Outgoing
import ServerConfiguration

/// The host and paths of a bucket, exactly as they are signed and sent.
package struct S3Address: Sendable {
    /// The URL scheme: `https` or `http`.
    let scheme: String
    /// The host, with the port unless it is the scheme's default.
    let host: String
    /// The path before the key: empty, or with a leading slash.
    let path: String

    package init(_ bucket: Configuration.S3) {
        guard let endpoint = bucket.endpoint else {
            let suffix = bucket.region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
            scheme = "https"
            host = (bucket.usesPathStyle ? "" : "\(bucket.bucket).") + "s3.\(bucket.region).\(suffix)"
            path = bucket.usesPathStyle ? "/\(bucket.bucket)" : ""
            return
        }
        scheme = endpoint.isSecure ? "https" : "http"
        host = bucket.usesPathStyle ? endpoint.host : "\(bucket.bucket).\(endpoint.host)"
        path = endpoint.path + (bucket.usesPathStyle ? "/\(bucket.bucket)" : "")
    }

    package func path(_ key: String?) -> String {
        guard let key else { return path.isEmpty ? "/" : path }
        return "\(path)/\(AWSSignature.encode(key, keepingSlashes: true))"
    }

    package func url(_ path: String, _ query: [String]) -> String {
        "\(scheme)://\(host)\(path)" + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
    }
}
