import JSON

/// Why a configuration is refused, in words for the operator.
public struct ConfigurationError: Error, Sendable, Equatable {
    /// The words.
    public let message: String

    /// A mistake in the configuration, in words for the operator.
    public init(_ message: String) { self.message = message }
}

extension Configuration {
    /// Reads the options from where they may stand: a flag outweighs the environment, that the file, and that the
    /// preset's default.
    ///
    /// - Parameters:
    ///   - file: The bytes of the JSON file; nil when there is none.
    ///   - environment: The environment's variables.
    ///   - flags: The arguments of the command: `--name value`, `--name=value`, or `--name` alone for true.
    ///   - fallbacks: What holds for options that stand nowhere.
    /// - Returns: The configuration, and warnings about options without effect.
    /// - Throws: `ConfigurationError` for an option that is malformed, not built, or, from preset 9 on, unknown.
    public static func load(
        file: [UInt8]?, environment: [String: String], flags: [String], fallbacks: [String: JSONValue] = [:]
    ) throws(ConfigurationError) -> (configuration: Configuration, warnings: [String]) {
        var values = fallbacks
        var given: [String: Setting.Given] = [:]
        var unknown: [String] = []
        for (name, value) in try fileOptions(file) {
            guard OptionTable.find(name.text) != nil else {
                unknown.append(name.text)
                continue
            }
            values[name.text] = value
            given[name.text] = Setting.Given(value, .file)
        }
        for (name, value) in try environmentOptions(environment) {
            values[name] = value
            given[name] = Setting.Given(value, .environment, [OptionTable.find(name)?.environment ?? ""])
        }
        var warnings: [String] = []
        for variables in MemberVariables.all {
            if let warning = try variables.merge(environment, into: &values) {
                warnings.append(warning)
            } else if let option = variables.path.first {
                let names = variables.names.filter { environment[$0]?.isEmpty == false }.sorted()
                guard !names.isEmpty else { continue }
                given[option] = Setting.Given(.null, .environment, (given[option]?.from ?? []) + names)
            }
        }
        for (name, value) in try flagOptions(flags) {
            values[name] = value
            given[name] = Setting.Given(value, .flag, ["--" + name])
        }
        values = values.filter { !$0.value.isNull }
        for name in given.keys { given[name] = values[name].flatMap { given[name]?.with($0) } }
        if let adapter = values["filesAdapter"] {
            values["filesAdapter"] = FileStoreReader.complete(adapter, from: environment)
        }
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            guard let definition = OptionTable.find(name) else { continue }
            unknown += try unknownKeys(definition, name, value)
            switch definition.support {
            case .built: break
            case .ignored(let why): warnings.append("option \(name) has no effect: \(why)")
            case .notBuilt:
                guard isHarmless(value) else {
                    throw ConfigurationError(
                        "option \(name) is not built into this version of Roost: \(definition.summary)")
                }
            }
        }
        let preset = try values["preset"]?.whole(in: 4...9, "preset") ?? 9
        // parse-server has always gone on without them. A new server learns of a misspelt option in time.
        if preset >= 9, let first = unknown.first { throw ConfigurationError("error: unknown option \(first)") }
        warnings += unknown.map { "option \($0) has no effect: it is not known" }
        var configuration = try Configuration(preset: preset, values: values)
        let names = ["GOOGLE_APPLICATION_CREDENTIALS", "GCE_METADATA_HOST"]
        configuration.given = given
        configuration.cloudVariables = environment.filter { $0.key.hasPrefix("AWS_") || names.contains($0.key) }
        return (configuration, warnings + configuration.warnings(values))
    }

    private static func fileOptions(_ file: [UInt8]?) throws(ConfigurationError) -> JSONObject {
        guard let file else { return [:] }
        let json: JSONValue
        do {
            json = try JSONValue(parsing: file)
        } catch {
            throw ConfigurationError("the configuration file is not JSON: \(error.reason) at byte \(error.offset)")
        }
        guard var object = json.objectValue else {
            throw ConfigurationError("the configuration file must hold a JSON object")
        }
        if let apps = object["apps"]?.arrayValue {
            guard apps.count == 1, let app = apps[0].objectValue else {
                throw ConfigurationError("Multiple apps are not supported")
            }
            object = app
        }
        return object
    }

    private static func environmentOptions(_ environment: [String: String]) throws(ConfigurationError) -> [String:
        JSONValue]
    {
        var values: [String: JSONValue] = [:]
        for definition in OptionTable.all {
            guard let text = environment[definition.environment], !text.isEmpty else { continue }
            values[definition.name] = try definition.kind.read(text, definition.name)
        }
        return values
    }

    private static func flagOptions(_ flags: [String]) throws(ConfigurationError) -> [String: JSONValue] {
        var values: [String: JSONValue] = [:]
        var rest = flags[...]
        while let flag = rest.popFirst() {
            guard flag.hasPrefix("--") else { throw ConfigurationError("error: unexpected argument \(flag)") }
            let parts = flag.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = parts.first.map(String.init), let definition = OptionTable.find(name) else {
                throw ConfigurationError("error: unknown option \(flag)")
            }
            if parts.count == 2 {
                values[name] = try definition.kind.read(String(parts[1]), name)
            } else if let next = rest.first, !next.hasPrefix("--") {
                values[name] = try definition.kind.read(next, name)
                rest.removeFirst()
            } else if definition.kind == .boolean {
                values[name] = true
            } else {
                throw ConfigurationError("error: option \(flag) needs a value")
            }
        }
        return values
    }

    /// Checks the value of an option; returns the keys in it that there are not.
    private static func unknownKeys(
        _ definition: OptionDefinition, _ name: String, _ value: JSONValue
    ) throws(ConfigurationError) -> [String] {
        guard definition.kind.fits(value) else { throw .invalid(name, value.text) }
        guard definition.kind == .object, definition.support == .built, !definition.members.isEmpty else { return [] }
        var unknown: [String] = []
        for (key, value) in value.objectValue ?? [:] {
            if let member = definition.members.first(where: { $0.name == key.text }) {
                guard member.support == .built, !value.isNull else { continue }
                unknown += try unknownKeys(member, "\(name).\(key)", value)
            } else if !definition.takesOthers {
                unknown.append("\(name).\(key)")
            }
        }
        return unknown
    }

    /// Whether the value of an option that is not built asks for nothing.
    static func isHarmless(_ value: JSONValue) -> Bool {
        switch value {
        case .null, .bool(false), .string(""): return true
        case .array(let list): return list.isEmpty
        case .object(let object):
            return object.values.allSatisfy { $0 == .bool(false) || $0.isNull }
        default: return false
        }
    }
}
