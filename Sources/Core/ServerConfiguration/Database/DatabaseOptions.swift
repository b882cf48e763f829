import JSON

extension OptionTable {
    static let databaseOptions =
        OptionDefinition(
            "databaseOptions", "PARSE_SERVER_DATABASE_OPTIONS", .object, "Database settings; others are ignored",
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
                    try configuration.takeSchema(schema, "\(name).schema")
                },
            ] + ignoredDatabaseOptions, takesOthers: true, variables: .init(prefix: "PARSE_SERVER_DATABASE"))

    /// The schema in which everything lies, by one of its names.
    static func databaseSchema(_ name: String, _ environment: String?) -> OptionDefinition {
        OptionDefinition(
            name, environment, .string,
            "The database schema of the app, created if missing; default public"
        ) { value, name, configuration throws(ConfigurationError) in try configuration.takeSchema(value, name) }
    }

    /// Variables that parse-server has for what is not read.
    private static let ignoredDatabaseOptions: [OptionDefinition] =
        ["maxPoolSize", "maxStalenessSeconds", "maxTimeMS"].map { .ignored($0, "", .number, "not read") }
        + [
            "enableSchemaHooks", "retryWrites", "createIndexUserUsername", "createIndexUserUsernameCaseInsensitive",
            "createIndexUserEmail", "createIndexUserEmailCaseInsensitive", "createIndexUserEmailVerifyToken",
            "createIndexUserPasswordResetToken", "createIndexRoleName", "createIndexAuthDataUniqueness",
        ].map { .ignored($0, "", .boolean, "not read") }

    /// Classes as they are declared.
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
    /// Settings of the database.
    public struct DatabaseOptions: Sendable {
        /// Whether clients may ask for the plan of a query.
        public var allowPublicExplain = false
        /// How many connections carry short statements; nil for as many as the machine has processors, 4 to 16.
        public var sharedConnections: Int?
        /// How many connections are shared out among transactions, slow reads and waiting for locks.
        public var poolSize = 8
        /// The most aggregations and lists of distinct values that are computed at once; nil for half of the machine's
        /// processors.
        public var heavyStatements: Int?
        /// How often classes are compared with the database, in milliseconds; changes are announced besides.
        public var schemaCacheTtl = 5000
        /// Whether an index may name fields that the class does not have.
        public var disableIndexFieldValidation = false
        /// Whether the database is reached through a pooler that lends sessions for one transaction at a time.
        public var transactionPooler = TransactionPooler.none

        /// A pooler that lends sessions for one transaction at a time.
        public enum TransactionPooler: Sendable {
            /// There is none.
            case none
            /// It keeps no prepared statements.
            case unprepared
            /// It knows prepared statements again in whatever session it lends.
            case prepared

            /// Reads true, false, or `"prepared"`; throws `ConfigurationError` for anything else.
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

    /// Classes as the configuration declares them, and how far the database is made to follow.
    public struct DeclaredSchemas: Sendable {
        /// The classes, in the form of the schemas API; no two have one name.
        public var definitions: [JSONObject] = []
        /// Whether the server does not start when a class cannot be made as declared.
        public var strict = false
        /// Whether fields that are not declared are removed.
        public var deleteExtraFields = false
        /// Whether fields of another type than the declared one are removed and made again.
        public var recreateModifiedFields = false
        /// Whether the schemas API is closed for changes.
        public var lockSchemas = false
        /// Whether indexes that are not declared stay.
        public var keepUnknownIndexes = false
        /// Paths of SQL files that run before and after.
        public var beforeMigration: [String] = []
        public var afterMigration: [String] = []
    }

    /// The declared classes, which are made when something is said of them.
    var declaredSchemas: DeclaredSchemas {
        get { schema ?? DeclaredSchemas() }
        set { schema = newValue }
    }
}

extension Configuration {
    /// Reads the name of a schema; `public` and an empty one say nothing.
    ///
    /// - Throws: `ConfigurationError` for what cannot be a schema's name, or is another than before.
    mutating func takeSchema(_ value: JSONValue, _ name: String) throws(ConfigurationError) {
        guard let schema = value.stringValue else {
            throw ConfigurationError("\(name) must be the name of one schema")
        }
        guard !schema.isEmpty, schema != "public" else { return }
        let isReserved = schema.hasPrefix("pg_") || ["information_schema", "$user"].contains(schema)
        guard !isReserved, schema.utf8.count <= 63, !schema.unicodeScalars.contains(where: { $0.value < 32 }) else {
            throw .invalid(name, "the name of a schema that an app may have, at most 63 bytes long")
        }
        guard databaseSchema.map(schema.hasSameBytes) ?? true else {
            throw ConfigurationError("\(name) names a different schema than databaseSchema or another option")
        }
        databaseSchema = schema
    }
}

extension Configuration.DatabaseOptions {
    /// Warnings about keys that have no effect: those of the drivers that parse-server uses. Changes of classes are
    /// announced in any case.
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
    /// Reads the classes; throws `ConfigurationError` for definitions that are no classes, or two of one class.
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
            "Advice on missing indexes: off, tell (roost doctor and /index_advice; the default), or build, which "
                + "builds them online"),
        .whole(
            "maximumAdvisedIndexes", "ROOST_MAXIMUM_ADVISED_INDEXES", \.maximumAdvisedIndexes, in: 1...100,
            "The most indexes that indexAdvice builds for a class"),
    ]
}

extension Configuration {
    /// What is done about questions that take long without an index.
    public enum IndexAdvice: String, Sendable, CaseIterable {
        /// Nothing is noted.
        case off
        /// They are noted, and which indexes would help is answered to administrators.
        case report = "tell"
        /// These indexes are built.
        case build
    }
}
