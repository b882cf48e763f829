import JSON

extension OptionTable {
    static let databaseOptions =
        OptionDefinition(
            "databaseOptions", "PARSE_SERVER_DATABASE_OPTIONS", .object, "Database settings",
            members: [
                .flag("allowPublicExplain", nil, \.databaseOptions.allowPublicExplain, older: [8: true]),
                .whole("max", nil, \.databaseOptions.poolSize, in: 1...1000),
                .whole("poolSize", nil, \.databaseOptions.poolSize, in: 1...1000),
                .whole("sharedConnections", nil, \.databaseOptions.sharedConnections, in: 1...1000),
                .whole("heavyStatements", nil, \.databaseOptions.heavyStatements, in: 1...1000),
                .whole("schemaCacheTtl", nil, \.databaseOptions.schemaCacheTtl, in: 0...86_400_000),
                .flag("disableIndexFieldValidation", nil, \.databaseOptions.disableIndexFieldValidation),
                .custom("transactionPooler", nil, .any, \.databaseOptions.transactionPooler) {
                    value, name throws(ConfigurationError) in
                    try Configuration.DatabaseOptions.TransactionPooler(value, name)
                },
                databaseSchema("schema", nil),
                .member("initOptions", .any) { value, name, configuration throws(ConfigurationError) in
                    guard let schema = value["schema"], !Configuration.isHarmless(schema) else { return }
                    try configuration.setSchema(schema, "\(name).schema")
                },
            ] + ignoredDatabaseOptions, takesOthers: true, variables: .init(prefix: "PARSE_SERVER_DATABASE"))

    /// Defines the option of the database schema, which has several names.
    static func databaseSchema(_ name: String, _ environment: String?) -> OptionDefinition {
        OptionDefinition(
            name, environment, .string,
            "The database schema of the app, created if missing; default public"
        ) { value, name, configuration throws(ConfigurationError) in try configuration.setSchema(value, name) }
    }

    private static let ignoredDatabaseOptions: [OptionDefinition] =
        ["maxPoolSize", "maxStalenessSeconds", "maxTimeMS"].map { .ignored($0, "", .number, "not read") }
        + [
            "enableSchemaHooks", "retryWrites", "createIndexUserUsername", "createIndexUserUsernameCaseInsensitive",
            "createIndexUserEmail", "createIndexUserEmailCaseInsensitive", "createIndexUserEmailVerifyToken",
            "createIndexUserPasswordResetToken", "createIndexRoleName", "createIndexAuthDataUniqueness",
        ].map { .ignored($0, "", .boolean, "not read") }

    static let schema = OptionDefinition(
        "schema", "PARSE_SERVER_SCHEMA", .object, "Classes to create or change at each start",
        members: [
            .custom("definitions", nil, .array, \.declaredSchemas.definitions) { value, _ throws(ConfigurationError) in
                try Configuration.DeclaredSchemas.definitions(value.arrayValue ?? [])
            },
            .flag("strict", nil, \.declaredSchemas.strict),
            .flag("deleteExtraFields", nil, \.declaredSchemas.deleteExtraFields),
            .flag("recreateModifiedFields", nil, \.declaredSchemas.recreateModifiedFields),
            .flag("lockSchemas", nil, \.declaredSchemas.lockSchemas),
            .flag("keepUnknownIndexes", nil, \.declaredSchemas.keepUnknownIndexes),
            .paths("beforeMigration", \.declaredSchemas.beforeMigration),
            .paths("afterMigration", \.declaredSchemas.afterMigration),
        ], variables: .init(prefix: "PARSE_SERVER_SCHEMA", needed: ["definitions"])
    ) { _, _, configuration in configuration.schema = Configuration.DeclaredSchemas() }
}

extension Configuration {
    public struct DatabaseOptions: Sendable {
        /// Whether clients may request the execution plan of a query.
        public var allowPublicExplain = false
        /// The number of connections for short statements, or nil for one per processor, but at least 4 and at most 16.
        public var sharedConnections: Int?
        /// The base size of the pools for transactions and slow statements. Most of them have half as many connections.
        public var poolSize = 8
        /// The limit on concurrent aggregations and distinct queries per process, or nil for half the processors.
        public var heavyStatements: Int?
        /// The interval in milliseconds between checks for class changes, which are also announced immediately.
        public var schemaCacheTtl = 5000
        /// Whether an index may contain fields that the class doesn't have.
        public var disableIndexFieldValidation = false
        public var transactionPooler = TransactionPooler.none

        /// The kind of pooler between the server and the database, if it assigns connections per transaction.
        public enum TransactionPooler: Sendable {
            /// No transaction pooler.
            case none
            /// A pooler without support for prepared statements.
            case unprepared
            /// A pooler that prepares statements again on each connection that it assigns.
            case prepared

