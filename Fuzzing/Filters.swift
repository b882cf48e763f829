import JSON
import OrderedCollections

@testable import ParseModel

/// Filters and operations on fields, and the patterns in filters.
enum Filters {
    private static let schema = ClassSchema(
        name: "Thing",
        fields: [
            "text": Field(.string), "count": Field(.number), "flag": Field(.boolean), "at": Field(.date),
            "object": Field(.object), "list": Field(.array), "bytes": Field(.bytes), "file": Field(.file),
            "point": Field(.geoPoint), "area": Field(.polygon), "owner": Field(.pointer("Thing")),
            "others": Field(.relation("Thing")),
        ])

    private static let object: JSONObject = [
        "objectId": "a", "text": "some text", "count": 1, "flag": true,
        "at": ["__type": "Date", "iso": "2024-02-29T00:00:00.000Z"], "object": ["a": ["b": [1, "x", .null]]],
        "list": [1, "a", ["a": 1], [1, 2]], "point": ["__type": "GeoPoint", "latitude": 1, "longitude": 2],
        "owner": ["__type": "Pointer", "className": "Thing", "objectId": "b"],
    ]

    private static func json(_ input: [UInt8]) throws -> JSONObject? {
        try JSONValue(parsing: input, maximumDepth: JSONValue.greatestDepthFromOutside).objectValue
    }

    @Sendable static func filter(_ input: [UInt8]) throws {
        guard let json = try json(input) else { return }
        let parser = FilterParser(isMaster: true, now: 1_700_000_000_000, isAggregation: json["list"] != nil)
        let filter = try parser.parse(json)
        // The budget bounds the work to the product of filter size and object size.
        var budget = MatchBudget(steps: 20_000)
        _ = try FilterMatcher(filter, schema: schema).matches(object, &budget)
    }

    @Sendable static func operation(_ input: [UInt8]) throws {
        guard let json = try json(input) else { return }
        for (field, value) in json {
            guard let operation = try? FieldOperation(json: value, isCreating: field.hasPrefix("c")) else { continue }
            _ = try? operation.impliedType()
            _ = operation.valueOnCreate
            let once = operation.applied(to: object[field])
            _ = operation.applied(to: once)?.serialized()
            _ = Pointer(json: value)
            _ = try? ACL(json: value.objectValue ?? [:])
            _ = try? GeoPolygon(json: value)
        }
        _ = try SortKey.limited(json["order"])
    }

    /// Options on the first line, then the pattern, then the text.
    @Sendable static func regex(_ input: [UInt8]) throws {
        let (options, rest) = Readers.halves(input)
        let (pattern, text) = Readers.halves(Array(rest))
        let (flags, regex) = (String(decoding: options, as: UTF8.self), String(decoding: pattern, as: UTF8.self))
        _ = try? RegexPattern.postgres(regex, options: flags)
        _ = RegexPattern.literalPrefix(regex)
        var weight = MatcherWeight()
        var budget = MatchBudget(steps: 20_000)
        guard regex.utf8.count <= RegexPattern.longest else { return }
        let compiled = try TextPattern(regex, options: flags, &weight)
        _ = try compiled.isFound(in: String(decoding: text, as: UTF8.self), &budget)
    }
}
