import JSON

extension Configuration {
    /// How clients reach files at the store, without the server.
    public struct DirectFiles: Sendable, Equatable {
        /// What stands before the key; nil for the address of the store.
        public var baseURL: String?
        /// Whether addresses below `baseURL` leave the prefix of the bucket out.
        public var omitsPrefix = false
        /// For how many seconds an address is good; nil for files that everybody may read.
        public var lifetime: Int?

        /// Reads the options of the adapter for S3; nil where clients go through the server.
        init?(_ options: inout AdapterOptions) throws(ConfigurationError) {
            let isDirect = try options.flag("directAccess") ?? false
            let isSigned = try options.flag("presignedUrl") ?? false
            let seconds = try options.whole("presignedUrlExpires", in: 1...604_800) ?? 900
            baseURL = try options.url("baseUrl")
            omitsPrefix = try options.flag("baseUrlDirect") ?? false
            lifetime = isSigned ? seconds : nil
            guard isDirect else { return nil }
        }

        /// Files that everybody may read at the store.
        init() {}
    }

    /// The warning about addresses that do not lead to the server.
    var fileStoreWarnings: [String] {
        guard let direct = fileStore.direct else { return [] }
        var warnings = [
            "option filesAdapter.options.directAccess: clients read files directly from the store, so fileDownload, "
                + "download triggers and the sandbox of this server don't apply"
                + (direct.lifetime == nil ? "; anyone with an address can read the file permanently" : "")
        ]
        if !fileStoreFallbacks.isEmpty {
            warnings.append(
                "option filesFallback: while it is set, clients get addresses of this server, and directAccess "
                    + "has no effect")
        }
        return warnings
    }
}

extension Configuration.FileStore {
    /// How clients reach files without the server; nil where they do not.
    var direct: Configuration.DirectFiles? {
        switch self {
        case .s3(let bucket): bucket.direct
        case .google(let store): store.bucket.direct
        case .disk, .postgres: nil
        }
    }
}
