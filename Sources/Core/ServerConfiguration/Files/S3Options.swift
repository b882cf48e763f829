import JSON

extension Configuration {
    /// Options for an S3 bucket, in the format of parse-server's S3 adapter.
    public struct S3: Sendable {
        /// The address of an S3-compatible server.
        public struct Endpoint: Sendable, Equatable {
            public var isSecure: Bool
            /// The host, with the port unless it is the scheme's default.
            public var host: String
            /// The path before the bucket: empty, or a path with a leading slash.
            public var path: String
        }

        /// The credentials that requests are signed with.
        public struct Key: Sendable {
            public var accessKeyId: String
            public var secretAccessKey: String
            public var sessionToken: String?
        }

        public var bucket: String
        public var region: String
        /// The prefix of each object key.
        public var prefix: String
        /// The address of the server, or nil for Amazon S3.
        public var endpoint: Endpoint?
        /// Whether URLs have the bucket in the path instead of the host.
        public var usesPathStyle: Bool
        /// The canned ACL of each object, or nil to send none.
        public var acl: String?
        /// The `Cache-Control` header of each object, or nil to send none.
        public var cacheControl: String?
        /// The server-side encryption, `AES256` or `aws:kms`, or nil to request none.
        public var encryption: String? = nil
        /// The id of the `aws:kms` key, or nil for the bucket's default key.
        public var encryptionKeyId: String? = nil
        /// The credentials, or nil to use those of the environment or the machine.
        public var key: Key? = nil
        /// The maximum number of attempts per request.
        public var attempts: Int
        /// Whether file tags become object tags. Otherwise they are stored in the metadata.
        public var storesTags: Bool
        /// The settings for direct URLs, or nil if clients read files through the server.
        public var direct: DirectFiles? = nil
    }
}

extension Configuration.S3 {
    static let texts = [
        ("bucket", "S3_BUCKET"), ("region", "S3_REGION"), ("bucketPrefix", "S3_BUCKET_PREFIX"),
        ("fileAcl", "S3_FILE_ACL"), ("baseUrl", "S3_BASE_URL"), ("signatureVersion", "S3_SIGNATURE_VERSION"),
        ("globalCacheControl", "S3_GLOBAL_CACHE_CONTROL"), ("presignedUrlExpires", "S3_PRESIGNED_URL_EXPIRES"),
        ("accessKey", "S3_ACCESS_KEY"), ("secretKey", "S3_SECRET_KEY"), ("endpoint", "AWS_ENDPOINT_URL_S3"),
        ("endpoint", "AWS_ENDPOINT_URL"),
    ]

    static let flags = [
        ("directAccess", "S3_DIRECT_ACCESS"), ("baseUrlDirect", "S3_BASE_URL_DIRECT"),
        ("presignedUrl", "S3_PRESIGNED_URL"),
    ]

    init(_ options: inout AdapterOptions) throws(ConfigurationError) {
        for function in ["validateFilename", "generateKey"] where options.value(Name(function)) != nil {
            throw options.refusal(
                function, "functions can't be used in a configuration",
                "Remove it. File names begin with random characters, except with preserveFileName.")
        }
        if let version = try options.text("signatureVersion"), version != "v4" {
            throw options.refusal("signatureVersion", "only v4 is supported", "Leave it out.")
        }
        let overrides = try options.nested("s3overrides") { overrides throws(ConfigurationError) in
            try Overrides(&overrides)
        }
        let (named, endpoint) = (try options.text("bucket"), try options.text("endpoint"))
        guard let bucket = overrides.bucket ?? named else {
            throw ConfigurationError("S3Adapter requires option 'bucket' or env. variable S3_BUCKET")
        }
        self.bucket = try Self.label(bucket, "bucket")
        let region = try options.text("region")
        self.region = try Self.label(overrides.region ?? region ?? "us-east-1", "region")
        prefix = try options.text("bucketPrefix") ?? ""
        let allowsPlain = try options.flag("allowInsecureEndpoint") ?? false
        self.endpoint = try (overrides.endpoint ?? endpoint).map { text throws(ConfigurationError) in
            try Endpoint(text, allowsPlain: allowsPlain)
        }
        // A service's wildcard certificate covers only one label before its name.
        usesPathStyle =
            overrides.usesPathStyle ?? (bucket.contains(".") || self.endpoint.map { $0.isAddress } ?? false)
        direct = try Configuration.DirectFiles(&options)
        acl = try Self.acl(options.text("fileAcl"), direct)
        cacheControl = try options.text("globalCacheControl")
        encryption = try options.text("ServerSideEncryption")
        if let encryption, !["AES256", "aws:kms"].contains(encryption) {
            throw options.refusal("ServerSideEncryption", "it must be AES256 or aws:kms", "Remove it for the default")
        }
        encryptionKeyId = try options.text("SSEKMSKeyId")
        let credentials = try options.nested("credentials") { nested throws(ConfigurationError) in
            try Key(&nested, "accessKeyId", "secretAccessKey")
        }
        let older = try Key(&options, "accessKey", "secretKey")
        key = overrides.key ?? credentials ?? older
        attempts = overrides.attempts ?? 3
        storesTags = try options.flag("storeTags") ?? true
    }

