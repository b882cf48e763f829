import JSON

/// Values and texts of the kinds that options take.
extension OptionDefinition.Kind {
    /// Reads a text of the environment or of a flag.
    ///
    /// - Parameter name: What the option is called in an error.
    /// - Throws: `ConfigurationError` for a text that is no value of this kind.
    func read(_ text: String, _ name: String) throws(ConfigurationError) -> JSONValue {
        let json = try? JSONValue(parsing: Array(text.utf8))
        switch self {
        case .string, .stringOrNumber: return .string(text)
        case .number:
            guard let number = Double(text) else {
                throw ConfigurationError("Key \(name) has invalid value \(text)")
            }
            return .number(number)
        case .boolean: return .bool(text == "true" || text == "1")
        case .array, .texts, .stringOrArray:
            if let list = json?.arrayValue { return .array(list) }
            return .array(
                text.split(separator: ",").map { part in
                    .string(String(part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()))
                })
        case .object:
            guard let json, json.objectValue != nil else {
                throw ConfigurationError("Key \(name) has invalid value \(text)")
            }
            return json
        case .any: return json ?? .string(text)
        }
    }

    /// Whether a value is one of this kind.
    func fits(_ value: JSONValue) -> Bool {
        switch self {
        case .string: value.stringValue != nil
        case .number: value.numberValue != nil
        case .stringOrNumber: value.stringValue != nil || value.numberValue != nil
        case .boolean: value.boolValue != nil
        case .array: value.arrayValue != nil
        case .texts: Self.areTexts(value)
        case .object: value.objectValue != nil
        case .stringOrArray: value.stringValue != nil || Self.areTexts(value)
        case .any: true
        }
    }

    /// Whether a value is a list of texts and nothing else: another element would have meant something, and be lost.
    private static func areTexts(_ value: JSONValue) -> Bool {
        value.arrayValue?.allSatisfy { $0.stringValue != nil } ?? false
    }
}
