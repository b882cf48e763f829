import JSON
import ParseModel

struct DifferentialFilters {
    let subject: DifferentialClass

    private static let operators = [
        "$eq", "$ne", "$lt", "$lte", "$gt", "$gte", "$in", "$nin", "$all", "$regex", "$containedBy", "$exists",
    ]

    /// Returns a `where` with groups up to a depth.
    func condition(_ random: inout DifferentialRandom, depth: Int = 0) -> JSONObject {
        var condition: JSONObject = [:]
        for _ in 0..<(random.chance(70) ? 1 : 2) {
            if depth < 3, random.chance(depth == 0 ? 30 : 25) {
                let parts = random.list(1...3) { JSONValue.object(self.condition(&$0, depth: depth + 1)) }
                condition[random.pick(["$or", "$and", "$nor"])] = .array(parts)
            } else {
                let key = key(&random)
                condition[key] = constraint(key, &random)
            }
        }
        return condition
    }

    private func key(_ random: inout DifferentialRandom) -> String {
        if random.chance(4) { return random.pick(["unknown", "unknown.a"]) }
        let field = random.pick(subject.fields.keys.texts)
        guard random.chance(60) else { return field }
        let steps: [String]
        switch subject.fields[field]?.type {
        case .object: steps = DifferentialValues.keys + ["zz", "0", "1"]
        case .array: steps = DifferentialValues.keys + ["0", "0", "1"]
        default: return random.chance(10) ? field + ".a" : field
        }
        return field + random.list(1...3) { "." + $0.pick(steps) }.joined()
    }

    /// Returns a condition on a field: a value, or one or two operators.
    private func constraint(_ key: String, _ random: inout DifferentialRandom) -> JSONValue {
        if subject.fields[key]?.type == .geoPoint, random.chance(50) { return place(&random) }
        if random.chance(25) { return operand(key, &random) }
        var object: JSONObject = [:]
        for _ in 0..<(random.chance(80) ? 1 : 2) {
            let name = random.pick(Self.operators)
            switch name {
            case "$eq", "$ne": object[name] = operand(key, &random)
            case "$in", "$nin": object[name] = .array(random.list(0...4) { operand(key, &$0) })
            case "$containedBy": object[name] = .array(random.list(0...4) { operand(key, &$0) })
            case "$all": object[name] = all(key, &random)
            case "$exists": object[name] = .bool(random.chance(50))
            case "$regex":
                object[name] = .string(pattern(&random))
                if random.chance(40) { object["$options"] = "i" }
            default: object[name] = ordered(key, &random)
            }
        }
        return .object(object)
    }

    /// Returns a geographic condition. No shape has edges where rounding would matter.
    private func place(_ random: inout DifferentialRandom) -> JSONValue {
        func point(_ random: inout DifferentialRandom) -> JSONValue {
            GeoPoint(latitude: random.pick([-80, -5, 5, 50]), longitude: random.pick([-170, -5, 5, 170])).json
        }
        switch random.below(4) {
        case 0:
            return ["$nearSphere": point(&random), "$maxDistance": .number(random.pick([0.1, 0.5, 1, 3]))]
        case 1:
            return [
                "$geoWithin": ["$centerSphere": [point(&random), .number(random.pick([0.1, 0.5, 1, 3]))]]
            ]
        case 2: return ["$within": ["$box": [point(&random), point(&random)]]]
        default: return ["$geoWithin": ["$polygon": .array(random.list(3...6) { point(&$0) })]]
        }
    }

    /// Returns an operand, often a value that some object has.
    private func operand(_ key: String, _ random: inout DifferentialRandom) -> JSONValue {
        if random.chance(5) { return .null }
        if random.chance(85), let row = subject.rows.values.randomElement(using: &random) {
            let path = key.split(separator: ".").map(String.init)
            var value = row[path[0]]
            for step in path.dropFirst() {
                let list = value?.arrayValue
                let element = Int(step).flatMap { place in list.flatMap { $0.dropFirst(place).first } }
                value = element ?? (list?.randomElement(using: &random) ?? value)?[step]
            }
            // Elements are queried more often than whole arrays.
            if let list = value?.arrayValue, random.chance(75) { value = list.randomElement(using: &random) }
            if let value { return value }
        }
        if let type = subject.fields[key]?.type, random.chance(50) {
            if case .pointer = type, random.chance(30) {
                // A pointer to another class never matches. An id may also appear without its class.
                return random.chance(50) ? DifferentialValues.pointer("C", &random) : "p1"
            }
            return DifferentialValues.value(type, &random)
        }
        return DifferentialValues.anything(&random, depth: 1)
    }

    private func ordered(_ key: String, _ random: inout DifferentialRandom) -> JSONValue {
        let value = operand(key, &random)
        // The order of other texts depends on the database's collation.
        if value.stringValue != nil, subject.fields[key]?.type != .pointer("B"), subject.fields[key]?.type != .file {
            return .string(random.pick(DifferentialValues.landmarks))
        }
        return value
    }

    private func all(_ key: String, _ random: inout DifferentialRandom) -> JSONValue {
        if random.chance(25) {
            return .array(
                random.list(1...2) { random in
                    .object(["$regex": .string("^\\Q" + random.pick(DifferentialValues.texts) + "\\E")])
                })
        }
        return .array(random.list(0...3) { operand(key, &$0) })
    }

    /// Parts of patterns that mean the same in every locale.
    private static let pieces = [
        "a", "b", "A", ".", ".*", "[ab]", "[^a]", "[a-c]+?", "(a|b)", "(?:ab)?", "(?:a|ab|)c", "x\\sy", "a{1,2}",
        "(?:a?b?){2,}", "\\d", "\\D*", "^", "$", "\\.", "[%_']", "(?<name>z.t)",
    ]

    /// Returns a pattern. SDKs send a literal, possibly quoted, possibly anchored at one end.
    private func pattern(_ random: inout DifferentialRandom) -> String {
        if random.chance(40) { return random.list(1...4) { $0.pick(Self.pieces) }.joined() }
        let text = random.pick(DifferentialValues.texts)
        let isPlain = text.utf8.allSatisfy { (97...122).contains($0) || (65...90).contains($0) }
        let literal = isPlain && random.chance(50) ? text : "\\Q\(text)\\E"
        return random.pick(["^\(literal)", "^\(literal)", literal, "\(literal)$", "^\(literal)$"])
    }
}
