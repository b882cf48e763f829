import JSON

/// Reads the options of an adapter one by one. Options that are never read count as unknown.
struct AdapterOptions {
    let module: String
    private let values: JSONObject
    private var known: Set<Name> = []
    private var unknownOfMembers: [String] = []
    let path: String

    init(_ module: String, _ values: JSONObject, path: String = "emailAdapter.options") {
        self.module = module
        self.values = values
        self.path = path
    }

    /// Returns the value of an option, or nil if it is missing or null.
    mutating func value(_ key: Name) -> JSONValue? {
        known.insert(key)
        return values[key]?.orNil
    }

    /// Returns a text, or nil if it is missing or null.
    ///
    /// - Throws: `ConfigurationError` for other values, an empty text, and control characters, which could break
    ///   protocol lines and URLs.
    mutating func text(_ key: Name) throws(ConfigurationError) -> String? {
        guard let value = value(key) else { return nil }
        guard let text = value.stringValue, !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw ConfigurationError("option \(path).\(key) must be a non-empty string without control characters")
        }
        return text
    }

    /// Returns a text that may have several lines, or nil if it is missing, null or empty.
    mutating func lines(_ key: Name) throws(ConfigurationError) -> String? {
        guard let value = value(key) else { return nil }
        guard let text = value.stringValue else { throw ConfigurationError("option \(path).\(key) must be a string") }
        return text.isEmpty ? nil : text
    }

    /// Returns the text of a required option.
    ///
    /// - Throws: `ConfigurationError` if the option is missing or invalid.
    mutating func needed(_ key: Name) throws(ConfigurationError) -> String {
        guard let text = try text(key) else { throw ConfigurationError("option \(path).\(key) is missing") }
        return text
    }

    mutating func flag(_ key: Name) throws(ConfigurationError) -> Bool? {
        guard let value = value(key) else { return nil }
        switch value {
        case .bool(let flag): return flag
        case .string("true"): return true
        case .string("false"): return false
        default: throw ConfigurationError("option \(path).\(key) must be true or false")
        }
    }

    mutating func object(_ key: Name) throws(ConfigurationError) -> JSONObject? {
        guard let value = value(key) else { return nil }
        guard let object = value.objectValue else {
            throw ConfigurationError("option \(path).\(key) must be an object")
        }
        return object
    }

    mutating func whole(_ key: Name, in range: ClosedRange<Int>) throws(ConfigurationError) -> Int? {
        guard let value = value(key) else { return nil }
        let number = value.numberValue ?? value.stringValue.flatMap { Double($0) }
        guard let whole = number.flatMap({ Int(exactly: $0) }), range.contains(whole) else {
            throw ConfigurationError(
                "option \(path).\(key) must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return whole
    }

    mutating func port(_ key: Name, _ fallback: Int) throws(ConfigurationError) -> Int {
        guard let value = value(key) else { return fallback }
        let number = value.numberValue ?? value.stringValue.flatMap { Double($0) }
        guard let port = number.flatMap({ Int(exactly: $0) }), (1...65_535).contains(port) else {
            throw ConfigurationError("option \(path).\(key) must be a port from 1 to 65535")
        }
        return port
    }

    mutating func url(_ key: Name) throws(ConfigurationError) -> String? {
        guard var text = try text(key) else { return nil }
        guard text.hasPrefix("https://") || text.hasPrefix("http://"), !text.utf8.contains(UInt8(ascii: " ")) else {
            throw ConfigurationError("option \(path).\(key) must be a URL such as https://example.com/mails")
        }
        while text.utf8.last == UInt8(ascii: "/") { text.removeLast() }
        return text
    }

    /// Reads an option that is an object. Members that `read` doesn't read also count as unknown.
    mutating func nested<R>(_ key: Name, _ read: (inout AdapterOptions) throws(ConfigurationError) -> R)
        throws(ConfigurationError) -> R
    {
        var member = AdapterOptions(module, try object(key) ?? [:], path: "\(path).\(key)")
        let result = try read(&member)
        unknownOfMembers += member.unknown
        return result
    }

    /// The paths of the options that were not read.
    var unknown: [String] {
        values.keys.filter { !known.contains($0) }.map { "\(path).\($0)" } + unknownOfMembers
    }

    /// - Throws: `ConfigurationError` for an option that was not read.
    func checkAllKnown() throws(ConfigurationError) {
        if let first = unknown.first { throw .unknown(first, among: known.map(\.text)) }
    }

    /// Returns the error for an option that Roost can't honor.
    ///
    /// - Parameter instead: The replacement or remedy.
    func refusal(_ key: String, _ why: String, _ instead: String) -> ConfigurationError {
        ConfigurationError("option \(path).\(key) of \(module): \(why). \(instead)")
    }
}
