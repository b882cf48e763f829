import JSON
import ParseModel

extension Distribution {
    /// Reads the option `distribution`.
    ///
    /// - Throws: `ConfigurationError` if a value is missing, unknown or invalid.
    init(_ value: JSONValue, _ name: String) throws(ConfigurationError) {
        let object = value.objectValue ?? [:]
        let keys: Set<Name> = ["engine", "mode", "shards", "classes"]
        if let key = object.keys.first(where: { !keys.contains($0) }) {
            throw ConfigurationError("unknown option \(name).\(key)")
        }
        guard object["engine"]?.stringValue == "citus" else {
            throw ConfigurationError("\(name).engine must be \"citus\"")
        }
        guard let mode = object["mode"]?.stringValue, ["schema", "rows"].contains(mode) else {
            throw ConfigurationError("\(name).mode must be \"schema\" or \"rows\"")
        }
        self.init(isBySchema: mode == "schema")
        if isBySchema, let key = ["shards", "classes"].first(where: { object[$0] != nil }) {
            throw ConfigurationError("\(name).\(key) requires the mode \"rows\"")
        }
        if let shards = object["shards"] { self.shards = try shards.whole(in: 1...1024, "\(name).shards") }
        guard let classes = object["classes"] else { return }
        guard let classes = classes.objectValue else {
            throw ConfigurationError("\(name).classes must be an object keyed by class name")
        }
        for (className, value) in classes {
            let placement = try Self.placement(value, "\(name).classes.\(className)")
            if className == "*" { others = placement } else { self.classes[className] = placement }
        }
    }

    private static func placement(_ value: JSONValue, _ name: String) throws(ConfigurationError) -> ClassPlacement {
        switch value {
        case "local": return .local
        case "reference": return .reference
        default: break
        }
        guard let object = value.objectValue, object.count == 1, let field = object["by"]?.stringValue else {
            throw ConfigurationError("\(name) must be \"local\", \"reference\" or {\"by\": \"<field>\"}")
        }
        guard Names.isIdentifier(field), !["createdAt", "updatedAt", "ACL"].contains(field) else {
            throw ConfigurationError("\(name).by must be objectId or a String or Pointer field")
        }
        return .rows(by: Name(field))
    }

    /// Checks the option against `databaseSchema`.
    ///
    /// - Parameter schema: The app's schema, or nil for the connection's default schema.
    /// - Throws: `ConfigurationError` if the mode doesn't fit the schema, or if a system class isn't local.
    func check(schema: String?) throws(ConfigurationError) {
        if isBySchema, schema == nil {
            throw ConfigurationError("distribution.mode \"schema\" requires databaseSchema, the schema of the app")
        }
        if !isBySchema, schema != nil {
            throw ConfigurationError("distribution.mode \"rows\" can't be combined with databaseSchema")
        }
        for (name, placement) in classes where name.hasPrefix("_") && placement != .local {
            throw ConfigurationError(
                "distribution.classes.\(name): system classes are always \"local\"")
        }
    }
}

extension OptionTable {
    static let distribution = OptionDefinition.custom(
        "distribution", "ROOST_DISTRIBUTION", .object, \.distribution,
        "Distribution of classes over Citus servers: engine, mode (schema, rows), shards, classes; see citus.md"
    ) { value, name throws(ConfigurationError) in .some(try Distribution(value, name)) }
    .checked(beside: ["databaseSchema", "databaseOptions"]) { configuration throws(ConfigurationError) in
        try configuration.distribution?.check(schema: configuration.databaseSchema)
    }
}
