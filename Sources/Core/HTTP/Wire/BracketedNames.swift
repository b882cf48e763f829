import JSON
import OrderedCollections

/// Query-string names whose brackets place a value inside an object or array, as in `where[tags][$in][]=a`.
///
/// Follows the rules of the library `qs`, with which parse-server reads query strings.
final class BracketedNames {
    /// Maximum number of bracket pairs that are parsed. The rest of the name becomes a single member name.
    private static let maximumDepth = 5
    /// The largest array index. A larger number becomes a member name.
    private static let maximumIndex = 20

    private var values: [JSONValue] = []
    private var members: OrderedDictionary<Name, BracketedNames> = [:]

    /// Returns the path to a value, or nil for a name without a pair of brackets or without text before it.
    static func place(_ name: String) -> [String]? {
        let bytes = name.utf8
        guard let start = bytes.firstIndex(of: UInt8(ascii: "[")), start > bytes.startIndex else { return nil }
        var place = [String(name[..<start])]
        var rest = bytes[start...]
        while place.count <= maximumDepth, rest.first == UInt8(ascii: "["),
            let end = rest.firstIndex(of: UInt8(ascii: "]"))
        {
            place.append(String(Substring(rest[rest.index(after: rest.startIndex)..<end])))
            rest = rest[rest.index(after: end)...]
        }
        guard place.count > 1 else { return nil }
        if rest.first == UInt8(ascii: "[") { place.append(String(Substring(rest))) }
        return place
    }

    func add(_ value: JSONValue, at place: [String]) {
        var node = self
        for step in place {
            if let member = node.members[step] {
                node = member
            } else {
                let member = BracketedNames()
                node.members[step] = member
                node = member
            }
        }
        node.values.append(value)
    }

    /// All added values as an object.
    var object: JSONObject { members.mapValues(\.value) }

    private var value: JSONValue {
        guard !members.isEmpty else { return values.count == 1 ? values[0] : .array(values) }
        let inside = list ?? .object(object)
        return values.isEmpty ? inside : .array(values + [inside])
    }

    private var list: JSONValue? {
        var elements: [(place: Int, values: [JSONValue])] = []
        for (name, member) in members {
            if name.isEmpty {
                elements.append((Int.max, member.members.isEmpty ? member.values : [member.value]))
            } else if let place = Int(name.text), (0...Self.maximumIndex).contains(place), String(place) == name.text {
                elements.append((place, [member.value]))
            } else {
                return nil
            }
        }
        return .array(elements.sorted { $0.place < $1.place }.flatMap(\.values))
    }
}
