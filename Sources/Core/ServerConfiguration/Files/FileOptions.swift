import JSON

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
        .text("fileKey", "PARSE_SERVER_FILE_KEY", \.fileKey, "The key for files of hosted Parse"),
        .text(
            "encryptionKey", "PARSE_SERVER_ENCRYPTION_KEY", \.encryptionKey,
            "Encrypts files, in every store"),
        .text(
            "previousEncryptionKey", "ROOST_PREVIOUS_ENCRYPTION_KEY", \.previousEncryptionKey,
            "The former key, until `roost files rotate` has encrypted all files anew"),
        .choiceOption(
            "encryptionFormat", "ROOST_ENCRYPTION_FORMAT", \.encryptionFormat,
            "whole (as parse-server) or segments (never whole in memory)"),
        // After the others: what it says outweighs them.
        OptionDefinition(
            "filesAdapter", "PARSE_SERVER_FILES_ADAPTER", .any,
            "The file store: parse-server's adapters for disk, S3 or Google Cloud Storage, or postgres, such as "
                + "{\"module\":\"@parse/s3-files-adapter\",\"options\":{\"bucket\":\"…\"}}"
        ) { value, _, configuration throws(ConfigurationError) in
            try FileStoreReader.read(value, into: &configuration)
        },
        OptionDefinition(
            "filesFallback", "ROOST_FILES_FALLBACK", .array,
            "Further stores, as in filesAdapter, for files that the first lacks"
        ) { value, _, configuration throws(ConfigurationError) in
            try FileStoreReader.readFallbacks(value, into: &configuration)
        },
    ]
}

extension Configuration {
    /// A permission for each kind of caller that has no master or maintenance key.
    public struct FileCallers: Sendable {
        /// Callers without a session.
        public var enableForPublic: Bool
        /// Anonymous users.
        public var enableForAnonymousUser: Bool
        /// Users who logged in.
        public var enableForAuthenticatedUser = true

        /// Whether every caller may.
        public var includesAll: Bool { enableForPublic && enableForAnonymousUser && enableForAuthenticatedUser }
    }

    /// How files are encrypted.
    public enum EncryptionFormat: String, CaseIterable, Sendable {
        /// As parse-server does it, at once.
        case whole
        /// In segments, so that no file is in memory whole.
        case segments
    }

    /// Who may upload what.
    public struct FileUpload: Sendable {
        public var callers = FileCallers(enableForPublic: false, enableForAnonymousUser: false)
        /// Regular expressions of allowed extensions, one of which must match; `*` allows all.
        public var fileExtensions = [FileUpload.notForBrowsers]
        /// Hosts that the URL of a file may name; `*` for all.
        public var allowedFileUrlDomains = ["*"]

        /// Everything but what a browser runs.
        public static let notForBrowsers =
            "^(?!([hH][tT][mM][lL]?|[sS][hH][tT][mM][lL]|[xX][hH][tT][mM][lL](\\+[xX][mM][lL])?|[xX][hH][tT]"
            + "|[sS][vV][gG]([zZ]|\\+[xX][mM][lL])?|[xX][mM][lL]|[xX][sS][lL][tT]?(\\+[xX][mM][lL])?|[xX][sS][dD]"
            + "|[rR][nN][gG]|[rR][dD][fF](\\+[xX][mM][lL])?|[oO][wW][lL]|[mM][aA][tT][hH][mM][lL](\\+[xX][mM][lL])?)$)"
        /// Everything but HTML.
        static let notHTML = "^(?!([hH][tT][mM][lL]?)$)"

        /// What the defaults of the extensions mean.
        static func word(_ extensions: [String]) -> String? {
            switch extensions {
            case ["*"]: "all"
            case [notHTML]: "all but HTML"
            default: "all but what a browser runs"
            }
        }
    }
}
