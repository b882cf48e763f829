import JSON

/// The environment variables of the members of an object, by parse-server's names: the member `duration` of
/// `accountLockout` is `PARSE_SERVER_ACCOUNT_LOCKOUT_DURATION`.
package struct MemberVariables: Sendable {
    /// The option, and in it the object whose members they are.
    package let path: [String]
    /// What the names of the variables begin with.
    package let prefix: String
    /// The members, each with what it takes.
    package let members: [String: OptionDefinition.Kind]
    /// The members without which variables make no object, but count for one that is given.
    package let needed: Set<String>
    /// Whether the members are together one more element of a list.
    let isElement: Bool

    /// Those of all options that have some; one inside another follows it.
    package static let all = OptionTable.all.flatMap { variables(of: $0, [$0.name]) }

    private static func variables(of definition: OptionDefinition, _ path: [String]) -> [MemberVariables] {
        let inner = definition.members.flatMap { variables(of: $0, path + [$0.name]) }
        guard let variables = definition.variables else { return inner }
        let members = definition.members.filter { !unbuilt.contains($0.name) }
        return [
            MemberVariables(
                path: path, prefix: variables.prefix,
                members: Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0.kind) }),
                needed: variables.needed, isElement: variables.isElement)
        ] + inner
    }

    /// Members that Roost refuses: parse-server reads no variables of theirs, so that they keep no server from
    /// starting.
    private static let unbuilt: Set<String> = ["checkGroups", "initOptions", "pubSubAdapter", "redisUrl", "wssAdapter"]

    package var names: [String] { members.keys.map { variable(of: $0) } }

    /// Puts what the environment says of the members into the values of the options, where it outweighs the same
    /// members.
    ///
    /// parse-server declares these variables and reads none: what some of them alone would make must not change a
    /// server that has had them for years.
    /// - Returns: Warnings where they have no effect.
    /// - Throws: `ConfigurationError` for a text that is not what the member takes.
    func merge(
        _ environment: [String: String], into values: inout [String: JSONValue]
    ) throws(ConfigurationError) -> String? {
        var given: JSONObject = [:]
        for (member, kind) in members.sorted(by: { $0.key < $1.key }) {
            guard let text = environment[variable(of: member)], !text.isEmpty else { continue }
            given[member] = try kind.read(text, "\(path.joined(separator: ".")).\(member)")
        }
        guard !given.isEmpty, let option = path.first else { return nil }
        let isGiven = !isElement && values[option].map { !$0.isNull } ?? false
        guard isGiven || needed.allSatisfy({ given[Name($0)] != nil }) else {
            let missing = needed.sorted().map(variable).joined(separator: " and ")
            return "the variables \(prefix)_… have no effect without \(missing)"
        }
        values[option] = adding(given, to: values[option] ?? .null, at: path.dropFirst())
        return nil
    }

    /// A value with the members at a place inside it. What is of another kind stays, and is refused as such.
    private func adding(_ given: JSONObject, to value: JSONValue, at path: ArraySlice<String>) -> JSONValue {
        if path.isEmpty, isElement {
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
        if let irregular = Self.irregular[member] { return "\(prefix)_\(irregular)" }
        var name = prefix + "_"
        var followsCapital = true
        for letter in member {
            if letter.isUppercase, !followsCapital { name += "_" }
            followsCapital = letter.isUppercase
            name += letter.uppercased()
        }
        return name
    }

    /// Members whose variables are not called as the others.
    private static let irregular = [
        "classNames": "CLASSNAMES", "graphQLDepth": "GRAPHQL_DEPTH", "graphQLFields": "GRAPHQL_FIELDS",
    ]
}
