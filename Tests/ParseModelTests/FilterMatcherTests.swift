import JSON
import ParseModel
import Testing

/// A matcher for a `where` in JSON, on a class with a field of every type.
private func matcher(_ text: String) throws -> FilterMatcher {
    let schema = ClassSchema(
        name: "Track",
        fields: [
            "s": Field(.string), "n": Field(.number), "b": Field(.boolean), "d": Field(.date), "l": Field(.array),
            "o": Field(.object), "p": Field(.pointer("Band")), "f": Field(.file), "g": Field(.geoPoint),
            "area": Field(.polygon), "y": Field(.bytes), "fans": Field(.relation("_User")),
        ])
    return try FilterMatcher(try filter(text, isMaster: true, now: 1_600_000_000_000), schema: schema)
}

private func matches(_ text: String, _ object: String) throws -> Bool {
    var budget = MatchBudget(steps: 10_000_000)
    return try matcher(text).matches(try #require(try JSONValue(parsing: object).objectValue), &budget)
}

/// The error for a `where`, or nil if it is accepted.
private func failure(_ text: String, _ object: String = "{}") throws -> FilterMatcherError? {
    do {
        _ = try matches(text, object)
        return nil
    } catch let error as FilterMatcherError {
        return error
    }
}

@Suite("Matching filters in memory")
struct FilterMatcherTests {
    @Test(
        "Compares plain fields by stored value and type, and treats null as missing",
        arguments: [
            (#"{"n":1}"#, #"{"n":1}"#, true), (#"{"n":1}"#, #"{"n":"1"}"#, false), (#"{"n":null}"#, "{}", true),
            (#"{"n":null}"#, #"{"n":null}"#, true), (#"{"n":{"$ne":1}}"#, "{}", true),
            (#"{"n":{"$nin":[null]}}"#, "{}", false), (#"{"n":{"$in":[2,null]}}"#, "{}", true),
            (#"{"n":{"$exists":false}}"#, #"{"n":0}"#, false), (#"{"n":{"$gt":1,"$lte":2}}"#, #"{"n":2}"#, true),
            (#"{"s":{"$gt":"a"}}"#, #"{"s":"b"}"#, true), (#"{"s":{"$lt":"a"}}"#, #"{"s":"B"}"#, true),
            (#"{"s":"k"}"#, #"{"s":"\u212a"}"#, false), (#"{"s":"\u00e9"}"#, #"{"s":"e\u0301"}"#, false),
            (#"{"b":{"$gt":false}}"#, #"{"b":true}"#, true),
            (
                #"{"d":{"__type":"Date","iso":"2020-01-01T01:00:00+01:00"}}"#,
                #"{"d":{"__type":"Date","iso":"2020-01-01T00:00:00.000Z"}}"#, true
            ),
            (#"{"createdAt":{"$lt":{"$relativeTime":"now"}}}"#, #"{"createdAt":"2020-01-01T00:00:00.000Z"}"#, true),
            (#"{"_id":"x"}"#, #"{"objectId":"x"}"#, true), (#"{"p":"b1"}"#, #"{"p":"b1"}"#, true),
            (
                #"{"p":{"__type":"Pointer","className":"Band","objectId":"b1"}}"#,
                #"{"p":{"__type":"Pointer","className":"Band","objectId":"b1"}}"#, true
            ),
            (
                #"{"p":{"__type":"Pointer","className":"Track","objectId":"b1"}}"#,
                #"{"p":{"__type":"Pointer","className":"Band","objectId":"b1"}}"#, false
            ),
            (
                #"{"p":{"$ne":{"__type":"Pointer","className":"Track","objectId":"b1"}}}"#,
                #"{"p":{"__type":"Pointer","className":"Band","objectId":"b1"}}"#, true
            ),
            (
                #"{"p":{"$in":[{"__type":"Pointer","className":"Track","objectId":"b1"}]}}"#,
                #"{"p":{"__type":"Pointer","className":"Band","objectId":"b1"}}"#, false
            ),
            (
                #"{"p":{"$nin":[{"__type":"Object","className":"Track","objectId":"b1"}]}}"#,
                #"{"p":{"__type":"Pointer","className":"Band","objectId":"b1"}}"#, true
            ),
            (#"{"f":{"__type":"File","name":"a"}}"#, #"{"f":{"__type":"File","name":"a","url":"u"}}"#, true),
            (#"{"y":{"__type":"Bytes","base64":"AQ=="}}"#, #"{"y":{"base64":"AQ==","__type":"Bytes"}}"#, true),
            (#"{"zz":{"$ne":1}}"#, "{}", true), (#"{"zz":1}"#, #"{"zz":1}"#, false), (#"{"n.x":1}"#, "{}", false),
            (#"{"$nor":[{"n":1}]}"#, "{}", true), (#"{"$or":[{"n":1},{"s":"a"}]}"#, #"{"s":"a"}"#, true),
            (#"{"$and":[{"n":1},{"s":"a"}]}"#, #"{"s":"a"}"#, false),
        ])
    func plain(condition: String, object: String, expected: Bool) throws {
        #expect(try matches(condition, object) == expected)
    }

    @Test(
        "Matches array elements, and paths through objects, elements and indexes",
        arguments: [
            (#"{"l":1}"#, #"{"l":[3,1]}"#, true), (#"{"l":[1,3]}"#, #"{"l":[3,1]}"#, false),
            (#"{"l":[3,1]}"#, #"{"l":[3,1]}"#, true), (#"{"l":null}"#, #"{"l":[null]}"#, false),
            (#"{"l":{"$all":[1,2]}}"#, #"{"l":[2,1]}"#, true), (#"{"l":{"$all":[1,4]}}"#, #"{"l":[2,1]}"#, false),
            (#"{"l":{"$all":[]}}"#, #"{"l":[1]}"#, false), (#"{"l":{"$containedBy":[1,2]}}"#, #"{"l":[1]}"#, true),
            (#"{"l":{"$containedBy":[1]}}"#, #"{"l":[1,2]}"#, false),
            (#"{"l":{"$containedBy":[1]}}"#, "{}", false), (#"{"l":{"$containedBy":[]}}"#, #"{"l":[]}"#, true),
            (#"{"l":{"$all":[{"$regex":"^\\Qab\\E"}]}}"#, #"{"l":["x","abc"]}"#, true),
            (#"{"l":{"a":1,"b":2}}"#, #"{"l":[{"b":2,"a":1}]}"#, true),
            (
                #"{"l":{"__type":"Pointer","className":"B","objectId":"1"}}"#,
                #"{"l":[{"__type":"Pointer","className":"B","objectId":"1","more":1}]}"#, true
            ),
            (#"{"o.a":1}"#, #"{"o":{"a":1}}"#, true), (#"{"o.a":null}"#, #"{"o":{}}"#, true),
            (#"{"o.a.b":2}"#, #"{"o":{"a":[{"b":1},{"b":2}]}}"#, true), (#"{"l.0":3}"#, #"{"l":[3,1]}"#, true),
            (#"{"l.1":3}"#, #"{"l":[3,1]}"#, false), (#"{"l.a":{"$gt":1}}"#, #"{"l":[{"a":2}]}"#, true),
            (#"{"l.00":3}"#, #"{"l":[3]}"#, false), (#"{"l.99999999999999999999":3}"#, #"{"l":[3]}"#, false),
            (#"{"o.a":{"$exists":true}}"#, #"{"o":{"a":null}}"#, true),
        ])
    func nested(condition: String, object: String, expected: Bool) throws {
        #expect(try matches(condition, object) == expected)
    }

    @Test(
        "Matches regular expressions with the options i, s, m and x",
        arguments: [
            ("World", "", "Hello World", true), ("world", "", "Hello World", false),
            ("world", "i", "Hello World", true),
            (#"^Hello\b"#, "", "Hello World", true), (#"\bWorld$"#, "", "Hello World", true),
            ("one.two", "", "one\ntwo", false), ("one.two", "s", "one\ntwo", true), ("^two", "", "one\ntwo", false),
            ("^two", "m", "one\ntwo", true), ("one[^x]two", "", "one\ntwo", false),
            (#"\Qa.b\E"#, "", "a.b", true), (#"\Qa.b\E"#, "", "axb", false), ("h e # c", "xi", "HE", true),
            ("(Hello|Bye) W", "", "Bye W", true), (#"^\d{2,3}$"#, "", "1234", false), (#"^\d{2,3}$"#, "", "12", true),
            ("[a-c_-]+$", "", "a-_", true), ("[^a-c]", "i", "ABC", false), ("", "", "", true), ("a|", "", "b", true),
            ("^(a*)*$", "", "aab", false), (#"\W"#, "", "a é", true), ("a{,2}", "", "a{,2}", true),
        ])
    func patterns(pattern: String, options: String, text: String, expected: Bool) throws {
        var operand: JSONObject = ["$regex": .string(pattern)]
        if !options.isEmpty { operand["$options"] = .string(options) }
        let condition = JSONValue.object(["s": .object(operand)]).text
        #expect(try matches(condition, JSONValue.object(["s": .string(text)]).text) == expected)
    }

    @Test(
        "Matches points in circles, boxes and polygons",
        arguments: [
            (#"{"g":{"$nearSphere":[52.5,13.4]}}"#, true),
            (#"{"g":{"$nearSphere":[52.5,13.4],"$maxDistanceInKilometers":10}}"#, true),
            (#"{"g":{"$nearSphere":[48.8,2.3],"$maxDistanceInKilometers":800}}"#, false),
            (#"{"g":{"$geoWithin":{"$centerSphere":[[48.8,2.3],0.2]}}}"#, true),
            (#"{"g":{"$within":{"$box":[[45,0],[55,15]]}}}"#, true),
            (#"{"g":{"$within":{"$box":[[45,170],[55,-170]]}}}"#, false),
            (#"{"g":{"$within":{"$box":[[45,400],[55,-400]]}}}"#, false),
            (#"{"g":{"$geoWithin":{"$polygon":[[50,10],[55,10],[55,20],[50,20]]}}}"#, true),
            (#"{"g":{"$geoWithin":{"$polygon":[[50,10],[55,10],[55,12]]}}}"#, false),
            (#"{"g":[52.52,13.405]}"#, true), (#"{"g":{"$ne":[52.52,13.405]}}"#, false),
            (#"{"area":{"$geoIntersects":{"$point":[5,5]}}}"#, true),
            (#"{"area":{"$geoIntersects":{"$point":[0,5]}}}"#, true),
            (#"{"area":{"$geoIntersects":{"$point":[11,5]}}}"#, false),
            (#"{"area":{"__type":"Polygon","coordinates":[[0,0],[10,0],[10,10],[0,10]]}}"#, true),
            (#"{"area":{"__type":"Polygon","coordinates":[[0,0],[10,0],[10,10]]}}"#, false),
        ])
    func places(condition: String, expected: Bool) throws {
        // In this test, pairs stand for points, except as corners of a `Polygon`.
        func pointed(_ value: JSONValue) -> JSONValue {
            switch value {
            case .array(let list):
                if list.count == 2, let latitude = list[0].numberValue, let longitude = list[1].numberValue {
                    return GeoPoint(latitude: latitude, longitude: longitude).json
                }
                return .array(list.map(pointed))
            case .object(let object): return value["__type"] == "Polygon" ? value : .object(object.mapValues(pointed))
            default: return value
            }
        }
        let object = """
            {"g":{"__type":"GeoPoint","latitude":52.52,"longitude":13.405},
            "area":{"__type":"Polygon","coordinates":[[0,0],[0,10],[10,10],[10,0],[0,0]]}}
            """
        #expect(try matches(pointed(try JSONValue(parsing: condition)).text, object) == expected)
    }

    @Test(
        "Reports conditions that need the database, unsupported patterns and invalid operands",
        arguments: [
            (#"{"p":{"$inQuery":{"className":"B","where":{}}}}"#, FilterMatcherError.needsDatabase("$inQuery")),
            (#"{"p":{"$notInQuery":{"className":"B","where":{}}}}"#, .needsDatabase("$notInQuery")),
            (
                #"{"s":{"$select":{"query":{"className":"B","where":{}},"key":"k"}}}"#, .needsDatabase("$select")
            ),
            (
                #"{"s":{"$dontSelect":{"query":{"className":"B","where":{}},"key":"k"}}}"#,
                .needsDatabase("$dontSelect")
            ),
            (
                #"{"$relatedTo":{"object":{"__type":"Pointer","className":"B","objectId":"1"},"key":"k"}}"#,
                .needsDatabase("$relatedTo")
            ),
            (#"{"s":{"$text":{"$search":{"$term":"x"}}}}"#, .needsDatabase("$text")),
            (#"{"fans":{"__type":"Pointer","className":"_User","objectId":"1"}}"#, .needsDatabase("fans")),
            (#"{"_rperm":"x"}"#, .needsDatabase("_rperm")),
            (#"{"$nor":[{"_rperm":"x"}]}"#, .needsDatabase("_rperm")),
            (#"{"s":{"$regex":"(a)\\1"}}"#, .unsupportedPattern("back references are not supported")),
            (#"{"s":{"$regex":"(?=a)b"}}"#, .unsupportedPattern("lookaround is not supported")),
            (#"{"s":{"$regex":"((a{255}){255}){255}"}}"#, .unsupportedPattern("too many repetitions")),
            (#"{"s":{"$regex":"(((){255}){255}){255}"}}"#, .unsupportedPattern("too many repetitions")),
            (
                #"{"n":{"$lt":{"$relativeTime":"now"}}}"#,
                .invalid(ParseError(107, "$relativeTime can only be used with Date field"))
            ),
        ])
    func refusals(condition: String, expected: FilterMatcherError) throws {
        #expect(try failure(condition) == expected)
    }

    @Test(
        "Rejects malformed patterns",
        arguments: [
            "(", ")", "[a", "*", "a**", "^*", "a{2", "a{3,2}", "a{256}", "a|*", "[b-a]", "[a-c-e]", "+a", "a\\",
        ])
    func brokenPatterns(pattern: String) throws {
        let condition = JSONValue.object(["s": ["$regex": .string(pattern)]]).text
        #expect(try failure(condition) == .invalid(ParseError(102, "Invalid regular expression")))
    }

    @Test(
        "Limits the total size of a filter's expanded patterns and counts patterns and values in its weight",
        arguments: ["s", "l", "o.a", "zz"])
    func writtenOut(field: String) throws {
        func filter(_ count: Int) -> String {
            let pattern = #"{"\#(field)":{"$regex":"(b{255}){38}"}}"#
            return #"{"$or":[\#(Array(repeating: pattern, count: count).joined(separator: ","))]}"#
        }
        #expect(try failure(filter(2)) == nil)
        #expect(try failure(filter(3)) == .unsupportedPattern("too many repetitions"))
        #expect(try matcher(filter(2)).weight > 2 * 9690 * 24)
        let empty = Array(repeating: #"{"s":{"$regex":"((){255}){38}"}}"#, count: 3).joined(separator: ",")
        #expect(try failure(#"{"$or":[\#(empty)]}"#) == .unsupportedPattern("too many repetitions"))
        #expect(try matcher(#"{"n":{"$in":[\#((1...5000).map { "\($0)" }.joined(separator: ","))]}}"#).weight > 200_000)
    }

    @Test(
        "Comparing long strings consumes the match budget",
        arguments: [
            (#"{"s":{"$gt":"T"}}"#, #"{"s":"T"}"#), (#"{"l":{"$gt":"T"}}"#, #"{"l":["T"]}"#),
            (#"{"s":{"$all":[{"$regex":"^\\QT\\E"}]}}"#, #"{"s":"T"}"#),
            (#"{"l":{"$all":[{"$regex":"^\\QT\\E"}]}}"#, #"{"l":["T"]}"#),
            (
                #"{"l":{"__type":"Pointer","className":"B","objectId":"T"}}"#,
                #"{"l":[{"__type":"Pointer","className":"B","objectId":"T"}]}"#
            ),
        ])
    func longTexts(condition: String, object: String) throws {
        let text = String(repeating: "a", count: 3200)
        func filled(_ template: String) -> String {
            template.split(separator: "T\"", omittingEmptySubsequences: false).joined(separator: text + "\"")
                .split(separator: "T\\", omittingEmptySubsequences: false).joined(separator: text + "\\")
        }
        let matcher = try matcher(filled(condition))
        let long = try #require(try JSONValue(parsing: filled(object)).objectValue)
        var budget = MatchBudget(steps: 1000)
        _ = try matcher.matches(long, &budget)
        #expect(budget.left <= 900)
    }

    @Test("Each condition on a polygon costs as much as its corners, even $exists")
    func corners() throws {
        let conditions = Array(repeating: #"{"area":{"$exists":true}}"#, count: 100).joined(separator: ",")
        let matcher = try matcher(#"{"$and":[\#(conditions)]}"#)
        let corners = (0..<1000).map { "[\(Double($0) / 100),\($0 % 2)]" }.joined(separator: ",")
        let object = #"{"area":{"__type":"Polygon","coordinates":[\#(corners)]}}"#
        let area = try #require(try JSONValue(parsing: object).objectValue)
        #expect(try matches(#"{"$and":[\#(conditions)]}"#, object))
        var budget = MatchBudget(steps: 10_000)
        var refusal: FilterMatcherError?
        do throws(FilterMatcherError) {
            _ = try matcher.matches(area, &budget)
        } catch {
            refusal = error
        }
        #expect(refusal == .tooMuchWork)
    }

    @Test("Matches patterns without backtracking and rejects excessive work")
    func bounds() throws {
        let text = String(repeating: "a", count: 10_000) + "b"
        #expect(try !matches(#"{"s":{"$regex":"^(a+)+$"}}"#, #"{"s":"\#(text)"}"#))
        #expect(try !matches(#"{"s":{"$regex":"(a|aa|a?)*c$"}}"#, #"{"s":"\#(text)"}"#))
        let groups = String(repeating: "(", count: 1500) + String(repeating: ")", count: 1500)
        #expect(try failure(#"{"s":{"$regex":"\#(groups)"}}"#) == .unsupportedPattern("too many nested groups"))
        let list = "[" + (0..<20_000).map { String($0) }.joined(separator: ",") + "]"
        let conditions = (0..<1000).map { #"{"l":-\#($0 + 1)}"# }.joined(separator: ",")
        #expect(try failure(#"{"$or":[\#(conditions)]}"#, #"{"l":\#(list)}"#) == .tooMuchWork)
        // Starting a match of an expensive pattern counts toward the budget, too.
        let letters = "[" + Array(repeating: #""b""#, count: 20_000).joined(separator: ",") + "]"
        #expect(try failure(#"{"l":{"$regex":"x(b{255}){38}"}}"#, #"{"l":\#(letters)}"#) == .tooMuchWork)
        // A long list of values is looked up in a set instead of scanned.
        #expect(
            try !matches(#"{"l":{"$in":[\#((1...5000).map { "-\($0)" }.joined(separator: ","))]}}"#, #"{"l":\#(list)}"#)
        )
    }
}
