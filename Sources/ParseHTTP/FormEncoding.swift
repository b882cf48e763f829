import JSON
import OrderedCollections

/// Names and values in the form `name=value&name=value`: query strings and form bodies.
enum FormEncoding {
    /// How deep a JSON value in a query string may be nested.
    static let maximumDepth = 200

    /// Reads every value as a string. A repeated name gives an array, a name without `=` the empty string.
    static func strings(_ text: some StringProtocol) -> JSONObject {
        read(Substring(text)) { .string($0) }
    }

    /// Reads every value as JSON if it is JSON, else as a string. A repeated name gives an array, one in brackets a
    /// member: `where[score][$gt]=3`.
    static func values(_ text: some StringProtocol) -> JSONObject {
        let tree = BracketedNames()
        for (name, text) in pairs(Substring(text)) {
            if let place = BracketedNames.place(name) {
                tree.add(.string(text), at: place)
            } else {
                tree.add(value(text), at: [name])
            }
        }
        return tree.object
    }

    private static func read(_ text: Substring, _ interpret: (String) -> JSONValue) -> JSONObject {
        var values: OrderedDictionary<Name, [JSONValue]> = [:]
        for (name, value) in pairs(text) { values[Name(name), default: []].append(interpret(value)) }
        return values.mapValues { $0.count == 1 ? $0[0] : .array($0) }
    }

    /// Names and values, decoded; a pair without a name is left out.
    private static func pairs(_ text: Substring) -> [(name: String, value: String)] {
        text.utf8.split(separator: UInt8(ascii: "&")).compactMap { pair in
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            let name = decode(Substring(pair[..<end]))
            guard !name.isEmpty else { return nil }
            return (name, end < pair.endIndex ? decode(Substring(pair[pair.index(after: end)...])) : "")
        }
    }

    private static func decode(_ text: some StringProtocol) -> String {
        PercentEncoding.decode(text, plusIsSpace: true) ?? String(text)
    }

    private static func value(_ text: String) -> JSONValue {
        guard let first = text.utf8.first(where: { $0 > 0x20 }), startsJSON(first),
            let value = try? JSONValue(parsing: Array(text.utf8), maximumDepth: maximumDepth)
        else { return .string(text) }
        return value
    }

    private static func startsJSON(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\""), UInt8(ascii: "-"), UInt8(ascii: "t"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default:
            false
        }
    }
}
