import JSON
import OrderedCollections
import ParseModel

/// A class with fields of every type, and objects in which many fields are missing.
struct DifferentialClass: Sendable {
    let name: String
    let fields: OrderedDictionary<Name, Field>
    /// The objects by id, as written.
    let rows: OrderedDictionary<String, JSONObject>

    func fields(_ types: Set<FieldType>) -> [String] { fields.filter { types.contains($0.value.type) }.map(\.key.text) }

    init(name: String, rowCount: Int, random: inout DifferentialRandom) {
        self.name = name
        var fields: OrderedDictionary<Name, Field> = [:]
        for (index, type) in DifferentialValues.types.enumerated() {
            // Most rules concern arrays and objects, so each class has some.
            let isNested = type == .array || type == .object
            for copy in 0..<(isNested ? 1 + random.below(2) : random.below(3)) {
                fields["f\(index)\(copy)"] = Field(type)
            }
        }
        var rows: OrderedDictionary<String, JSONObject> = [:]
        for row in 0..<rowCount {
            var object: JSONObject = [:]
            for (field, definition) in fields where random.chance(70) {
                object[field] = DifferentialValues.value(definition.type, &random)
            }
            rows["r\(1000 + row)"] = object
        }
        self.fields = fields
        self.rows = rows
    }
}

/// Random values from small pools, so that equal values are common.
enum DifferentialValues {
    static let types: [FieldType] = [
        .string, .number, .boolean, .date, .array, .object, .pointer("B"), .file, .geoPoint,
    ]
    static let texts = [
        "", "a", "A", "ab", "Ab", "abc", "b", "x y", "100%", "a_b", "a.b", "z\u{E9}ta", "zeta", "z\\d", "'", "1",
        "true",
    ]
    /// Texts with the same order in every collation.
    static let landmarks = ["", "1", "b", "m", "x y"]
    static let numbers: [Double] = [-1, 0, 1, 2, 2.5, 10, 1000, 1e15]
    static let keys = ["a", "b", "c"]

    static func text(_ random: inout DifferentialRandom) -> JSONValue { .string(random.pick(texts)) }

    static func number(_ random: inout DifferentialRandom) -> JSONValue { .number(random.pick(numbers)) }

    static func date(_ random: inout DifferentialRandom) -> JSONValue {
        let iso = random.pick(["1969-12-31T23:59:59.999Z", "2020-01-01T00:00:00.000Z", "2020-01-01T00:00:00.001Z"])
        return .object(["__type": "Date", "iso": .string(iso)])
    }

    static func pointer(_ className: String, _ random: inout DifferentialRandom) -> JSONValue {
        Pointer(className: className, objectId: random.pick(["p0", "p1", "p2", "p3"])).json
    }

    static func file(_ random: inout DifferentialRandom) -> JSONValue {
        .object(["__type": "File", "name": .string(random.pick(["a.txt", "b.txt", "B.png"]))])
    }

    static func geoPoint(_ random: inout DifferentialRandom) -> JSONValue {
        GeoPoint(latitude: random.pick([-10, 0, 45.5]), longitude: random.pick([-120, 0, 7.25])).json
    }

    static func value(_ type: FieldType, _ random: inout DifferentialRandom) -> JSONValue {
        switch type {
        case .string: text(&random)
        case .number: number(&random)
        case .boolean: .bool(random.chance(50))
        case .date: date(&random)
        case .array: array(&random, depth: 0)
        case .pointer(let target): pointer(target.text, &random)
        case .file: file(&random)
        case .geoPoint: geoPoint(&random)
        default: object(&random, depth: 0)
        }
    }

    static func array(_ random: inout DifferentialRandom, depth: Int) -> JSONValue {
        let kind = random.below(6)
        return .array(
            random.list(0...4) { random in
                switch kind {
                case 0: text(&random)
                case 1: number(&random)
                case 2: pointer(random.pick(["B", "C"]), &random)
                case 3: object(&random, depth: depth + 1)
                default: anything(&random, depth: depth + 1)
                }
            })
    }

    static func object(_ random: inout DifferentialRandom, depth: Int) -> JSONValue {
        var object: JSONObject = [:]
        for key in keys.shuffled(using: &random) where random.chance(60) {
            object[key] = anything(&random, depth: depth + 1)
        }
        return .object(object)
    }

    /// Returns any JSON value that arrays and objects can contain.
    static func anything(_ random: inout DifferentialRandom, depth: Int) -> JSONValue {
        switch random.below(depth < 3 ? 12 : 9) {
        case 0, 1: text(&random)
        case 2, 3: number(&random)
        case 4: .bool(random.chance(50))
        case 5: .null
        case 6: date(&random)
        case 7: pointer(random.pick(["B", "C"]), &random)
        case 8: random.chance(50) ? file(&random) : geoPoint(&random)
        case 9: array(&random, depth: depth)
        default: object(&random, depth: depth)
        }
    }
}