            /// Reads true, false or `"prepared"`.
            ///
            /// - Throws: `ConfigurationError` for any other value.
            init(_ value: JSONValue, _ name: String) throws(ConfigurationError) {
                switch value.stringValue ?? value.boolValue.map({ "\($0)" }) {
                case "false": self = .none
                case "true": self = .unprepared
                case "prepared": self = .prepared
                default: throw ConfigurationError("\(name) must be true, false or \"prepared\".")
                }
            }
        }
    }

    /// The option `schema`: classes to create or change at startup.
    public struct DeclaredSchemas: Sendable {
        /// The classes in the format of the schemas API, each with a different name.
        public var definitions: [JSONObject] = []
        /// Whether the server refuses to start if a declared class can't be created or changed, or an SQL file fails.
        public var strict = false
        /// Whether undeclared fields are deleted.
        public var deleteExtraFields = false
        /// Whether fields whose type differs from the declared one are deleted and created again.
        public var recreateModifiedFields = false
        /// Whether the schemas API rejects creating and changing classes. Deleting them remains possible.
        public var lockSchemas = false
        /// Whether undeclared indexes are retained.
        public var keepUnknownIndexes = false
        /// Paths of SQL files that run before the changes.
        public var beforeMigration: [String] = []
        public var afterMigration: [String] = []
    }

    /// The option `schema`, or its defaults if it isn't set. Setting a property sets the option.
    var declaredSchemas: DeclaredSchemas {
        get { schema ?? DeclaredSchemas() }
        set { schema = newValue }
    }
}

extension Configuration {
    /// Sets the app's database schema. `public` and an empty string are ignored.
    ///
    /// - Throws: `ConfigurationError` if the value isn't a valid name, or if another option names a different schema.
    mutating func setSchema(_ value: JSONValue, _ name: String) throws(ConfigurationError) {
        guard let schema = value.stringValue else {
            throw ConfigurationError("\(name) must be the name of one schema")
        }
        guard !schema.isEmpty, schema != "public" else { return }
        let isReserved = schema.hasPrefix("pg_") || ["information_schema", "$user"].contains(schema)
        guard !isReserved, schema.utf8.count <= 63, !schema.unicodeScalars.contains(where: { $0.value < 32 }) else {
            throw .invalid(name, "a schema name of at most 63 bytes that PostgreSQL doesn't reserve")
        }
        guard databaseSchema.map(schema.hasSameBytes) ?? true else {
            throw ConfigurationError("\(name) and another option name different schemas. Set only databaseSchema")
        }
        databaseSchema = schema
    }
}

extension Configuration.DatabaseOptions {
    /// Returns warnings about keys that have no effect, such as those of parse-server's database drivers.
    /// `enableSchemaHooks` is accepted silently, because class changes are always announced.
    static func warnings(_ json: JSONObject) -> [String] {
        let namesSchema = json["initOptions"]?["schema"].map { !Configuration.isHarmless($0) } ?? false
        let members = OptionTable.databaseOptions.members.filter {
            $0.support == .built && ($0.name != "initOptions" || namesSchema)
        }
        let read = Set(members.map(\.name) + ["enableSchemaHooks"])
        return json.filter { !$0.value.isNull && !read.contains($0.key.text) }.map { key, _ in
            "option databaseOptions.\(key) has no effect: set connection parameters in databaseURI"
        }
    }
}

extension Configuration.DeclaredSchemas {
    fileprivate static func definitions(_ list: [JSONValue]) throws(ConfigurationError) -> [JSONObject] {
        var names: Set<Name> = []
        var definitions: [JSONObject] = []
        for definition in list {
            guard let object = definition.objectValue, let name = object["className"]?.stringValue, !name.isEmpty else {
                throw ConfigurationError("schema.definitions: every schema needs a className")
            }
            guard names.insert(Name(name)).inserted else {
                throw ConfigurationError("schema.definitions: the list contains duplicated \"className\" \"\(name)\"")
            }
            definitions.append(object)
        }
        return definitions
    }
}

extension OptionTable {
    static let indexAdvice: [OptionDefinition] = [
        .choiceOption(
            "indexAdvice", "ROOST_INDEX_ADVICE", \.indexAdvice,
            "Advice on missing indexes: off, tell (roost doctor and /index_advice; the default), or build (online)"),
        .whole(
            "maximumAdvisedIndexes", "ROOST_MAXIMUM_ADVISED_INDEXES", \.maximumAdvisedIndexes, in: 1...100,
            "Maximum number of indexes that indexAdvice builds for a class"),
    ]
}

extension Configuration {
    /// The treatment of slow queries that lack an index.
    public enum IndexAdvice: String, Sendable, CaseIterable {
        /// Records nothing.
        case off
        /// Records slow queries and reports to administrators which indexes would help.
        case report = "tell"
        /// Also creates the indexes.
        case build
    }
}
