import JSON
import ServerConfiguration

/// Reading what the option `auth` says of a provider.
enum ProviderOptions {
    /// A text, or a list of texts; empty for what is neither.
    static func texts(_ value: JSONValue?) -> [String] {
        switch value {
        case .string(let text)?: text.isEmpty ? [] : [text]
        case .array(let list)?: list.compactMap(\.stringValue).filter { !$0.isEmpty }
        default: []
        }
    }

    /// A text that is not empty.
    static func text(_ value: JSONValue?) -> String? {
        value?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Refuses a provider without a text, or a list of texts, that it cannot do without.
    static func require(_ key: Name, of name: Name, in options: JSONObject) throws(ConfigurationError) {
        guard texts(options[key]).isEmpty else { return }
        throw ConfigurationError(
            "option auth.\(name).\(key) is missing: without it tokens of other apps would be taken")
    }
}
