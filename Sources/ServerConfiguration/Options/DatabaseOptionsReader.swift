import JSON

extension Configuration.DatabaseOptions {
    /// The keys that are read, each with what it takes.
    static let keys: [String: OptionDefinition.Kind] = [
        "allowPublicExplain": .boolean, "poolSize": .number, "max": .number, "sharedConnections": .number,
        "heavyStatements": .number, "schemaCacheTtl": .number, "disableIndexFieldValidation": .boolean,
        "transactionPooler": .boolean,
    ]

    /// Keys that ask for what is so in any case: changes of classes are announced.
    private static let needless: Set<Name> = ["enableSchemaHooks"]

    /// Reads the option `databaseOptions`.
    ///
    /// - Parameter preset: Up to 8, clients may ask for the plan of a query unless the option says otherwise.
    /// - Throws: `ConfigurationError` for values that cannot be, and for a schema of PostgreSQL: tables would be looked
    ///   for elsewhere.
    init(json: JSONObject, preset: Int) throws(ConfigurationError) {
        self.init()
        for (key, value) in json where !value.isNull {
            guard let kind = Self.keys[key.text], !kind.fits(value) else { continue }
            throw ConfigurationError("Key databaseOptions.\(key) has invalid value \(value.text)")
        }
        if let schema = json["initOptions"]?["schema"], !Configuration.isHarmless(schema) {
            throw ConfigurationError(
                "option databaseOptions.initOptions.schema is not built into Roost: name the schema in databaseURI, as "
                    + "postgres://host/database?options=-c%20search_path%3D%22mySchema%22")
        }
        func setting(_ key: String, in range: ClosedRange<Int>) throws(ConfigurationError) -> Int? {
            guard let value = json[key]?.numberValue else { return nil }
            guard let number = Int(exactly: value.rounded(.towardZero)), range.contains(number) else {
                throw ConfigurationError("Key databaseOptions.\(key) has invalid value \(JSONValue.number(value).text)")
            }
            return number
        }
        allowPublicExplain = json["allowPublicExplain"]?.boolValue ?? (preset <= 8)
        let most = try setting("max", in: 1...1000)
        poolSize = try setting("poolSize", in: 1...1000) ?? most ?? poolSize
        sharedConnections = try setting("sharedConnections", in: 1...1000)
        heavyStatements = try setting("heavyStatements", in: 1...1000)
        schemaCacheTtl = try setting("schemaCacheTtl", in: 0...86_400_000).map { max($0, 1) } ?? schemaCacheTtl
        disableIndexFieldValidation = json["disableIndexFieldValidation"]?.boolValue ?? false
        transactionPooler = json["transactionPooler"]?.boolValue ?? false
    }

    /// What to tell about keys that have no effect: those of the drivers that parse-server uses.
    static func warnings(_ json: JSONObject) -> [String] {
        var warnings: [String] = []
        for (key, value) in json where !value.isNull && keys[key.text] == nil && !needless.contains(key) {
            warnings.append(
                "option databaseOptions.\(key) has no effect: parameters of the connection stand in databaseURI")
        }
        return warnings
    }
}
