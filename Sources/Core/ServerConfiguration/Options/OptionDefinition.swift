import JSON

/// One option of the server, or one member of an option that is an object: how it is called, what it takes, what it sets.
/// The reader, the variables, the help and docs/configuration.md follow from it.
public struct OptionDefinition: Sendable {
    /// What an option takes.
    public enum Kind: String, Sendable {
        case string, number, boolean, array, object
        /// A list of texts.
        case texts = "array of strings"
        /// A text or a list of texts.
        case stringOrArray = "string or array"
        /// A text or a number.
        case stringOrNumber = "string or number"
        /// Anything that JSON can say.
        case any
    }

    /// What becomes of a value.
    public enum Support: Sendable, Equatable {
        /// It has its effect.
        case built
        /// It is taken and has no effect, because there is nothing here for it to act on.
        case ignored(String)
        /// It is refused unless it says what is so anyway.
        case notBuilt
    }

    /// The environment variables of the members of an object.
    struct Variables: Sendable {
        /// What their names begin with.
        let prefix: String
        /// The members without which variables make no object, but count for one that is given.
        var needed: Set<String> = []
        /// Whether the members are together one more element of a list.
        var isElement = false
    }

    /// Sets what a value says.
    ///
    /// - Parameters:
    ///   - value: A value of the right kind, not null.
    ///   - name: What the option is called in an error.
    typealias Read =
        @Sendable (_ value: JSONValue, _ name: String, inout Configuration) throws(ConfigurationError) -> Void

    /// The name in the configuration file; the flag is `--` and this name.
    public let name: String
    /// The environment variable; empty for a member.
    public let environment: String
    /// What it takes.
    public let kind: Kind
    /// What becomes of it.
    public let support: Support
    /// One line for people, without the default.
    public let summary: String
    /// The members of an object.
    public let members: [OptionDefinition]
    /// Whether an object may have other members.
    let takesOthers: Bool
    let variables: Variables?
    let read: Read
    /// Sets the default of servers of a line, where it is not that of the newest.
    let setDefault: @Sendable (_ preset: Int, inout Configuration) -> Void
    /// The value in words; nil for none.
    let word: @Sendable (Configuration) -> String?

    /// An option that sets what `read` sets of it; nothing when it says nothing.
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

    /// An option that is one member of the configuration.
    ///
    /// - Parameters:
    ///   - older: Defaults up to a preset, the oldest first; from then on it is what the member begins with.
    ///   - word: The value in words; nil for none.
    ///   - parse: What a value says; nil for nothing.
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

    /// The defaults of presets 4 to 9 in words; nil for none.
    public var defaults: [String?] { OptionTable.defaults.map(word) }

    /// One line for people: what it is about, and the default.
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

/// A member of the configuration that an option sets.
typealias OptionPath<Value> = any WritableKeyPath<Configuration, Value> & Sendable

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
            guard let json, json.objectValue != nil else { throw .invalid(name, "an object in JSON") }
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

    /// Whether a value is a list of texts and nothing else: another element would have meant something, and be lost.
    private static func areTexts(_ value: JSONValue) -> Bool {
        value.arrayValue?.allSatisfy { $0.stringValue != nil } ?? false
    }
}
