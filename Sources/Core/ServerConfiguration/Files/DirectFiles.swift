import JSON

extension Configuration {
    /// Settings for direct URLs, with which clients read files from the store instead of through the server.
    public struct DirectFiles: Sendable, Equatable {
        /// The base of URLs, or nil for the store's own address.
        public var baseURL: String?
        /// Whether URLs below `baseURL` omit the bucket's key prefix.
        public var omitsPrefix = false
        /// The lifetime of a presigned URL in seconds, or nil for public files.
        public var lifetime: Int?

        /// Reads the S3 adapter's options for direct URLs, or returns nil if clients read files through the server.
        init?(_ options: inout AdapterOptions) throws(ConfigurationError) {
            let isDirect = try options.flag("directAccess") ?? false
            let isSigned = try options.flag("presignedUrl") ?? false
            let seconds = try options.whole("presignedUrlExpires", in: 1...604_800) ?? 900
            baseURL = try options.url("baseUrl")
            omitsPrefix = try options.flag("baseUrlDirect") ?? false
            lifetime = isSigned ? seconds : nil
            guard isDirect else { return nil }
        }

        /// Creates the settings for public files.
        init() {}
    }

    /// Warnings that direct URLs bypass protections, or that fallback stores turn direct URLs off.
    var fileStoreWarnings: [String] {
        guard let direct = fileStore.direct else { return [] }
        guard fileStoreFallbacks.isEmpty else {
            return [
                "option filesFallback: while it is set, clients get this server's URLs, and directAccess has no effect"
            ]
        }
        return [
            "option filesAdapter.options.directAccess: clients read files directly from the store, so fileDownload, "
                + "download triggers and the sandbox of this server don't apply"
                + (direct.lifetime == nil ? "; anyone with a file's URL can read it permanently" : "")
        ]
    }
}

extension Configuration.FileStore {
    /// The settings for direct URLs, or nil if clients read files through the server.
    var direct: Configuration.DirectFiles? {
        switch self {
        case .s3(let bucket): bucket.direct
        case .google(let store): store.bucket.direct
        case .disk, .postgres: nil
        }
    }
}
