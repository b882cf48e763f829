import JSON

/// The environment variables of an option's members, by parse-server's names: the member `duration` of `accountLockout`
/// is `PARSE_SERVER_ACCOUNT_LOCKOUT_DURATION`.
package struct MemberVariables: Sendable {
    /// The path to the object that contains the members, for example `["accountLockout"]`.
    package let path: [String]
    /// The prefix of the variables' names, and the needed members.
    package let form: OptionDefinition.Variables
    /// The members with the kinds of their values.
    package let members: [String: OptionDefinition.Kind]

    /// The variables of all options. Those of an outer object precede those of its nested objects.
    package static let all = OptionTable.all.flatMap { variables(of: $0, [$0.name]) }

    private static func variables(of definition: OptionDefinition, _ path: [String]) -> [MemberVariables] {
        let inner = definition.members.flatMap { variables(of: $0, path + [$0.name]) }
        guard let variables = definition.variables else { return inner }
        let members = definition.members.filter { !unbuilt.contains($0.name) }
        return [
            MemberVariables(
                path: path, form: variables,
                members: Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0.kind) }))
        ] + inner
    }

    /// Members without variables. Roost rejects or ignores most of their values, and parse-server reads no variables
    /// for them, so setting one must not prevent the start.
    private static let unbuilt: Set<String> = ["checkGroups", "initOptions", "pubSubAdapter", "redisUrl", "wssAdapter"]

    package var names: [String] { members.keys.map { variable(of: $0) } }

    /// Merges the values of the variables into the options. They override members from the file or the option's own
    /// variable.
    ///
    /// parse-server declares such variables without reading them. A deployment may have set some of them for years, so
    /// an incomplete set must not change the server.
    ///
    /// - Returns: A warning if the variables have no effect.
    /// - Throws: `ConfigurationError` for a value of the wrong kind.
    func merge(
        _ environment: [String: String], into values: inout [String: JSONValue]
    ) throws(ConfigurationError) -> String? {
        var given: JSONObject = [:]
        for (member, kind) in members.sorted(by: { $0.key < $1.key }) {
            guard let text = environment[variable(of: member)], !text.isEmpty else { continue }
            given[member] = try kind.read(text, "\(path.joined(separator: ".")).\(member)")
        }
        guard !given.isEmpty, let option = path.first else { return nil }
        let isGiven = !form.isElement && values[option].map { !$0.isNull } ?? false
        guard isGiven || form.needed.allSatisfy({ given[Name($0)] != nil }) else {
            let missing = form.needed.sorted().map(variable).joined(separator: " and ")
            return "the variables \(form.prefix)_… have no effect without \(missing)"
        }
        values[option] = adding(given, to: values[option] ?? .null, at: path.dropFirst())
        return nil
    }

    /// Returns the value with members added to the object at the path. Leaves values of other kinds unchanged, since a
    /// later check rejects them.
    private func adding(_ given: JSONObject, to value: JSONValue, at path: ArraySlice<String>) -> JSONValue {
        if path.isEmpty, form.isElement {
            switch value {
            case .null: return .array([.object(given)])
            case .array(let list): return .array(list + [.object(given)])
            case .object: return .array([value, .object(given)])
            default: return value
            }
        }
        guard value.isNull || value.objectValue != nil else { return value }
        var object = value.objectValue ?? [:]
        if let key = path.first {
            object[key] = adding(given, to: object[key] ?? .null, at: path.dropFirst())
        } else {
            for (member, value) in given { object[member] = value }
        }
        return .object(object)
    }

    func variable(of member: String) -> String {
        if let irregular = Self.irregular[member] { return "\(form.prefix)_\(irregular)" }
        var name = form.prefix + "_"
        var followsCapital = true
        for letter in member {
            if letter.isUppercase, !followsCapital { name += "_" }
            followsCapital = letter.isUppercase
            name += letter.uppercased()
        }
        return name
    }

    /// The variable names that parse-server doesn't derive from the member's name.
    private static let irregular = [
        "classNames": "CLASSNAMES", "graphQLDepth": "GRAPHQL_DEPTH", "graphQLFields": "GRAPHQL_FIELDS",
    ]
}
