import JSON

/// Factory methods for common kinds of options.
extension OptionDefinition {
    static func flag(
        _ name: String, _ environment: String?, _ path: OptionPath<Bool>, older: KeyValuePairs<Int, Bool> = [:],
        _ summary: String = ""
    ) -> OptionDefinition {
        OptionDefinition(name, environment, .boolean, path, older: older, summary, word: plain) { value, _ in
            value.boolValue
        }
    }

    /// Defines an optional text. An empty one counts as unset.
    static func text(
        _ name: String, _ environment: String?, _ path: OptionPath<String?>, _ summary: String = ""
    ) -> OptionDefinition {
        OptionDefinition(name, environment, .string, path, older: [:], summary) { value, _ in
            .some(value.nonEmptyText)
        }
    }

    static func text(
        _ name: String, _ environment: String?, _ path: OptionPath<String>, _ summary: String = ""
    ) -> OptionDefinition {
        OptionDefinition(
            name, environment, .string, path, older: [:], summary, word: text
        ) { value, _ in value.nonEmptyText }
    }

    /// Defines an integer. Decimal places are dropped.
    static func whole(
        _ name: String, _ environment: String?, _ path: OptionPath<Int>, in range: ClosedRange<Int>,
        _ summary: String = ""
    ) -> OptionDefinition {
        OptionDefinition(
            name, environment, .number, path, older: [:], summary, word: plain
        ) { value, name throws(ConfigurationError) in try value.whole(in: range, name) }
    }

    /// Defines an optional integer. Decimal places are dropped.
    static func whole(
        _ name: String, _ environment: String?, _ path: OptionPath<Int?>, in range: ClosedRange<Int>,
        _ summary: String = ""
    ) -> OptionDefinition {
        OptionDefinition(
            name, environment, .number, path, older: [:], summary
        ) { value, name throws(ConfigurationError) in .some(try value.whole(in: range, name)) }
    }

    /// Defines a duration in milliseconds, at most one day. 0 means no limit.
    static func milliseconds(
        _ name: String, _ environment: String?, _ path: OptionPath<Duration?>, _ summary: String
    ) -> OptionDefinition {
        OptionDefinition(
            name, environment, .number, path, older: [:], summary, word: milliseconds
        ) { value, name throws(ConfigurationError) in
            let milliseconds = try value.whole(in: 0...86_400_000, name)
            return .some(milliseconds == 0 ? nil : .milliseconds(milliseconds))
        }
    }

    static func size(
        _ name: String, _ environment: String?, _ path: OptionPath<Int>, atLeast minimum: Int = 0, _ summary: String
    ) -> OptionDefinition {
        OptionDefinition(
            name, environment, .stringOrNumber, path, older: [:], summary, word: megabytes
        ) { value, name throws(ConfigurationError) in
            if value == "" { return nil }
            guard let bytes = ByteCount.read(value), bytes >= minimum else {
                throw .invalid(name, "a size such as 20mb" + (minimum > 1 ? ", at least \(minimum) bytes" : ""))
            }
            return bytes
        }
    }

    /// Defines a list of texts.
    ///
    /// - Parameter check: Throws for invalid elements.
    static func texts(
        _ name: String, _ environment: String?, _ path: OptionPath<[String]>, kind: Kind = .texts,
        older: KeyValuePairs<Int, [String]> = [:], _ summary: String = "",
        check: @escaping @Sendable (_ list: [String], _ name: String) throws(ConfigurationError) -> Void = { _, _ in },
        word: @escaping @Sendable ([String]) -> String? = { $0.isEmpty ? nil : $0.joined(separator: ", ") }
    ) -> OptionDefinition {
        OptionDefinition(
            name, environment, kind, path, older: older, summary, word: word
        ) { value, name throws(ConfigurationError) in
            let list = value.stringValue.map { [$0] } ?? value.arrayValue?.compactMap(\.stringValue) ?? []
            try check(list, name)
            return list
        }
    }

    /// Defines a value with its own parser.
    static func custom<Value: Sendable>(
        _ name: String, _ environment: String?, _ kind: Kind, _ path: OptionPath<Value>, _ summary: String = "",
        members: [OptionDefinition] = [], variables: Variables? = nil,
        _ parse: @escaping @Sendable (_ value: JSONValue, _ name: String) throws(ConfigurationError) -> Value?
    ) -> OptionDefinition {
        OptionDefinition(
            name, environment, kind, path, older: [:], summary, members: members, variables: variables,
            parse: parse)
    }

