import JSON

extension Configuration.DeclaredSchemas {
    /// Reads the option `schema`, whose members are of the right kinds.
    ///
    /// - Throws: `ConfigurationError` for definitions that are no classes, or two of one class.
    init(json: JSONValue) throws(ConfigurationError) {
        self.init()
        func flag(_ name: String) -> Bool { json[name]?.boolValue ?? false }
        func paths(_ name: String) -> [String] {
            if let path = json[name]?.stringValue { return path.isEmpty ? [] : [path] }
            return json[name]?.arrayValue?.compactMap(\.stringValue) ?? []
        }
        strict = flag("strict")
        deleteExtraFields = flag("deleteExtraFields")
        recreateModifiedFields = flag("recreateModifiedFields")
        lockSchemas = flag("lockSchemas")
        keepUnknownIndexes = flag("keepUnknownIndexes")
        beforeMigration = paths("beforeMigration")
        afterMigration = paths("afterMigration")
        var names: Set<Name> = []
        for definition in json["definitions"]?.arrayValue ?? [] {
            guard let object = definition.objectValue, let name = object["className"]?.stringValue, !name.isEmpty else {
                throw ConfigurationError("schema.definitions: every schema needs a className")
            }
            guard names.insert(Name(name)).inserted else {
                throw ConfigurationError("schema.definitions: the list contains duplicated \"className\" \"\(name)\"")
            }
            definitions.append(object)
        }
    }
}
