import Encoding
import JSON
import OrderedCollections

/// Parses query strings and form bodies: `name=value&name=value`.
package enum FormEncoding {
    /// Returns all values as strings. A repeated name becomes an array, a name without `=` an empty string.
    package static func strings(_ text: some StringProtocol) -> JSONObject {
        read(pairs(text)) { .string($0) }
    }

    /// Returns values that are valid JSON as JSON, others as strings. A repeated name becomes an array. A name with
    /// brackets becomes a member, whose value remains a string: `where[score][$gt]=3`.
    package static func values(_ text: some StringProtocol) -> JSONObject {
        let pairs = pairs(text)
        guard pairs.contains(where: { BracketedNames.place($0.name) != nil }) else { return read(pairs, value) }
        let tree = BracketedNames()
        for (name, text) in pairs {
            if let place = BracketedNames.place(name) {
                tree.add(.string(text), at: place)
            } else {
                tree.add(value(text), at: [name])
            }
        }
        return tree.object
    }

    private static func read(
        _ pairs: [(name: String, value: String)], _ interpret: (String) -> JSONValue
    ) -> JSONObject {
        var values = JSONObject(minimumCapacity: pairs.count)
        var repeated: [Name: [JSONValue]] = [:]
        for (name, text) in pairs {
            let name = Name(name)
            let value = interpret(text)
            if let first = values[name] {
                repeated[name, default: [first]].append(value)
            } else {
                values[name] = value
            }
        }
        for (name, list) in repeated { values[name] = .array(list) }
        return values
    }

    /// Pairs without a name are dropped.
    private static func pairs(_ text: some StringProtocol) -> [(name: String, value: String)] {
        let parts = Substring(text).utf8.split(separator: UInt8(ascii: "&"))
        var pairs: [(name: String, value: String)] = []
        pairs.reserveCapacity(parts.count)
        for part in parts {
            let end = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            let name = decode(Substring(part[..<end]))
            guard !name.isEmpty else { continue }
            let value = end < part.endIndex ? decode(Substring(part[part.index(after: end)...])) : ""
            pairs.append((name, value))
        }
        return pairs
    }

    private static func decode(_ text: some StringProtocol) -> String {
        PercentEncoding.decode(text, plusIsSpace: true) ?? String(text)
    }

    private static func value(_ text: String) -> JSONValue {
        guard let first = text.utf8.first(where: { $0 > 0x20 }), firstBytes.contains(first),
            let value = try? JSONValue(parsing: text, maximumDepth: JSONBody.maximumDepth)
        else { return .string(text) }
        return value
    }

    /// The bytes with which JSON values begin.
    private static let firstBytes = Set("{[\"-tfn0123456789".utf8)
}