    static func addresses(
        _ name: String, _ environment: String?, _ path: OptionPath<[String]>, older: KeyValuePairs<Int, [String]> = [:],
        _ summary: String
    ) -> OptionDefinition {
        texts(name, environment, path, older: older, summary) { list, name throws(ConfigurationError) in
            do throws(AddressList.InvalidEntry) {
                _ = try AddressList(list)
            } catch {
                throw .invalidAddress(name, error)
            }
        }
    }

    /// Defines a list of paths, or a single path as a string. An empty string is ignored.
    static func paths(_ name: String, _ path: OptionPath<[String]>) -> OptionDefinition {
        custom(name, nil, .stringOrArray, path) { value, _ in
            value.stringValue == "" ? [] : value.stringValue.map { [$0] } ?? value.arrayValue?.compactMap(\.stringValue)
        }
    }

    /// Defines a limit. -1 means no limit.
    static func limit(_ name: String, _ path: OptionPath<Int?>) -> OptionDefinition {
        custom(name, nil, .number, path) { value, name throws(ConfigurationError) in
            guard value != -1 else { return nil }
            guard let number = value.numberValue, number >= 1, let limit = Int(exactly: number) else {
                throw ConfigurationError("\(name) must be a positive integer or -1 to disable.")
            }
            return .some(limit)
        }
    }

    static func choice<Value: RawRepresentable<String> & CaseIterable & Sendable>(
        _ name: String, _ path: OptionPath<Value>
    ) -> OptionDefinition {
        OptionDefinition(
            name, "", .string, path, older: [:], "", word: rawValue
        ) { value, name throws(ConfigurationError) in
            guard let choice = value.stringValue.flatMap(Value.init(rawValue:)) else {
                let words = Value.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
                throw ConfigurationError("\(name) must be one of: \(words).")
            }
            return choice
        }
    }

    /// Defines a member that is applied by `read`, or by the option that contains it.
    static func member(
        _ name: String, _ kind: Kind, members: [OptionDefinition] = [], variables: Variables? = nil,
        read: @escaping Read = { _, _, _ in }
    ) -> OptionDefinition {
        OptionDefinition(name, nil, kind, "", members: members, variables: variables, read: read)
    }

    /// Defines an option that is not supported.
    static func none(_ name: String, _ environment: String?, _ kind: Kind, _ summary: String) -> OptionDefinition {
        OptionDefinition(name, environment, kind, summary, support: .notBuilt)
    }

    /// Defines an option that is accepted without effect.
    static func ignored(
        _ name: String, _ environment: String?, _ kind: Kind, _ why: String, members: [OptionDefinition] = [],
        variables: Variables? = nil
    ) -> OptionDefinition {
        OptionDefinition(
            name, environment, kind, why, support: .ignored(why), members: members, takesOthers: true,
            variables: variables)
    }
}

/// Descriptions of defaults.
extension OptionDefinition {
    static func plain(_ value: some CustomStringConvertible) -> String? { value.description }
    private static func text(_ value: String) -> String? { value.isEmpty ? nil : value }
    private static func rawValue(_ value: some RawRepresentable<String>) -> String? { value.rawValue }
    private static func milliseconds(_ value: Duration?) -> String? { value.map { "\(Int($0 / .milliseconds(1)))" } }
    private static func megabytes(_ value: Int) -> String? { "\(value >> 20)mb" }
}

extension JSONValue {
    /// The text, or nil if the value is not a text or is empty.
    var nonEmptyText: String? { stringValue.flatMap { $0.isEmpty ? nil : $0 } }

    /// Returns the number without its decimal places.
    ///
    /// - Throws: `ConfigurationError` if the value is not a number or is out of range.
    func whole(in range: ClosedRange<Int>, _ name: String) throws(ConfigurationError) -> Int {
        guard let number = numberValue, let whole = Int(exactly: number.rounded(.towardZero)), range.contains(whole)
        else { throw .invalid(name, OptionDefinition.words(for: range)) }
        return whole
    }

    /// Returns a positive duration in seconds, capped at a thousand years, so that its end remains a date that every
    /// client can parse.
    ///
    /// - Parameter refusal: The error text for other values.
    func time(_ refusal: String) throws(ConfigurationError) -> Double {
        guard let number = numberValue, number > 0, number.isFinite else { throw ConfigurationError(refusal) }
        return min(number, Self.longestTime)
    }

    /// A thousand years in seconds.
    static let longestTime: Double = 31_557_600_000
}