    /// Returns the ACL of objects, or nil to send none. Defaults to `public-read` if direct URLs aren't presigned.
    static func acl(_ named: String?, _ direct: Configuration.DirectFiles?) -> String? {
        let isPublic = direct.map { $0.lifetime == nil } ?? false
        return named == "none" ? nil : named ?? (isPublic ? "public-read" : nil)
    }

    /// Checks a part of a URL and returns it unchanged.
    ///
    /// - Throws: `ConfigurationError` for characters that need escaping.
    static func label(_ text: String, _ option: String) throws(ConfigurationError) -> String {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"/?#%@:".utf8.contains($0) }) else {
            throw ConfigurationError("option filesAdapter.options.\(option) must be ASCII without blanks or /?#%@:")
        }
        return text
    }

    /// The option `s3overrides`: options of the AWS client, which take precedence over the adapter's.
    private struct Overrides {
        var bucket: String?
        var region: String?
        var endpoint: String?
        var usesPathStyle: Bool?
        var key: Key?
        var attempts: Int?

        init(_ options: inout AdapterOptions) throws(ConfigurationError) {
            bucket = try options.nested("params") { params throws(ConfigurationError) in try params.text("Bucket") }
            region = try options.text("region")
            endpoint = try options.text("endpoint")
            let (newer, older) = (try options.flag("forcePathStyle"), try options.flag("s3ForcePathStyle"))
            usesPathStyle = newer ?? older
            let nested = try options.nested("credentials") { nested throws(ConfigurationError) in
                try Key(&nested, "accessKeyId", "secretAccessKey")
            }
            let own = try Key(&options, "accessKeyId", "secretAccessKey")
            key = nested ?? own
            attempts = try options.whole("maxAttempts", in: 1...10)
            if let version = try options.text("signatureVersion"), version != "v4" {
                throw options.refusal("signatureVersion", "only v4 is supported", "Leave it out.")
            }
            try options.checkAllKnown()
        }
    }
}

extension Configuration.S3.Key {
    fileprivate init?(_ options: inout AdapterOptions, _ name: Name, _ secret: Name) throws(ConfigurationError) {
        let (id, value, token) = (try options.text(name), try options.text(secret), try options.text("sessionToken"))
        switch (id, value) {
        case (let id?, let value?): self.init(accessKeyId: id, secretAccessKey: value, sessionToken: token)
        case (nil, nil): return nil
        default:
            let (missing, present) = id == nil ? (name, secret) : (secret, name)
            throw ConfigurationError("option \(options.path).\(missing) is missing. It is required with \(present)")
        }
    }
}

extension Configuration.S3.Endpoint {
    /// Reads an address. The default scheme is `https`.
    ///
    /// - Parameter allowsPlain: Whether plain HTTP is allowed outside the private network.
    /// - Throws: `ConfigurationError` for an invalid address, for plain HTTP that isn't allowed, and for link-local
    ///   addresses, which serve the metadata of cloud machines.
    init(_ text: String, allowsPlain: Bool) throws(ConfigurationError) {
        var rest = text[...]
        isSecure = !rest.hasPrefix("http://")
        if let end = rest.utf8.firstRange(of: "://".utf8) {
            guard ["http", "https"].contains(rest[..<end.lowerBound]) else { throw Self.invalid }
            rest = rest[end.upperBound...]
        }
        let host = rest.prefix { $0 != "/" }
        var path = String(rest.dropFirst(host.count))
        while path.hasSuffix("/") { path.removeLast() }
        guard !host.isEmpty, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"?#@%\"<>\\".utf8.contains($0) }) else {
            throw Self.invalid
        }
        let standard = isSecure ? ":443" : ":80"
        self.host = host.hasSuffix(standard) ? String(host.dropLast(standard.count)) : String(host)
        self.path = path
        if name.hasPrefix("169.254.") || name.lowercased().hasPrefix("[fe80:") { throw Self.invalid }
        guard isSecure || allowsPlain || isNear else {
            throw ConfigurationError(
                "option filesAdapter.options: the endpoint \(text) is not on a private network. Use https://, or set "
                    + "allowInsecureEndpoint")
        }
    }

    private static let invalid = ConfigurationError(
        "option filesAdapter.options.endpoint must be a URL such as https://s3.example.com")

    public var name: String {
        if host.hasPrefix("[") { return host.prefix { $0 != "]" } + "]" }
        return String(host.prefix { $0 != ":" })
    }

    /// Whether the host is an IP address or `localhost`, which can't have a bucket as subdomain.
    var isAddress: Bool {
        name.hasPrefix("[") || name == "localhost" || name.utf8.allSatisfy { $0 == 0x2E || (0x30...0x39).contains($0) }
    }

    /// Whether the host is this machine or in the private network: it has a private address or no public domain.
    public var isNear: Bool {
        if isAddress {
            let parts = name.split(separator: ".").compactMap { Int($0) }
            guard parts.count == 4 else { return isLoopback || name.lowercased().hasPrefix("[fd") }
            return parts[0] == 127 || parts[0] == 10 || (parts[0] == 192 && parts[1] == 168)
                || (parts[0] == 172 && (16...31).contains(parts[1]))
        }
        return !name.contains(".") || name.hasSuffix(".internal") || name.hasSuffix(".local")
            || name.hasSuffix(".localhost")
    }

    /// Whether the host is this machine, which a proxy can't reach.
    public var isLoopback: Bool { name == "localhost" || name == "[::1]" || (isAddress && name.hasPrefix("127.")) }
}
