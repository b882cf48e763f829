public import JSON

extension Configuration {
    /// A bucket of Google Cloud Storage, as the adapter of parse-server and its users describe it.
    public struct GoogleStorage: Sendable {
        /// The bucket, in the words of S3, whose language the store speaks.
        public var bucket: S3
        /// The service account: its JSON, or the path of its file; nil where the environment or the machine has it.
        public var account: JSONValue?
        /// Where relative paths begin.
        public var folder = "."
    }
}

extension Configuration.GoogleStorage {
    private static let texts = [
        ("projectId", "GCP_PROJECT_ID"), ("keyFilename", "GCP_KEYFILE_PATH"), ("bucket", "GCS_BUCKET"),
        ("bucketPrefix", "GCS_BUCKET_PREFIX"),
    ]
    private static let flags = [("directAccess", "GCS_DIRECT_ACCESS")]

    /// Puts the adapter's variables where options are missing or say nothing.
    static func complete(_ options: inout JSONObject, from environment: [String: String]) {
        AdapterOptions.complete(&options, texts: texts, flags: flags, from: environment)
    }

    init(_ options: inout AdapterOptions) throws(ConfigurationError) {
        let direct = try options.flag("directAccess") == true ? Configuration.DirectFiles() : nil
        // Requests name the bucket alone, which is of one project.
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
            // Google keeps tags of buckets only.
            storesTags: false, direct: direct)
        let credentials = try options.object("credentials")
        let file = try options.text("keyFilename")
        account = credentials.map { .object($0) } ?? file.map { .string($0) }
    }
}
