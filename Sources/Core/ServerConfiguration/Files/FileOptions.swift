extension OptionTable {
    static let files: [OptionDefinition] = [
        OptionDefinition(
            "fileUpload", "PARSE_SERVER_FILE_UPLOAD_OPTIONS", .object, "Permissions and types of uploads",
            members: [
                .flag("enableForPublic", nil, \.fileUpload.callers.enableForPublic, older: [4: true]),
                .flag("enableForAnonymousUser", nil, \.fileUpload.callers.enableForAnonymousUser, older: [4: true]),
                .flag("enableForAuthenticatedUser", nil, \.fileUpload.callers.enableForAuthenticatedUser),
                .texts(
                    "fileExtensions", nil, \.fileUpload.fileExtensions,
                    older: [5: ["*"], 7: [Configuration.FileUpload.notHTML]],
                    check: { list, name throws(ConfigurationError) in
                        for pattern in list where pattern != "*" && !Pattern.isValid(pattern) {
                            throw ConfigurationError("\(name) has an invalid pattern \(pattern)")
                        }
                    }, word: Configuration.FileUpload.word),
                .texts("allowedFileUrlDomains", nil, \.fileUpload.allowedFileUrlDomains),
            ], variables: .init(prefix: "PARSE_SERVER_FILE_UPLOAD")),
        OptionDefinition(
            "fileDownload", "PARSE_SERVER_FILE_DOWNLOAD_OPTIONS", .object, "Permissions of downloads",
            members: [
                .flag("enableForPublic", nil, \.fileDownload.enableForPublic),
                .flag("enableForAnonymousUser", nil, \.fileDownload.enableForAnonymousUser),
                .flag("enableForAuthenticatedUser", nil, \.fileDownload.enableForAuthenticatedUser),
            ], variables: .init(prefix: "PARSE_SERVER_FILE_DOWNLOAD")),
        .flag(
            "preserveFileName", "PARSE_SERVER_PRESERVE_FILE_NAME", \.preserveFileName,
            "Keeps file names without a random prefix"),
        .text("fileKey", "PARSE_SERVER_FILE_KEY", \.fileKey, "The key in file URLs of hosted Parse"),
        .text(
            "encryptionKey", "PARSE_SERVER_ENCRYPTION_KEY", \.encryptionKey,
            "The key that encrypts files, in all stores"),
        .text(
            "previousEncryptionKey", "ROOST_PREVIOUS_ENCRYPTION_KEY", \.previousEncryptionKey,
            "The previous encryptionKey, until `roost files rotate` has re-encrypted all files"),
        .choiceOption(
            "encryptionFormat", "ROOST_ENCRYPTION_FORMAT", \.encryptionFormat,
            "Encryption of files: whole (default), like parse-server, or segments, which need little memory"),
        // Listed after the options that it overrides.
        OptionDefinition(
            "filesAdapter", "PARSE_SERVER_FILES_ADAPTER", .any,
            "The file store: parse-server's adapters for disk, S3 or Google Cloud Storage, or postgres, such as "
                + "{\"module\":\"@parse/s3-files-adapter\",\"options\":{\"bucket\":\"…\"}}"
        ) { value, _, configuration throws(ConfigurationError) in
            try FileStoreReader.read(value, into: &configuration)
        },
        OptionDefinition(
            "filesFallback", "ROOST_FILES_FALLBACK", .array,
            "Additional stores, as in filesAdapter, for files that the first one lacks"
        ) { value, _, configuration throws(ConfigurationError) in
            try FileStoreReader.readFallbacks(value, into: &configuration)
        },
    ]
}

extension Configuration {
    /// A permission for each kind of caller without a privileged key.
    public struct FileCallers: Sendable {
        public var enableForPublic: Bool
        public var enableForAnonymousUser: Bool
        public var enableForAuthenticatedUser = true

        public var includesAll: Bool { enableForPublic && enableForAnonymousUser && enableForAuthenticatedUser }
    }

    public enum EncryptionFormat: String, CaseIterable, Sendable {
        /// In parse-server's format, which encrypts the whole file in memory.
        case whole
        /// In segments, so that a file is never entirely in memory.
        case segments
    }

    /// The callers that may upload files, and the allowed file types and URLs.
    public struct FileUpload: Sendable {
        public var callers = FileCallers(enableForPublic: false, enableForAnonymousUser: false)
        /// Regular expressions of allowed extensions, at least one of which must match. `*` allows all.
        public var fileExtensions = [FileUpload.notForBrowsers]
        /// Allowed hosts in file URLs. `*` allows all.
        public var allowedFileUrlDomains = ["*"]

        /// Matches all extensions except those of markup formats that can run scripts in browsers.
        public static let notForBrowsers =
            "^(?!([hH][tT][mM][lL]?|[sS][hH][tT][mM][lL]|[xX][hH][tT][mM][lL](\\+[xX][mM][lL])?|[xX][hH][tT]"
            + "|[sS][vV][gG]([zZ]|\\+[xX][mM][lL])?|[xX][mM][lL]|[xX][sS][lL][tT]?(\\+[xX][mM][lL])?|[xX][sS][dD]"
            + "|[rR][nN][gG]|[rR][dD][fF](\\+[xX][mM][lL])?|[oO][wW][lL]|[mM][aA][tT][hH][mM][lL](\\+[xX][mM][lL])?)$)"
        /// Matches all extensions except those of HTML.
        static let notHTML = "^(?!([hH][tT][mM][lL]?)$)"

        /// Describes a default of `fileExtensions` in words.
        static func word(_ extensions: [String]) -> String? {
            switch extensions {
            case ["*"]: "all"
            case [notHTML]: "all but HTML"
            default: "all but types that browsers run"
            }
        }
    }
}
