public import JSON

extension Configuration {
    /// Options for a Google Cloud Storage bucket, in the format of parse-server's GCS adapter.
    public struct GoogleStorage: Sendable {
        /// The bucket as an S3 bucket, since Roost uses the store's S3-compatible API.
        public var bucket: S3
        /// The service account as JSON or its file's path, or nil to use the environment's or machine's credentials.
        public var account: JSONValue?
        /// The folder that relative paths are resolved in.
        public var folder = "."
    }
}

extension Configuration.GoogleStorage {
    static let texts = [
        ("projectId", "GCP_PROJECT_ID"), ("keyFilename", "GCP_KEYFILE_PATH"), ("bucket", "GCS_BUCKET"),
        ("bucketPrefix", "GCS_BUCKET_PREFIX"),
    ]
    static let flags = [("directAccess", "GCS_DIRECT_ACCESS")]

    init(_ options: inout AdapterOptions) throws(ConfigurationError) {
        let direct = try options.flag("directAccess") == true ? Configuration.DirectFiles() : nil
        // The project id is ignored, because bucket names are unique across projects.
        _ = try options.text("projectId")
        guard let bucket = try options.text("bucket") else {
            throw ConfigurationError("GCSAdapter requires an bucket: option 'bucket' or env. variable GCS_BUCKET")
        }
        let allowsPlain = try options.flag("allowInsecureEndpoint") ?? false
        let endpoint = try options.text("apiEndpoint") ?? "https://storage.googleapis.com"
        let acl = Configuration.S3.acl(try options.text("fileAcl"), direct)
        self.bucket = Configuration.S3(
            bucket: try Configuration.S3.label(bucket, "bucket"), region: "auto",
            prefix: try options.text("bucketPrefix") ?? "",
            endpoint: try Configuration.S3.Endpoint(endpoint, allowsPlain: allowsPlain), usesPathStyle: true, acl: acl,
            cacheControl: try options.text("globalCacheControl"),
            attempts: try options.whole("maxAttempts", in: 1...10) ?? 3,
            // Google supports tags for buckets only.
            storesTags: false, direct: direct)
        let credentials = try options.object("credentials")
        let file = try options.text("keyFilename")
        account = credentials.map { .object($0) } ?? file.map { .string($0) }
    }
}
