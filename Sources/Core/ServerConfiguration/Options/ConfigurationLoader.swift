import JSON

extension Configuration {
    /// Reads the options. Precedence: flags, environment variables, file, `fallbacks`, preset defaults.
    ///
    /// - Parameters:
    ///   - file: The bytes of the JSON file, or nil if there is no file.
    ///   - fileName: The name of the file, for messages.
    ///   - environment: The environment variables.
    ///   - flags: The command's arguments: `--name value`, `--name=value`, or only `--name` for a true Boolean.
    ///   - fallbacks: Defaults that take precedence over the preset's.
    /// - Returns: The configuration, and warnings about options that have no effect or are unsafe.
    /// - Throws: `ConfigurationError` with all mistakes. They include unknown flags and, from preset 9 on, unknown
    ///   keys.
    public static func load(
        file: [UInt8]?, fileName: String? = nil, environment: [String: String], flags: [String],
        fallbacks: [String: JSONValue] = [:]
    ) throws(ConfigurationError) -> (configuration: Configuration, warnings: [String]) {
        var reader = ConfigurationLoader(values: fallbacks)
        try reader.readFile(file, named: fileName)
        reader.readEnvironment(environment)
        reader.readFlags(flags)
        return try reader.load(environment, fileName)
    }

    /// Whether a value is empty or disables its option.
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

private struct ConfigurationLoader {
    private struct Unknown {
        let name: String
        /// The names to choose a suggestion from.
        let known: [String]
        /// The top-level option that contains the key, or the key itself.
        let option: String
    }

    private static let help = "See roost serve --help"

    private var values: [String: JSONValue]
    private var given: [String: Setting.Given] = [:]
    private var mistakes = ConfigurationMistakes()
    private var unknown: [Unknown] = []
    private var warnings: [String] = []

    init(values: [String: JSONValue]) { self.values = values }

    private mutating func set(
        _ name: String, _ value: JSONValue, _ source: Setting.Source, _ from: [String] = [], at place: String?
    ) {
        values[name] = value
        given[name] = Setting.Given(value: value, source: source, from: from)
        mistakes.sources[name] = place
    }

    mutating func readFile(_ file: [UInt8]?, named name: String?) throws(ConfigurationError) {
        guard let file else { return }
        for (key, value) in try Self.object(in: file, name ?? "the configuration file") {
            if OptionTable.find(key.text) != nil {
                set(key.text, value, .file, at: name)
            } else {
                mistakes.sources[key.text] = name
                unknown.append(Unknown(name: key.text, known: OptionTable.all.map(\.name), option: key.text))
            }
        }
    }

    private static func object(in file: [UInt8], _ name: String) throws(ConfigurationError) -> JSONObject {
        let json: JSONValue
        do {
            json = try JSONValue(parsing: file)
        } catch {
            let before = file.prefix(error.offset)
            let line = before.count { $0 == UInt8(ascii: "\n") } + 1
            let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            // Columns count characters, as in editors.
            let column = String(decoding: before[start...], as: UTF8.self).count + 1
            throw ConfigurationError("\(name) is not valid JSON: \(error.reason) at line \(line), column \(column)")
        }
        guard let object = json.objectValue else {
            throw ConfigurationError("\(name) must contain a JSON object, for example {\"appId\": \"myApp\"}")
        }
        guard let apps = object["apps"]?.arrayValue else { return object }
        guard apps.count == 1, let app = apps[0].objectValue else {
            throw ConfigurationError("Multiple apps are not supported. Start a server with its own file for each app")
                .found(in: name)
        }
        return app
    }

    mutating func readEnvironment(_ environment: [String: String]) {
        for definition in OptionTable.all {
            guard let text = environment[definition.environment], !text.isEmpty else { continue }
            let name = definition.name
            mistakes.sources[name] = definition.environment
            // The file's value is overridden, so it isn't checked.
            values[name] = nil
            if let value = mistakes.collect(
                name, { () throws(ConfigurationError) in try definition.kind.read(text, name) })
            {
                set(name, value, .environment, [definition.environment], at: definition.environment)
            }
        }
        for variables in MemberVariables.all {
            guard let option = variables.path.first else { continue }
            let names = variables.names.filter { environment[$0]?.isEmpty == false }.sorted()
            guard !names.isEmpty else { continue }
            var merged = values
            let place = mistakes.sources[option]
            mistakes.sources[option] = names.joined(separator: ", ")
            guard
                let warning = mistakes.collect(
                    option,
                    { () throws(ConfigurationError) in try variables.merge(environment, into: &merged) })
            else { continue }
            values = merged
            if let warning {
                warnings.append(warning)
                mistakes.sources[option] = place
            } else {
                mistakes.sources[option] = ([place].compactMap { $0 } + names).joined(separator: ", ")
                given[option] = Setting.Given(
                    value: .null, source: .environment, from: (given[option]?.from ?? []) + names)
            }
        }
    }

