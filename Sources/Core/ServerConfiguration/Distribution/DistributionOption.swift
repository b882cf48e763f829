import JSON

extension Configuration {
    /// The distribution of classes over the servers of a Citus cluster.
    public struct Distribution: Sendable, Equatable {
        /// The unit of distribution.
        public enum Mode: String, Sendable, CaseIterable {
            /// The whole app is on one server, in its own schema.
            case schema
            /// The rows of a class are distributed by the value of one field.
            case rows
        }

        /// The distribution of one class.
        public enum Placement: Sendable, Equatable {
            /// On the coordinator only.
            case local
            /// A copy on every server.
            case reference
            /// Each row on the server chosen by the hash of a field's value.
            case rows(by: String)
        }

        public var mode: Mode
        /// The number of shards of a class.
        public var shards = 4
        /// The distribution of individual classes, by name.
        public var classes: [String: Placement] = [:]
        /// The distribution of all other classes of the app.
        public var others = Placement.local

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
            guard let mode = object["mode"]?.stringValue.flatMap(Mode.init) else {
                throw ConfigurationError("\(name).mode must be \"schema\" or \"rows\"")
            }
            self.mode = mode
            if mode == .schema, let key = ["shards", "classes"].first(where: { object[$0] != nil }) {
                throw ConfigurationError("\(name).\(key) requires the mode \"rows\"")
            }
            if let shards = object["shards"] { self.shards = try shards.whole(in: 1...1024, "\(name).shards") }
            guard let classes = object["classes"] else { return }
            guard let classes = classes.objectValue else {
                throw ConfigurationError("\(name).classes must be an object keyed by class name")
            }
            for (className, value) in classes {
                let placement = try Self.placement(value, "\(name).classes.\(className)")
                if className == "*" { others = placement } else { self.classes[className.text] = placement }
            }
        }

        private static func placement(_ value: JSONValue, _ name: String) throws(ConfigurationError) -> Placement {
            switch value {
            case "local": return .local
            case "reference": return .reference
            default: break
            }
            guard let object = value.objectValue, object.count == 1, let field = object["by"]?.stringValue else {
                throw ConfigurationError("\(name) must be \"local\", \"reference\" or {\"by\": \"<field>\"}")
            }
            let isName = field.wholeMatch(of: /[A-Za-z][A-Za-z0-9_]*/) != nil
            guard isName, !["createdAt", "updatedAt", "ACL"].contains(field) else {
                throw ConfigurationError("\(name).by must be objectId or a String or Pointer field")
            }
            return .rows(by: field)
        }

        /// Checks the option against `databaseSchema`.
        ///
        /// - Parameter schema: The app's schema, or nil for the connection's default schema.
        /// - Throws: `ConfigurationError` if the mode doesn't fit the schema, or if a system class isn't local.
        func check(schema: String?) throws(ConfigurationError) {
            switch mode {
            case .schema where schema == nil:
                throw ConfigurationError("distribution.mode \"schema\" requires databaseSchema, the schema of the app")
            case .rows where schema != nil:
                throw ConfigurationError(
                    "distribution.mode \"rows\" can't be combined with databaseSchema")
            default: break
            }
            for (name, placement) in classes where name.hasPrefix("_") && placement != .local {
                throw ConfigurationError(
                    "distribution.classes.\(name): system classes are always \"local\"")
            }
        }
    }
}

extension OptionTable {
    static let distribution = OptionDefinition.custom(
        "distribution", "ROOST_DISTRIBUTION", .object, \.distribution,
        "Distribution of classes over Citus servers: engine, mode (schema, rows), shards, classes; see citus.md"
    ) { value, name throws(ConfigurationError) in .some(try Configuration.Distribution(value, name)) }
    .checked(beside: ["databaseSchema", "databaseOptions"]) { configuration throws(ConfigurationError) in
        try configuration.distribution?.check(schema: configuration.databaseSchema)
    }
}
