import JSON

/// An option of the server, or a member of an option that is an object. The reader, the environment variables, `--help`
/// and docs/configuration.md are derived from it.
public struct OptionDefinition: Sendable {
    /// The kind of value that an option accepts.
    public enum Kind: String, Sendable {
        case string, number, boolean, array, object
        case texts = "array of strings"
        case stringOrArray = "string or array"
        case stringOrNumber = "string or number"
        case any
    }

    /// The way the server treats an option.
    public enum Support: Sendable, Equatable {
        /// Supported.
        case built
        /// Accepted without effect, for the reason given.
        case ignored(String)
        /// Rejected unless the value disables the option.
        case notBuilt
    }

    /// The environment variables of the members of an object.
    package struct Variables: Sendable {
        package let prefix: String
        /// The members that the variables must set if the option isn't set otherwise. If one is missing, all are
        /// ignored.
        package var needed: Set<String> = []
        /// Whether the members form an additional element of a list.
        var isElement = false
    }

    /// Applies a value to a configuration.
    ///
    /// - Parameters:
    ///   - value: A value of the right kind, never null.
    ///   - name: The option's name, for errors.
    typealias Read =
        @Sendable (_ value: JSONValue, _ name: String, inout Configuration) throws(ConfigurationError) -> Void

    typealias Check = @Sendable (Configuration) throws(ConfigurationError) -> Void

    /// The name in the configuration file. Except for members, the flag is `--` followed by this name.
    public let name: String
    /// The environment variable, or an empty string for a member.
    public let environment: String
    public let kind: Kind
    public let support: Support
    /// The meaning of the option in one line. Names the default only if ``word`` can't describe it.
    public let summary: String
    public let members: [OptionDefinition]
    /// Whether an object may have members that are not listed.
    let takesOthers: Bool
    let variables: Variables?
    let read: Read
    /// Applies the default of an older preset if it differs from the newest preset's.
    let setDefault: @Sendable (_ preset: Int, inout Configuration) -> Void
    /// Describes the option's value in a configuration, or returns nil if it isn't shown.
    let word: @Sendable (Configuration) -> String?
    /// The check against other options, skipped if one of them already has a mistake, or nil for none.
    private(set) var check: (others: [String], run: Check)?

    /// Creates an option whose value is applied by `read` and, if it is an object, by its members.
    init(
        _ name: String, _ environment: String?, _ kind: Kind, _ summary: String, support: Support = .built,
        members: [OptionDefinition] = [], takesOthers: Bool? = nil, variables: Variables? = nil,
        read: @escaping Read = { _, _, _ in }
    ) {
        self.name = name
        self.environment = environment ?? ""
        self.kind = kind
        self.summary = summary
        self.support = support
        self.members = members
        self.takesOthers = takesOthers ?? members.isEmpty
        self.variables = variables
        self.read = { value, name, configuration throws(ConfigurationError) in
            try read(value, name, &configuration)
            guard let object = value.objectValue else { return }
            var mistakes = ConfigurationMistakes()
            for member in members {
                guard let value = object[member.name], !value.isNull else { continue }
                do throws(ConfigurationError) {
                    try member.read(value, "\(name).\(member.name)", &configuration)
                } catch {
                    mistakes.add(error, member.name)
                }
            }
            try mistakes.check()
        }
        setDefault = { preset, configuration in
            for member in members { member.setDefault(preset, &configuration) }
        }
        word = { _ in nil }
    }

    /// Creates an option that sets one property of the configuration.
    ///
    /// - Parameters:
    ///   - older: Defaults by the last preset that has them, oldest first. For later presets, the property's initial
    ///     value is the default.
    ///   - word: Describes a value, or returns nil if it isn't shown.
    ///   - parse: Returns the parsed value, or nil to leave the default.
    init<Value: Sendable>(
        _ name: String, _ environment: String?, _ kind: Kind, _ path: OptionPath<Value>,
        older: KeyValuePairs<Int, Value>, _ summary: String, members: [OptionDefinition] = [],
        variables: Variables? = nil, word: @escaping @Sendable (Value) -> String? = { _ in nil },
        parse: @escaping @Sendable (_ value: JSONValue, _ name: String) throws(ConfigurationError) -> Value?
    ) {
        self.name = name
        self.environment = environment ?? ""
        self.kind = kind
        self.summary = summary
        self.members = members
        self.variables = variables
        support = .built
        takesOthers = members.isEmpty
        read = { value, name, configuration throws(ConfigurationError) in
            if let value = try parse(value, name) { configuration[keyPath: path] = value }
        }
        setDefault = { preset, configuration in
            guard let fitting = older.first(where: { preset <= $0.key }) else { return }
            configuration[keyPath: path] = fitting.value
        }
        self.word = { word($0[keyPath: path]) }
    }

    /// Returns the option with a check against others.
    func checked(beside others: [String], _ run: @escaping Check) -> OptionDefinition {
        var option = self
        option.check = (others, run)
        return option
    }

    /// The defaults of presets 4 to 9 in words, each nil if it isn't shown.
    public var defaults: [String?] { OptionTable.defaults.map(word) }

    /// One line for `--help`: the meaning and the default.
    public var help: String {
        let words = defaults
        guard let newest = words.last ?? nil else { return summary }
        var older: [String] = []
        for (index, (word, next)) in zip(words, words.dropFirst()).enumerated() where word != next {
            older.append("\(word ?? "none") up to preset \(index + 4)")
        }
        return "\(summary); default \(newest)" + (older.isEmpty ? "" : " (\(older.joined(separator: ", ")))")
    }
}

/// The property of the configuration that an option sets.
typealias OptionPath<Value> = any WritableKeyPath<Configuration, Value> & Sendable

/// Parsing of values and texts by kind.
extension OptionDefinition.Kind {
    /// Parses the text of an environment variable or a flag.
    ///
    /// - Parameter name: The option's name, for errors.
    /// - Throws: `ConfigurationError` if the text is not a value of this kind.
    func read(_ text: String, _ name: String) throws(ConfigurationError) -> JSONValue {
        let json = try? JSONValue(parsing: Array(text.utf8))
        switch self {
        case .string, .stringOrNumber: return .string(text)
        case .number:
            guard let number = Double(text) else { throw .invalid(name, "a number") }
            return .number(number)
        case .boolean: return .bool(text == "true" || text == "1")
        case .array, .texts, .stringOrArray:
            if let list = json?.arrayValue { return .array(list) }
            return .array(
                text.split(separator: ",").map { part in
                    .string(String(part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()))
                })
        case .object:
            guard let json, json.objectValue != nil else { throw .invalid(name, "a JSON object") }
            return json
        case .any: return json ?? .string(text)
        }
    }

    /// Parses a number or Boolean written as a text, as parse-server does. Returns other values unchanged.
    func normalized(_ value: JSONValue) -> JSONValue {
        switch (self, value) {
        case (.number, .string(let text)): Double(text).flatMap { $0.isFinite ? .number($0) : nil } ?? value
        case (.boolean, "true"): true
        case (.boolean, "false"): false
        default: value
        }
    }

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

    /// Whether a value is a list of texts only. Other elements would be dropped silently.
    private static func areTexts(_ value: JSONValue) -> Bool {
        value.arrayValue?.allSatisfy { $0.stringValue != nil } ?? false
    }
}
