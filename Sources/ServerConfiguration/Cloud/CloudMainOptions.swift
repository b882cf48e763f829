import JSON

/// The options of cloud code in JavaScript: an app's `cloud/main.js`, run by Node.
enum CloudMainOptions {
    /// Their rows in the table.
    static let table = [
        OptionDefinition(
            "cloud", "PARSE_SERVER_CLOUD", .string,
            "The app's cloud code in JavaScript, such as ./cloud/main.js; Node.js 18 or later runs it"),
        OptionDefinition(
            "cloudNode", "ROOST_CLOUD_NODE", .string, "The program that runs it; default the node on the PATH"),
        OptionDefinition(
            "cloudWorkers", "ROOST_CLOUD_WORKERS", .number,
            "How many processes run it; default 1, so that what it keeps in variables is there for all calls"),
        OptionDefinition(
            "cloudTimeout", "ROOST_CLOUD_TIMEOUT", .number,
            "How long its functions and triggers are waited for, in milliseconds, 0 for ever; default 60000"),
        OptionDefinition(
            "cloudLegacyCallbacks", "ROOST_CLOUD_LEGACY_CALLBACKS", .boolean,
            "Whether its handlers with two parameters call response.success or response.error, as before parse-server 3; "
                + "default false"),
        OptionDefinition(
            "cloudHttpRequest", "ROOST_CLOUD_HTTP_REQUEST", .boolean,
            "Whether it has Parse.Cloud.httpRequest, as before parse-server 6; default false"),
        OptionDefinition(
            "encodeParseObjectInCloudFunction", "PARSE_SERVER_ENCODE_PARSE_OBJECT_IN_CLOUD_FUNCTION", .boolean,
            "Whether its functions get pointers in their parameters as objects; default true (false up to preset 7), and "
                + "always with preset 9"),
        OptionDefinition(
            "watch", "ROOST_WATCH", .boolean,
            "Whether cloud code is loaded again when its files change, for development; default false"),
    ]
}

extension Configuration {
    /// Cloud code in JavaScript.
    public struct CloudMain: Sendable {
        /// The app's file; nil for none.
        public var main: String?
        /// The program that runs it; nil for the one on the PATH.
        public var node: String?
        /// How many processes run it.
        public var workers = 1
        /// How long functions and triggers are waited for; nil for as long as they take.
        public var timeLimit: Duration? = .seconds(60)
        /// Whether handlers with two parameters say by the second when they are done.
        public var legacyCallbacks = false
        /// Whether `Parse.Cloud.httpRequest` is there.
        public var httpRequest = false
        /// Whether it is loaded again when its files change.
        public var isWatching = false
        /// Whether pointers in parameters of functions become objects (`encodeParseObjectInCloudFunction`).
        public var decodesPointers = true

        init() {}
    }
}

extension Configuration.CloudMain {
    /// Reads the options.
    ///
    /// - Parameter values: All options.
    /// - Throws: `ConfigurationError` for what cannot be.
    init(values: [String: JSONValue], preset: Int) throws(ConfigurationError) {
        self.init()
        func text(_ name: String) -> String? { values[name]?.stringValue.flatMap { $0.isEmpty ? nil : $0 } }
        func flag(_ name: String, _ fallback: Bool) -> Bool { values[name]?.boolValue ?? fallback }
        func number(_ name: String, in range: ClosedRange<Int>) throws(ConfigurationError) -> Int? {
            guard let number = values[name]?.numberValue else { return nil }
            guard let integer = Int(exactly: number), range.contains(integer) else {
                throw ConfigurationError("Key \(name) has invalid value \(JSONValue.number(number).text)")
            }
            return integer
        }
        main = text("cloud")
        node = text("cloudNode")
        workers = try number("cloudWorkers", in: 1...64) ?? 1
        if let milliseconds = try number("cloudTimeout", in: 0...86_400_000) {
            timeLimit = milliseconds == 0 ? nil : .milliseconds(milliseconds)
        }
        legacyCallbacks = flag("cloudLegacyCallbacks", false)
        httpRequest = flag("cloudHttpRequest", false)
        isWatching = flag("watch", false)
        decodesPointers = preset >= 9 || flag("encodeParseObjectInCloudFunction", preset >= 8)
    }
}
