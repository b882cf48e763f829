import TestTools

/// Random malformed JSON. Generated as bytes, because a JSON value can't be malformed.
struct MalformedValues {
    var random: SplitMix64
    /// Whether the text is valid JSON, so that errors get past the parser.
    var isReadable = false

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    /// Returns true with a probability in percent.
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    mutating func pick<Element>(_ list: [Element]) -> Element { list[Int.random(in: list.indices, using: &random)] }

    /// Returns any value, including objects with a meaning in Parse.
    mutating func value(_ depth: Int = 0) -> [UInt8] {
        switch Int.random(in: 0..<(depth > 3 ? 9 : 20), using: &random) {
        case 0...2: number()
        case 3...6: string()
        case 7...8: Array(pick(["true", "false", "null"]).utf8)
        case 9...10: list((0..<Int.random(in: 0...3, using: &random)).map { _ in value(depth + 1) })
        case 11...12: object((0..<Int.random(in: 0...3, using: &random)).map { _ in (key(), value(depth + 1)) })
        case 13...15: typed(depth + 1)
        case 16...17: operation(depth + 1)
        case 18: chance(15) ? deep() : typed(depth + 1)
        default: acl(depth + 1)
        }
    }

    /// Returns a number that is out of range for most types, or invalid.
    mutating func number() -> [UInt8] {
        let numbers = [
            "0", "-0", "1", "-1", "0.5", "1e-400", "9223372036854775807", "9223372036854775808",
            "-9223372036854775809", "18446744073709551616", "2147483648", "-2147483649", "1e308", "1.5e15", "1e21",
            "9007199254740993", "4294967296", "1e5", "100000", "1.0", "1E+2",
        ]
        if !isReadable, chance(10) { return Array(pick(["1e400", "-1e400"]).utf8) }
        if !isReadable, chance(5) {
            return Array(pick(["NaN", "Infinity", "-Infinity", "01", "1.", ".5", "0x10", "+1", "1e", "-"]).utf8)
        }
        if chance(2) { return [UInt8](repeating: UInt8(ascii: "9"), count: isReadable ? 300 : 400) }
        return Array(pick(numbers).utf8)
    }

    /// Returns a text that could be harmful in SQL, paths, regular expressions or logs.
    mutating func text() -> [UInt8] {
        switch Int.random(in: (isReadable ? 5 : 0)..<40, using: &random) {
        case 0: return [0xFF, 0xFE, 0x41]
        case 1: return [0xC0, 0x80]
        case 2: return [0xED, 0xA0, 0x80]
        case 3: return [0x41, 0x00, 0x42]
        case 4: return [0xF0, 0x9F, 0x92]
        case 5: return [UInt8](repeating: UInt8(ascii: "a"), count: 200)
        case 6...7: return Array(key().utf8)
        default: return Array(pick(Self.texts).utf8)
        }
    }

    /// Returns a text in quotes, mostly with correct escapes.
    mutating func string() -> [UInt8] {
        if !isReadable, chance(5) {
            return Array(pick(["\"\\u0000\"", "\"\\ud800\"", "\"\\udc00x\"", "\"\\x\"", "\"open", "'a'"]).utf8)
        }
        return isReadable || chance(95) ? Self.quoted(text()) : [UInt8(ascii: "\"")] + text() + [UInt8(ascii: "\"")]
    }

    /// Returns the name of a field: the class's, a system field's, or an unknown one.
    mutating func key() -> String { chance(60) ? pick(Self.fields) : pick(Self.oddKeys) }

    mutating func className() -> String { chance(70) ? pick(["Thing", "Other"]) : pick(Self.oddClasses) }

    /// Returns an object with a `__type`, whose members have a wrong type about half of the time.
    mutating func typed(_ depth: Int) -> [UInt8] {
        let type = pick([
            "Pointer", "Relation", "Date", "Bytes", "GeoPoint", "Polygon", "File", "Object", "Nonsense", "",
        ])
        var members: [(String, [UInt8])] = [("__type", chance(92) ? Self.quoted(type) : value(depth))]
        let plausible: [(String, [UInt8])] = [
            ("className", Self.quoted(className())), ("objectId", chance(50) ? Self.quoted("abcdefghij") : string()),
            ("iso", chance(50) ? Self.quoted(pick(Self.dates)) : string()),
            ("base64", chance(50) ? Self.quoted("AAAA") : string()), ("latitude", number()), ("longitude", number()),
            ("coordinates", coordinates(depth)), ("name", string()), ("url", string()),
        ]
        for (name, right) in plausible where chance(75) { members.append((name, chance(75) ? right : value(depth))) }
        return object(members)
    }

    mutating func operation(_ depth: Int) -> [UInt8] {
        let name = pick([
            "Increment", "Add", "AddUnique", "Remove", "AddRelation", "RemoveRelation", "Delete", "Batch",
            "SetOnInsert", "Nonsense", "increment",
        ])
        var members: [(String, [UInt8])] = [("__op", chance(92) ? Self.quoted(name) : value(depth))]
        if chance(80) { members.append(("amount", chance(60) ? number() : value(depth))) }
        if chance(80) {
            let elements = (0..<Int.random(in: 0...3, using: &random)).map { _ in
                chance(60) ? typed(depth) : value(depth)
            }
            members.append(("objects", chance(80) ? list(elements) : value(depth)))
        }
        if chance(40) {
            members.append(
                ("ops", chance(70) && depth < 4 ? list([operation(depth + 1), operation(depth + 1)]) : value(depth)))
        }
        return object(members)
    }

    mutating func acl(_ depth: Int) -> [UInt8] {
        let names = ["*", "role:x", "role:", "", "abcdefghij", "'; --", "public"]
        let right: [UInt8] = Array(pick(["true", "false", "null", "1", "\"yes\"", "{}"]).utf8)
        return object(
            (0...1).map { _ in
                (pick(names), chance(60) ? object([(pick(["read", "write", "admin"]), right)]) : value(depth + 1))
            })
    }

    /// Returns deeply nested arrays or objects.
    mutating func deep() -> [UInt8] {
        let levels = isReadable ? pick([20, 45, 90]) : pick([150, 199, 250, 1000, 5000])
        let open = pick(["[", "{\"a\":", "{\"$or\":[", "{\"$nor\":[", "[{\"b\":"])
        let closing = open.reversed().compactMap { $0 == "[" ? "]" : $0 == "{" ? "}" : nil }.joined()
        let all = String(repeating: open, count: levels) + "1" + String(repeating: closing, count: levels)
        return Array(all.utf8)
    }

    private mutating func coordinates(_ depth: Int) -> [UInt8] {
        list(
            (0..<Int.random(in: 0...5, using: &random)).map { _ in
                chance(85) ? list([number(), number()]) : value(depth)
            })
    }

    func object(_ members: [(String, [UInt8])]) -> [UInt8] {
        var bytes: [UInt8] = [UInt8(ascii: "{")]
        for (index, member) in members.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += Self.quoted(member.0) + [UInt8(ascii: ":")] + member.1
        }
        return bytes + [UInt8(ascii: "}")]
    }

    func list(_ elements: [[UInt8]]) -> [UInt8] {
        var bytes = [UInt8(ascii: "[")]
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += element
        }
        return bytes + [UInt8(ascii: "]")]
    }

    static func quoted(_ text: String) -> [UInt8] { quoted(Array(text.utf8)) }

    static func quoted(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = [UInt8(ascii: "\"")]
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): result += [UInt8(ascii: "\\"), byte]
            case 0..<0x20: result += Array("\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8)
            default: result.append(byte)
            }
        }
        return result + [UInt8(ascii: "\"")]
    }
}
