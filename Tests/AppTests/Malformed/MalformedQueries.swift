/// Random malformed queries.
extension MalformedValues {
    mutating func condition(_ depth: Int = 0) -> [UInt8] {
        if depth == 0, chance(6) { return value() }
        if depth == 0, chance(1) { return deep() }
        return object(
            (0..<pick([1, 1, 1, 2])).map { _ in
                switch Int.random(in: 0..<20, using: &random) {
                case 0...1 where depth < 3:
                    let name = pick(["$or", "$and", "$nor"])
                    return (name, chance(80) ? list([condition(depth + 1), condition(depth + 1)]) : value())
                case 2:
                    let owner = chance(70) ? pointer() : value()
                    let key = chance(70) ? Self.quoted("friends") : string()
                    return ("$relatedTo", object([("object", owner), ("key", key)]))
                case 3...5: return (key(), value())
                default: return (key(), constraints(depth))
                }
            })
    }

    private mutating func constraints(_ depth: Int) -> [UInt8] {
        object(
            (0..<pick([1, 1, 1, 2])).map { _ in
                let name = pick(Self.operators)
                return (name, chance(85) ? operand(name, depth) : value(depth))
            })
    }

    /// Returns a nearly valid operand.
    private mutating func operand(_ name: String, _ depth: Int) -> [UInt8] {
        switch name {
        case "$in", "$nin", "$all", "$containedBy":
            if chance(20) { return list([object([("$regex", pattern())]), object([("$regex", pattern())])]) }
            return list((0..<Int.random(in: 0...4, using: &random)).map { _ in value(2) })
        case "$regex": return pattern()
        case "$options": return Self.quoted(pick(["i", "m", "x", "s", "imxs", "q", "", "ii", "'", "w", "u"]))
        case "$text":
            let search = object([
                ("$term", string()),
                ("$language", chance(50) ? Self.quoted(pick(["en", "english", "de", "xx", "'"])) : value(3)),
                ("$caseSensitive", value(4)), ("$diacriticSensitive", value(4)),
            ])
            return object([("$search", chance(80) ? search : value(2))])
        case "$nearSphere": return place()
        case "$within": return object([("$box", list([place(), place()]))])
        case "$geoWithin":
            if chance(50) { return object([("$polygon", chance(50) ? list([place(), place(), place()]) : typed(2))]) }
            return object([("$centerSphere", list([chance(50) ? place() : list([number(), number()]), number()]))])
        case "$geoIntersects": return object([("$point", place())])
        case "$maxDistance", "$maxDistanceInMiles", "$maxDistanceInKilometers", "$maxDistanceInRadians": return number()
        case "$inQuery", "$notInQuery": return innerQuery(depth)
        case "$select", "$dontSelect":
            return object([("query", innerQuery(depth)), ("key", chance(70) ? Self.quoted(key()) : value(3))])
        case "$lt", "$lte", "$gt", "$gte":
            guard chance(15) else { return value(2) }
            let times = ["5 days ago", "in 99999999999999 years", "now", "in", "1 year 2 weeks ago", "-1 day ago", ""]
            return object([("$relativeTime", Self.quoted(pick(times)))])
        default: return value(2)
        }
    }

    private mutating func innerQuery(_ depth: Int) -> [UInt8] {
        var members = [("className", Self.quoted(className()))]
        if chance(80) { members.append(("where", depth < 2 ? condition(depth + 1) : value(3))) }
        for name in ["limit", "skip", "order", "keys", "include", "nonsense"] where chance(15) {
            members.append((name, value(3)))
        }
        return object(members)
    }

    mutating func pointer() -> [UInt8] {
        object([
            ("__type", Self.quoted("Pointer")), ("className", Self.quoted(className())),
            ("objectId", Self.quoted(pick(["abcdefghij", "", "'", String(repeating: "i", count: 200)]))),
        ])
    }

    /// Returns a point whose coordinates may be out of range.
    private mutating func place() -> [UInt8] {
        guard chance(85) else { return value(3) }
        return object([("__type", Self.quoted("GeoPoint")), ("latitude", number()), ("longitude", number())])
    }

    private mutating func pattern() -> [UInt8] {
        if chance(5) { return Self.quoted([UInt8](repeating: UInt8(ascii: "a"), count: 10240)) }
        if chance(5) { return Self.quoted([UInt8](repeating: UInt8(ascii: "("), count: 10240)) }
        return Self.quoted(
            chance(50) ? Array(pick(Self.patterns).utf8) : Array((pick(Self.patterns) + pick(Self.patterns)).utf8))
    }

    mutating func parameter(_ name: String) -> [UInt8] {
        if chance(15) { return value() }
        switch name {
        case "where": return condition()
        case "limit", "skip", "count": return number()
        case "hint", "explain": return chance(50) ? value() : Array("true".utf8)
        default:
            let names = (0..<Int.random(in: 1...3, using: &random)).map { _ in pick(["", "", "-", "--"]) + key() }
            return chance(80)
                ? Self.quoted(names.joined(separator: pick([",", ",", ", ", "."])))
                : list(names.map { Self.quoted($0) })
        }
    }

    mutating func parameters() -> [(String, [UInt8])] {
        (0..<pick([1, 1, 2, 3])).map { index in
            let name = index == 0 && chance(75) ? "where" : pick(Self.parameters)
            return (name, parameter(name))
        }
    }
}
