import JSON

/// The objects whose members have environment variables of their own.
extension MemberVariables {
    /// All of them; one inside another follows it.
    static let all = [
        MemberVariables("PARSE_SERVER_ACCOUNT_LOCKOUT", of: "accountLockout", needing: ["duration", "threshold"]),
        MemberVariables("PARSE_SERVER_CUSTOM_PAGES", of: "customPages"),
        MemberVariables("PARSE_SERVER_DATABASE", of: "databaseOptions", others: databaseOptions),
        MemberVariables("PARSE_SERVER_EXPERIMENTAL_IDEMPOTENCY", of: "idempotencyOptions"),
        MemberVariables("PARSE_SERVER_FILE_DOWNLOAD", of: "fileDownload"),
        MemberVariables("PARSE_SERVER_FILE_UPLOAD", of: "fileUpload"),
        MemberVariables("PARSE_SERVER_INSTALLATION", of: "installation"),
        MemberVariables("PARSE_SERVER_LIVEQUERY", of: "liveQuery"),
        MemberVariables("PARSE_SERVER_LOG_LEVELS", of: "logLevels", others: logLevels),
        MemberVariables("PARSE_SERVER_PAGES", of: "pages"),
        MemberVariables("PARSE_SERVER_PAGES_CUSTOM_URL", of: "pages", "customUrls", others: customUrls),
        MemberVariables("PARSE_SERVER_PASSWORD_POLICY", of: "passwordPolicy"),
        MemberVariables(
            "PARSE_SERVER_QUERY", of: "query",
            others: ["aggregationRawValues": .boolean, "aggregationRawFieldNames": .boolean]),
        MemberVariables(
            "PARSE_SERVER_RATE_LIMIT", of: "rateLimit", others: RateLimitOptions.keys,
            needing: ["requestPath", "requestTimeWindow", "requestCount"], isElement: true),
        MemberVariables("PARSE_SERVER_REQUEST_COMPLEXITY", of: "requestComplexity"),
        MemberVariables("PARSE_SERVER_SCHEMA", of: "schema", needing: ["definitions"]),
        MemberVariables("PARSE_SERVER_SECURITY", of: "security"),
    ]

    private static let databaseOptions = Configuration.DatabaseOptions.keys.merging([
        "enableSchemaHooks": .boolean, "maxPoolSize": .number, "maxStalenessSeconds": .number, "maxTimeMS": .number,
        "retryWrites": .boolean, "createIndexUserUsername": .boolean,
        "createIndexUserUsernameCaseInsensitive": .boolean, "createIndexUserEmail": .boolean,
        "createIndexUserEmailCaseInsensitive": .boolean, "createIndexUserEmailVerifyToken": .boolean,
        "createIndexUserPasswordResetToken": .boolean, "createIndexRoleName": .boolean,
        "createIndexAuthDataUniqueness": .boolean,
    ]) { $1 }

    private static let logLevels: [String: OptionDefinition.Kind] = [
        "triggerAfter": .string, "triggerBeforeSuccess": .string, "triggerBeforeError": .string,
        "cloudFunctionSuccess": .string, "cloudFunctionError": .string, "signupUsernameTaken": .string,
    ]

    private static let customUrls = Dictionary(
        uniqueKeysWithValues: Configuration.Pages.names.map { ($0.text, OptionDefinition.Kind.string) })
}