    mutating func readFlags(_ flags: [String]) {
        var rest = flags[...]
        var last: String?
        while let flag = rest.popFirst() {
            guard flag.hasPrefix("--") else {
                // After a flag, the text may be part of a key, so the error doesn't quote it.
                mistakes.add(
                    ConfigurationError(
                        last.map {
                            "error: unexpected argument after the value of --\($0). Quote values that contain spaces"
                        }
                            ?? (flag.hasPrefix("-")
                                ? "error: unknown option \(flag). Options begin with two dashes, for example --port"
                                : "error: unexpected argument \(flag)")), "")
                rest = rest.drop { !$0.hasPrefix("--") }
                continue
            }
            let parts = flag.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            let text: String? =
                if parts.count == 2 {
                    String(parts[1])
                } else if let next = rest.first, !next.hasPrefix("--") {
                    rest.removeFirst()
                } else {
                    nil
                }
            if let definition = OptionTable.find(name) {
                read(text, definition)
            } else {
                let known = OptionTable.all.map { "--" + $0.name }
                mistakes.add(.unknown("--" + name, among: known, otherwise: Self.help), "")
            }
            last = name
        }
    }

    /// Reads the value of a flag. Only Booleans may omit it.
    private mutating func read(_ text: String?, _ definition: OptionDefinition) {
        let (name, flag) = (definition.name, "--" + definition.name)
        mistakes.sources[name] = flag
        let value = mistakes.collect(name) { () throws(ConfigurationError) -> JSONValue in
            if let text { return try definition.kind.read(text, name) }
            guard definition.kind == .boolean else { throw ConfigurationError("\(name) needs a value") }
            return true
        }
        // The overridden value isn't checked.
        values[name] = nil
        if let value { set(name, value, .flag, [flag], at: flag) }
    }

    mutating func load(
        _ environment: [String: String], _ fileName: String?
    ) throws(ConfigurationError) -> (configuration: Configuration, warnings: [String]) {
        values = values.filter { !$0.value.isNull }
        if let adapter = values["filesAdapter"] {
            values["filesAdapter"] = FileStoreReader.complete(adapter, from: environment)
        }
        for (name, value) in values.sorted(by: { $0.key < $1.key }) { check(name, value) }
        given = given.filter { values[$0.key] != nil }
        for (name, value) in values { given[name]?.value = value }
        let line = values["preset"]
        let preset = mistakes.collect("preset") { () throws(ConfigurationError) in
            try line?.whole(in: 4...9, "preset") ?? 9
        }
        // parse-server ignores unknown options. Roost warns about them up to preset 8 and rejects them from 9 on.
        if preset ?? 9 >= 9 {
            for key in unknown {
                let isMember = key.name != key.option
                let advice = isMember ? "Allowed: \(key.known.joined(separator: ", "))" : Self.help
                mistakes.add(.unknown(key.name, among: key.known, otherwise: advice), key.option)
            }
        } else {
            warnings += unknown.map { key in
                let hint = ConfigurationError.hint(key.name, among: key.known)
                return "option \(key.name) is unknown and was ignored" + (hint.map { ". \($0)" } ?? "")
            }
        }
        var configuration = try Configuration(preset: preset ?? 9, values: values, mistakes)
        configuration.given = given
        configuration.fileName = fileName
        let names = ["GOOGLE_APPLICATION_CREDENTIALS", "GCE_METADATA_HOST"]
        configuration.cloudVariables = environment.filter { $0.key.hasPrefix("AWS_") || names.contains($0.key) }
        return (configuration, warnings + configuration.warnings(values))
    }

    private mutating func check(_ name: String, _ value: JSONValue) {
        guard let definition = OptionTable.find(name) else { return }
        values[name] = normalized(definition, name, value, of: name)
        switch definition.support {
        case .built: break
        case .ignored(let why): warnings.append("option \(name) has no effect: \(why)")
        case .notBuilt:
            guard !Configuration.isHarmless(value) else { break }
            mistakes.add(ConfigurationError("\(name) is not supported. Remove it: \(definition.summary)"), name)
        }
    }

    /// Returns the value with numbers and Booleans parsed from texts, or nil if its type is wrong. Records that mistake
    /// and unknown members.
    private mutating func normalized(
        _ definition: OptionDefinition, _ name: String, _ value: JSONValue, of option: String
    ) -> JSONValue? {
        let value = definition.kind.normalized(value)
        guard definition.kind.fits(value) else {
            mistakes.add(.invalid(name, definition.allowed), option)
            return nil
        }
        guard definition.kind == .object, definition.support == .built, !definition.members.isEmpty,
            var object = value.objectValue
        else { return value }
        for (key, value) in object {
            if let member = definition.members.first(where: { $0.name == key.text }) {
                guard member.support == .built, !value.isNull else { continue }
                object[key] = normalized(member, "\(name).\(key)", value, of: option)
            } else if !definition.takesOthers {
                unknown.append(
                    Unknown(name: "\(name).\(key)", known: definition.members.map(\.name), option: option))
            }
        }
        return .object(object)
    }
}
