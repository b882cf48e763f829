import JSON

extension OptionTable {
    static let access: [OptionDefinition] = [
        .text(
            "maintenanceKey", "PARSE_SERVER_MAINTENANCE_KEY", \.maintenanceKey,
            "The key that may read internal fields, and set createdAt and updatedAt"),
        .text(
            "readOnlyMasterKey", "PARSE_SERVER_READ_ONLY_MASTER_KEY", \.readOnlyMasterKey,
            "A master key with read-only access"),
        .custom(
            "adminKeys", "ROOST_ADMIN_KEYS", .object, \.audit.adminKeys,
            "Additional master keys: their owners' names and the hexadecimal SHA-256 of each key"
        ) { value, _ throws(ConfigurationError) in try Configuration.adminKeys(value) },
        OptionDefinition(
            "audit", "ROOST_AUDIT", .object,
            "The audit log, in the database, of changes by master, admin and maintenance keys. events: the kinds to "
                + "record (write, schema, config, hooks, role, file); default none",
            members: [
                .custom("events", nil, .texts, \.audit.events) { value, name throws(ConfigurationError) in
                    try Configuration.AuditEvent.read(value, name)
                }
            ]),
        .addresses(
            "masterKeyIps", "PARSE_SERVER_MASTER_KEY_IPS", \.masterKeyIps, older: [5: Configuration.everywhere],
            "Addresses that may use the master key"),
        .addresses(
            "maintenanceKeyIps", "PARSE_SERVER_MAINTENANCE_KEY_IPS", \.maintenanceKeyIps,
            "Addresses that may use the maintenance key"),
        .addresses(
            "readOnlyMasterKeyIps", "PARSE_SERVER_READ_ONLY_MASTER_KEY_IPS", \.readOnlyMasterKeyIps,
            "Addresses that may use the read-only master key"),
        .text(
            "clientKey", "PARSE_SERVER_CLIENT_KEY", \.clientKey,
            "A key for Apple and Android clients; if any of the four client keys is set, every client needs one"),
        .text("javascriptKey", "PARSE_SERVER_JAVASCRIPT_KEY", \.javascriptKey, "A key for JavaScript clients"),
        .text("restAPIKey", "PARSE_SERVER_REST_API_KEY", \.restAPIKey, "A key for REST callers"),
        .text("dotNetKey", "PARSE_SERVER_DOT_NET_KEY", \.dotNetKey, "A key for .NET and Unity clients"),
        .texts("allowHeaders", "PARSE_SERVER_ALLOW_HEADERS", \.allowHeaders, "Additional CORS request headers"),
        .texts("allowOrigin", "PARSE_SERVER_ALLOW_ORIGIN", \.allowOrigin, kind: .stringOrArray, "Allowed CORS origins"),
        .flag(
            "allowClientClassCreation", "PARSE_SERVER_ALLOW_CLIENT_CLASS_CREATION", \.allowClientClassCreation,
            older: [6: true],
            "Allows clients to create classes"),
        .flag(
            "allowCustomObjectId", "PARSE_SERVER_ALLOW_CUSTOM_OBJECT_ID", \.allowCustomObjectId,
            "Allows clients to choose object ids"),
        // Columns for object ids in join tables have 120 characters, as in parse-server.
        .whole(
            "objectIdSize", "PARSE_SERVER_OBJECT_ID_SIZE", \.objectIdSize, in: 1...120,
            "Length of generated object ids, at most 120"),
        OptionDefinition(
            "protectedFields", "PARSE_SERVER_PROTECTED_FIELDS", .object,
            "Hidden fields by class and by user, role or *; default hides _User.email from others"
        ) { value, _, configuration throws(ConfigurationError) in try configuration.protect(value.objectValue ?? [:]) },
        OptionDefinition(
            "userSensitiveFields", "PARSE_SERVER_USER_SENSITIVE_FIELDS", .texts,
            "Additional hidden fields of _User"
        ) { value, _, configuration in
            for name in value.names {
                configuration.protectedFields["_User", default: [:]]["*", default: []].append(name)
            }
        },
        .flag(
            "enforcePrivateUsers", "PARSE_SERVER_ENFORCE_PRIVATE_USERS", \.enforcePrivateUsers, older: [5: false],
            "Hides new users from others"),
        .flag(
            "enableAnonymousUsers", "PARSE_SERVER_ENABLE_ANON_USERS", \.enableAnonymousUsers,
            "Allows anonymous users"),
        .whole(
            "defaultLimit", "PARSE_SERVER_DEFAULT_LIMIT", \.defaultLimit, in: 1...(1 << 53),
            "Number of objects that a find without a limit returns"),
        .whole(
            "maxLimit", "PARSE_SERVER_MAX_LIMIT", \.maxLimit, in: 1...(1 << 53),
            "Maximum limit of a find; default none"),
        .size(
            "maxResponseSize", "PARSE_SERVER_MAX_RESPONSE_SIZE", \.maxResponseSize, atLeast: 1024,
            "Maximum size of a response, also for the master key"),
        .custom(
            "requestKeywordDenylist", "PARSE_SERVER_REQUEST_KEYWORD_DENYLIST", .array, \.requestKeywordDenylist,
            "Keys and values that written data may not contain"
        ) { value, name throws(ConfigurationError) in
            let rules = value.arrayValue ?? []
            for rule in rules {
                let patterns = [rule["key"], rule["value"]].compactMap { $0?.stringValue }
                guard rule.objectValue != nil, patterns.allSatisfy(Pattern.isValid) else {
                    throw .invalid(name, "a list of objects with valid patterns as key and value")
                }
            }
            return KeywordRules(rules)
        },
        .flag(
            "enableSanitizedErrorResponse", "PARSE_SERVER_ENABLE_SANITIZED_ERROR_RESPONSE",
            \.enableSanitizedErrorResponse, older: [7: false],
            "Replaces the details of permission errors with a generic message"),
        .flag(
            "protectedFieldsOwnerExempt", "PARSE_SERVER_PROTECTED_FIELDS_OWNER_EXEMPT", \.protectedFieldsOwnerExempt,
            "Shows users all fields of their own record"),
        .flag(
            "protectedFieldsSaveResponseExempt", "PARSE_SERVER_PROTECTED_FIELDS_SAVE_RESPONSE_EXEMPT",
            \.protectedFieldsSaveResponseExempt,
            "Returns protected fields that a save changed"),
        OptionDefinition(
            "installation", "PARSE_SERVER_INSTALLATION", .object,
            "Handling of installations with the same device token",
            members: [
                .flag("duplicateDeviceTokenActionEnforceAuth", nil, \.installation.enforcesCaller),
                .choice("duplicateDeviceTokenAction", \.installation.action),
                .choice("duplicateDeviceTokenMergePriority", \.installation.kept),
            ], variables: .init(prefix: "PARSE_SERVER_INSTALLATION")),
        .flag(
            "allowAggregationForReadOnlyMasterKey", "PARSE_SERVER_ALLOW_AGGREGATION_FOR_READ_ONLY_MASTER_KEY",
            \.allowAggregationForReadOnlyMasterKey,
            "Allows aggregations with the read-only master key"),
    ]
}

extension Configuration {
    /// The handling of installations that have the same device token as a saved one.
    public struct Installations: Sendable {
        /// Whether the other rows with the same token are deleted or updated.
        public enum Action: String, Sendable, CaseIterable {
            /// Deletes the rows.
            case delete
            /// Removes the token from the rows, or the installation id if the row with the token is kept.
            case update
        }

        /// The row to keep if one has the installation id and another has the device token.
        public enum KeptRow: String, Sendable, CaseIterable {
            case deviceToken, installationId
        }

        /// Whether the caller needs permission to delete or update the other rows. Rows that the caller may not change
        /// remain unchanged.
        public var enforcesCaller = false
        public var action = Action.delete
        public var kept = KeptRow.deviceToken
    }
}
