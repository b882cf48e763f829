import JSON
import ParseModel
import Testing

/// Parses a `where` in JSON.
func filter(_ text: String, isMaster: Bool = false, limits: FilterParser.Limits = .init(), now: Int64 = 0) throws
    -> Filter
{
    let object = try #require(try JSONValue(parsing: text).objectValue)
    return try FilterParser(isMaster: isMaster, now: now, limits: limits).parse(object)
}

/// The error for a `where`, as `code text`, or nil if it is accepted.
func refusal(_ text: String, isMaster: Bool = false, limits: FilterParser.Limits = .init()) throws -> String? {
    do {
        _ = try filter(text, isMaster: isMaster, limits: limits)
        return nil
    } catch let error as ParseError {
        return "\(error.code) \(error.message)"
    }
}

private func field(_ key: String, _ constraint: Constraint) -> Filter { .field(FieldPath(key), constraint) }

@Suite("Parsing queries")
struct FilterParserTests {
    private static let pointer: JSONValue = ["__type": "Pointer", "className": "Band", "objectId": "b1"]

    @Test(
        "Parses each operator into its constraint",
        arguments: [
            (#"{"f":5}"#, Constraint.equal(5)),
            (#"{"f":null}"#, .equal(.null)),
            (#"{"f":{"a":1}}"#, .equal(["a": 1])),
            (#"{"f":{}}"#, .equal([:])),
            (#"{"f":[1,2]}"#, .equal([1, 2])),
            (#"{"f":{"__type":"Pointer","className":"Band","objectId":"b1"}}"#, .equal(pointer)),
            (#"{"f":{"$eq":"x"}}"#, .equal("x")),
            (#"{"f":{"$ne":null}}"#, .notEqual(.null)),
            (#"{"f":{"$lt":1}}"#, .compare(.less, 1)),
            (#"{"f":{"$lte":""}}"#, .compare(.lessOrEqual, "")),
            (#"{"f":{"$gt":false}}"#, .compare(.greater, false)),
            (#"{"f":{"$gte":"a"}}"#, .compare(.greaterOrEqual, "a")),
            (#"{"f":{"$in":[1,[2,3],null]}}"#, .isIn([1, 2, 3, .null])),
            (#"{"f":{"$nin":[]}}"#, .notIn([])),
            (#"{"f":{"$exists":true}}"#, .exists(true)),
            (#"{"f":{"$exists":0}}"#, .exists(false)),
            (#"{"f":{"$exists":"yes"}}"#, .exists(true)),
            (#"{"f":{"$all":[1,"1"]}}"#, .containsAll([1, "1"])),
            (#"{"f":{"$all":[{"$regex":"^\\Qab\\E"},{"$regex":"^\\Qc\\E"}]}}"#, .containsAllStarting(["ab", "c"])),
            (#"{"f":{"$containedBy":[1]}}"#, .containedBy([1])),
            (#"{"f":{"$regex":"a.b"}}"#, .regex(pattern: "a.b", options: "")),
            (#"{"f":{"$regex":"a","$options":"imxs"}}"#, .regex(pattern: "a", options: "imxs")),
            (#"{"f":{"$options":"i","$regex":"a"}}"#, .regex(pattern: "a", options: "i")),
        ])
    func operators(text: String, constraint: Constraint) throws {
        #expect(try filter(text) == field("f", constraint))
    }

    @Test("Parses geo operators, with distances in radians, miles and kilometers")
    func geography() throws {
        let point = #"{"__type":"GeoPoint","latitude":10,"longitude":20}"#
        let place = GeoPoint(latitude: 10, longitude: 20)
        #expect(try filter(#"{"f":{"$nearSphere":\#(point)}}"#) == field("f", .near(place, radians: nil)))
        #expect(
            try filter(#"{"f":{"$nearSphere":\#(point),"$maxDistance":0.5}}"#) == field("f", .near(place, radians: 0.5))
        )
        #expect(
            try filter(#"{"f":{"$nearSphere":\#(point),"$maxDistanceInRadians":0.25}}"#)
                == field("f", .near(place, radians: 0.25)))
        #expect(
            try filter(#"{"f":{"$nearSphere":\#(point),"$maxDistanceInMiles":3959}}"#)
                == field("f", .near(place, radians: 1)))
        #expect(
            try filter(#"{"f":{"$nearSphere":\#(point),"$maxDistanceInKilometers":6371}}"#)
                == field("f", .near(place, radians: 1)))
        #expect(
            try filter(#"{"f":{"$within":{"$box":[\#(point),\#(point)]}}}"#)
                == field("f", .box(southWest: place, northEast: place)))
        #expect(
            try filter(#"{"f":{"$geoWithin":{"$polygon":[\#(point),\#(point),[1,2]]}}}"#)
                == field("f", .insidePolygon([place, place, GeoPoint(latitude: 2, longitude: 1)])))
        #expect(
            try filter(#"{"f":{"$geoWithin":{"$polygon":{"__type":"Polygon","coordinates":[[1,2],[3,4],[5,6]]}}}}"#)
                == field(
                    "f",
                    .insidePolygon([
                        GeoPoint(latitude: 2, longitude: 1), GeoPoint(latitude: 4, longitude: 3),
                        GeoPoint(latitude: 6, longitude: 5),
                    ])))
        #expect(
            try filter(#"{"f":{"$geoWithin":{"$centerSphere":[[20,10],0.3]}}}"#)
                == field("f", .insideCircle(place, radians: 0.3)))
        #expect(
            try filter(#"{"f":{"$geoIntersects":{"$point":\#(point)}}}"#) == field("f", .polygonContains(place)))
    }

    @Test("Requires all keys and all operators of a key to match")
    func conjunction() throws {
        #expect(
            try filter(#"{"a":1,"b":{"$gt":2,"$lt":5}}"#)
                == .all([field("a", .equal(1)), field("b", .compare(.greater, 2)), field("b", .compare(.less, 5))]))
        #expect(try filter("{}") == .everything)
        #expect(
            try filter(#"{"a":{"x":1,"$ne":2}}"#) == .all([field("a", .equal(["x": 1])), field("a", .notEqual(2))]))
    }

    @Test("Parses nested groups, in which empty clauses match everything")
    func groups() throws {
        #expect(try filter(#"{"$or":[{"a":1},{}]}"#) == .any([field("a", .equal(1)), .everything]))
        #expect(
            try filter(#"{"$and":[{"a":1},{"$nor":[{"b":2}]}]}"#)
                == .all([field("a", .equal(1)), .none([field("b", .equal(2))])]))
        #expect(try filter(#"{"$or":[]}"#) == .everything)
    }

    @Test("Parses subqueries with class, condition, key and redirect, and $relatedTo")
    func subqueries() throws {
        guard
            case .field(let path, .inQuery(let query)) = try filter(
                #"{"a":{"$inQuery":{"className":"Band","where":{"n":1},"redirectClassNameForKey":"x"}}}"#)
        else {
            Issue.record("$inQuery must become a query")
            return
        }
        #expect(path.text == "a")
        #expect(query.className == "Band")
        #expect(query.filter == field("n", .equal(1)))
        #expect(query.redirectKey == "x")
        #expect(query.key == nil)
        guard
            case .field(_, .notInQuery(let other)) = try filter(
                #"{"a":{"$dontSelect":{"query":{"className":"Band"},"key":"x.y"}}}"#)
        else {
            Issue.record("$dontSelect must become a query")
            return
        }
        #expect(other.key == FieldPath("x.y"))
        #expect(other.filter == .everything)
        #expect(
            try filter(
                #"{"$relatedTo":{"object":{"__type":"Pointer","className":"Band","objectId":"b1"},"key":"fans"}}"#)
                == .related(owner: Pointer(className: "Band", objectId: "b1"), key: "fans"))
    }

    @Test("Applies the defaults of full-text search")
    func textSearch() throws {
        #expect(
            try filter(#"{"f":{"$text":{"$search":{"$term":"x"}}}}"#)
                == field(
                    "f",
                    .text(TextSearch(term: "x", language: nil, isCaseSensitive: false, isDiacriticSensitive: true))))
    }

    @Test("Parses relative times in every unit")
    func relativeTimes() throws {
        let times: [String: Int64] = [
            "now": 0, "in 1 second": 1, "in 2 secs": 2, "3 minutes ago": -180, "in 1 min": 60,
            "in 1 hour 30 mins": 5400,
            "2 hrs ago": -7200, "in 1 day": 86_400, "1 week 2 days ago": -777_600, "in 2 wks": 1_209_600,
            "1 year ago": -31_536_000, "In 3 YRS": 94_608_000, "in -1 day": -86_400,
        ]
        for (text, seconds) in times {
            let parsed = try filter(#"{"f":{"$lt":{"$relativeTime":"\#(text)"}}}"#, now: 1_000_000_000_000)
            #expect(
                parsed == field("f", .compareRelative(.less, milliseconds: 1_000_000_000_000 + seconds * 1000)),
                "\(text)")
        }
    }

    @Test("Allows internal fields only with the master key")
    func masterKeys() throws {
        for key in ["_rperm", "_email_verify_token", "_perishable_token", "_failed_login_count", "_id"] {
            #expect(try refusal(#"{"\#(key)":1}"#, isMaster: true) == nil)
        }
        for key in ["_email_verify_token", "_perishable_token", "_failed_login_count", "_hashed_password"] {
            #expect(try refusal(#"{"\#(key)":1}"#) == "105 Invalid key name: \(key)")
        }
    }
}
