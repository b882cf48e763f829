import Encoding
import Outgoing
import Platform
import Rules
import ServerConfiguration
import Synchronization

/// Creates direct URLs of objects. Never waits, because URLs are created while rows are encoded.
final class S3Links: Sendable {
    private let direct: Configuration.DirectFiles
    private let address: S3Address
    private let prefix: String
    private let region: String
    private let client: S3Client
    private let preservesNames: Bool
    /// Signing state reused for a while, so that clients' caches find the same URLs.
    private let moment = Mutex<(credentials: AWSCredentials, start: Int, query: PresignedQuery)?>(nil)

    /// Creates the links, or returns nil if clients must download files from the server.
    init?(_ client: S3Client, preservesNames: Bool) {
        guard let direct = client.bucket.direct else { return nil }
        self.direct = direct
        address = client.address
        prefix = client.bucket.prefix
        region = client.bucket.region
        self.client = client
        self.preservesNames = preservesNames
    }

    /// Returns the direct URL of a file, or nil if the server must serve the file itself. That is the case if no
    /// credentials for signing are available, or if no upload can have produced the name.
    func url(_ name: String) -> String? {
        guard let key = S3Storage.key(of: name, prefix: prefix) else { return nil }
        let path = address.path(key)
        var parameters = ""
        if let lifetime = direct.lifetime {
            guard FileNaming.isOfUpload(name, isPreserved: preservesNames), let sign = query(lifetime: lifetime) else {
                return nil
            }
            parameters = "?" + sign(path, others: Self.asAttachment(name))
        }
        guard let base = direct.baseURL else { return address.url(path, []) + parameters }
        let end = AWSSignature.encode(direct.omitsPrefix ? name : key, keepingSlashes: true)
        return "\(base)/\(end)\(parameters)"
    }

    /// Returns the current signature, or nil without credentials. It changes every quarter of the lifetime.
    private func query(lifetime: Int) -> PresignedQuery? {
        guard let credentials = client.knownCredentials else { return nil }
        let step = max(1, lifetime / 4)
        let start = Int(client.now.timeIntervalSince1970) / step * step
        return moment.withLock { moment in
            if let moment, moment.start == start, moment.credentials == credentials { return moment.query }
            let signature = AWSSignature(
                accessKeyId: credentials.accessKeyId, secretAccessKey: credentials.secretAccessKey,
                sessionToken: credentials.sessionToken, region: region, service: "s3")
            let query = PresignedQuery(
                signature, host: address.host, lifetime: lifetime,
                at: Date(timeIntervalSince1970: Double(start)))
            moment = (credentials, start, query)
            return query
        }
    }

    /// Returns the parameter that forces a download, or nil for types that browsers can show safely. Other programs may
    /// have stored any type.
    private static func asAttachment(_ name: String) -> String? {
        FileTypes.type(ofFile: name).map { FileTypes.isShownInline($0) } ?? false
            ? nil : "response-content-disposition=attachment"
    }
}
