/// One option of the server: its names, what it takes, and whether Roost builds it.
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

    /// The name in the configuration file; the flag is `--` and this name.
    public let name: String
    /// The environment variable.
    public let environment: String
    /// What it takes.
    public let kind: Kind
    /// What becomes of it.
    public let support: Support
    /// One line for people.
    public let help: String
    /// The keys of an object, each with what it takes; nil when any are allowed.
    public let keys: [String: Kind]?

    init(
        _ name: String, _ environment: String, _ kind: Kind, _ help: String, support: Support = .built,
        keys: [String: Kind]? = nil
    ) {
        self.name = name
        self.environment = environment
        self.kind = kind
        self.help = help
        self.support = support
        self.keys = keys
    }
}
