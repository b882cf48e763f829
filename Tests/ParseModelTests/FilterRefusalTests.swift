import JSON
import ParseModel
import Testing

@Suite("Rejecting invalid queries")
struct FilterRefusalTests {
    @Test(
        "Rejects each mistake with Parse's code and message",
        arguments: [
            (#"{"ACL":1}"#, "102 Cannot query on ACL."),
            (#"{"$or":1}"#, "102 Bad $or format - use an array value."),
            (#"{"$or":{}}"#, "102 Bad $or format - use an array value."),
            (#"{"$and":"x"}"#, "102 Bad $and format - use an array value."),
            (#"{"$nor":[]}"#, "102 Bad $nor format - use an array of at least 1 value."),
            (#"{"$nor":{}}"#, "102 Bad $nor format - use an array of at least 1 value."),
            (#"{"f":{"$regex":"a","$options":"q"}}"#, "102 Bad $options value for query: q"),
            (#"{"f":{"$regex":"a","$options":""}}"#, "102 Bad $options value for query: "),
            (#"{"f":{"$regex":"a","$options":1}}"#, "102 Bad $options value for query: 1"),
            (#"{"f":{"$options":"i"}}"#, "102 Bad $options value for query: \"i\""),
            (#"{"f":{"$foo":1}}"#, "102 bad constraint: $foo"),
            (#"{"f":{"$gte":{"$date":"2020-01-01"}}}"#, "102 bad $gte value: $date is not supported as a value"),
            (#"{"f":{"$eq":{"$gt":1}}}"#, "102 bad $eq value: $gt is not supported as a value"),
            (#"{"f":{"$in":[1,{"$x":1}]}}"#, "102 bad $in value: $x is not supported as a value"),
            (#"{"f":{"$nin":[[{"$x":1}]]}}"#, "102 bad $nin value: $x is not supported as a value"),
            (#"{"f":{"$all":[{"$x":1}]}}"#, "102 bad $all value: $x is not supported as a value"),
            (#"{"f":{"$containedBy":[{"$x":1}]}}"#, "102 bad $containedBy value: $x is not supported as a value"),
            (#"{"f":{"$exists":{"$x":1}}}"#, "102 bad $exists value: $x is not supported as a value"),
            (#"{"f":{"$date":"2020-01-01"}}"#, "102 bad constraint: $date"),
            (#"{"f":{"$in":1}}"#, "107 bad $in value"),
            (#"{"f":{"$nin":{}}}"#, "107 bad $nin value"),
            (#"{"f":{"$containedBy":1}}"#, "107 bad $containedBy: should be an array"),
            (
                #"{"f":{"$all":[{"$regex":"^\\Qa\\E"},1]}}"#,
                #"107 All $all values must be of regex type or none: [{"$regex":"^\\Qa\\E"},1]"#
            ),
            (#"{"f":{"$text":{}}}"#, "107 bad $text: $search, should be object"),
            (#"{"f":{"$text":{"$search":"x"}}}"#, "107 bad $text: $search, should be object"),
            (#"{"f":{"$text":{"$search":{}}}}"#, "107 bad $text: $term, should be string"),
            (#"{"f":{"$text":{"$search":{"$term":1}}}}"#, "107 bad $text: $term, should be string"),
            (#"{"f":{"$text":{"$search":{"$term":"x","$language":1}}}}"#, "107 bad $text: $language, should be string"),
            (
                #"{"f":{"$text":{"$search":{"$term":"x","$caseSensitive":1}}}}"#,
                "107 bad $text: $caseSensitive, should be boolean"
            ),
            (
                #"{"f":{"$text":{"$search":{"$term":"x","$diacriticSensitive":"y"}}}}"#,
                "107 bad $text: $diacriticSensitive, should be boolean"
            ),
            (#"{"f":{"$within":{"$box":[1]}}}"#, "107 malformatted $within arg"),
            (#"{"f":{"$within":1}}"#, "107 malformatted $within arg"),
            (#"{"f":{"$geoWithin":{}}}"#, "107 bad $geoWithin value"),
            (
                #"{"f":{"$geoWithin":{"$polygon":[[1,2],[3,4]]}}}"#,
                "107 bad $geoWithin value; $polygon should contain at least 3 GeoPoints"
            ),
            (
                #"{"f":{"$geoWithin":{"$polygon":{"__type":"Polygon","coordinates":[[1,2]]}}}}"#,
                "107 bad $geoWithin value; Polygon.coordinates should contain at least 3 lon/lat pairs"
            ),
            (
                #"{"f":{"$geoWithin":{"$polygon":"x"}}}"#,
                "107 bad $geoWithin value; $polygon should be Polygon object or Array of Parse.GeoPoint's"
            ),
            (#"{"f":{"$geoWithin":{"$polygon":[[1,2],[3,4],"x"]}}}"#, "107 bad $geoWithin value"),
            (
                #"{"f":{"$geoWithin":{"$centerSphere":[[1,2]]}}}"#,
                "107 bad $geoWithin value; $centerSphere should be an array of Parse.GeoPoint and distance"
            ),
            (
                #"{"f":{"$geoWithin":{"$centerSphere":["x",1]}}}"#,
                "107 bad $geoWithin value; $centerSphere geo point invalid"
            ),
            (
                #"{"f":{"$geoWithin":{"$centerSphere":[[1,2],"x"]}}}"#,
                "107 bad $geoWithin value; $centerSphere distance invalid"
            ),
            (
                #"{"f":{"$geoWithin":{"$centerSphere":[[1,2],-1]}}}"#,
                "107 bad $geoWithin value; $centerSphere distance invalid"
            ),
            (#"{"f":{"$geoIntersects":{"$point":1}}}"#, "107 bad $geoIntersect value; $point should be GeoPoint"),
            (#"{"f":{"$inQuery":{"where":{}}}}"#, "102 improper usage of $inQuery"),
            (#"{"f":{"$notInQuery":1}}"#, "102 improper usage of $notInQuery"),
            (#"{"f":{"$select":{"key":"a"}}}"#, "102 improper usage of $select"),
            (#"{"f":{"$select":{"query":{"className":"A"}}}}"#, "102 improper usage of $select"),
            (
                #"{"f":{"$dontSelect":{"query":{"className":"A"},"key":"a","more":1}}}"#,
                "102 improper usage of $dontSelect"
            ),
            (#"{"f":{"$dontSelect":{"query":{},"key":"a"}}}"#, "102 improper usage of $dontSelect"),
            (
                #"{"f":{"$eq":{"$relativeTime":"now"}}}"#,
                "107 $relativeTime can only be used with the $lt, $lte, $gt, and $gte operators"
            ),
            (
                #"{"f":{"$ne":{"$relativeTime":"now"}}}"#,
                "107 $relativeTime can only be used with the $lt, $lte, $gt, and $gte operators"
            ),
            (
                #"{"f":{"$exists":{"$relativeTime":"now"}}}"#,
                "107 $relativeTime can only be used with the $lt, $lte, $gt, and $gte operators"
            ),
            (
                #"{"f":{"$lt":{"$relativeTime":"3 days"}}}"#,
                "107 bad $relativeTime (3 days) value. Time should either start with 'in' or end with 'ago'"
            ),
            (
                #"{"f":{"$lt":{"$relativeTime":"in 3 days ago"}}}"#,
                "107 bad $relativeTime (in 3 days ago) value. Time cannot have both 'in' and 'ago'"
            ),
            (
                #"{"f":{"$lt":{"$relativeTime":"in 3"}}}"#,
                "107 bad $relativeTime (in 3) value. Invalid time string. Dangling unit or number."
            ),
            (
                #"{"f":{"$lt":{"$relativeTime":"x days ago"}}}"#,
                "107 bad $relativeTime (x days ago) value. 'x' is not an integer."
            ),
            (
                #"{"f":{"$lt":{"$relativeTime":"3 moons ago"}}}"#,
                "107 bad $relativeTime (3 moons ago) value. Invalid interval: 'moons'"
            ),
        ])
    func mistakes(text: String, expected: String) throws {
        #expect(try refusal(text) == expected)
    }

    @Test("Rejects coordinates out of bounds")
    func bounds() throws {
        for text in [
            #"{"f":{"$geoWithin":{"$polygon":[[0,91],[0,0],[1,1]]}}}"#,
            #"{"f":{"$geoWithin":{"$polygon":[[181,0],[0,0],[1,1]]}}}"#,
            #"{"f":{"$geoWithin":{"$centerSphere":[[0,-90.5],1]}}}"#,
            #"{"f":{"$geoIntersects":{"$point":{"__type":"GeoPoint","latitude":-91,"longitude":0}}}}"#,
        ] {
            #expect(try refusal(text)?.contains("out of bounds") == true, "\(text)")
        }
    }

    @Test(
        "Rejects invalid keys with 105",
        arguments: [
            "_hashed_password", "_x", "1a", "a-b", "a b", "a\\\"b", "a'b", "a;b", "a$b", "é", "", ".a", "a..b", "a.",
            "$where", "$expr", "$comment", "a::int", "--", "a\\\\b", "a\\u0000b",
        ])
    func keys(key: String) throws {
        #expect(try refusal(#"{"\#(key)":1}"#)?.hasPrefix("105 Invalid key name: ") == true)
    }

    @Test("Rejects invalid keys within groups and subqueries")
    func nestedKeys() throws {
        #expect(try refusal(#"{"$or":[{"$and":[{"a'b":1}]}]}"#) == "105 Invalid key name: a'b")
        #expect(
            try refusal(#"{"f":{"$inQuery":{"className":"A","where":{"x;y":1}}}}"#) == "105 Invalid key name: x;y")
        #expect(try refusal(#"{"$or":[{"ACL":1}]}"#) == "102 Cannot query on ACL.")
    }

    @Test("Rejects $relatedTo within $nor")
    func relatedInsideNor() throws {
        let related = #"{"$relatedTo":{"object":{"__type":"Pointer","className":"A","objectId":"b"},"key":"k"}}"#
        #expect(try refusal(#"{"$nor":[\#(related)]}"#) != nil)
        #expect(try refusal(#"{"$or":[\#(related)]}"#) == nil)
    }

    @Test("Limits the nesting of groups, with a higher limit for the master key")
    func conditionDepth() throws {
        var limits = FilterParser.Limits()
        limits.conditionDepth = 3
        func nested(_ depth: Int) -> String {
            String(repeating: #"{"$or":["#, count: depth) + #"{"a":1}"# + String(repeating: "]}", count: depth)
        }
        #expect(try refusal(nested(3), limits: limits) == nil)
        #expect(
            try refusal(nested(4), limits: limits)
                == "102 Query condition nesting depth exceeds maximum allowed depth of 3")
        #expect(try refusal(nested(4), isMaster: true, limits: limits) == nil)
        // The limit that protects the stack also applies to the master key.
        #expect(try refusal(nested(101), isMaster: true)?.hasPrefix("102 ") == true)
    }

    @Test("Limits the nesting and the results of subqueries")
    func subqueryLimits() throws {
        var limits = FilterParser.Limits()
        limits.subqueryDepth = 2
        limits.subqueryLimit = 50
        func nested(_ depth: Int) -> String {
            String(repeating: #"{"a":{"$inQuery":{"className":"A","where":"#, count: depth) + "{}"
                + String(repeating: "}}}", count: depth)
        }
        #expect(try refusal(nested(2), limits: limits) == nil)
        #expect(
            try refusal(nested(3), limits: limits) == "102 Subquery nesting depth exceeds maximum allowed depth of 2")
        guard case .field(_, .inQuery(let query)) = try filter(nested(1), limits: limits) else {
            Issue.record("$inQuery must become a query")
            return
        }
        #expect(query.limit == 50)
    }

    @Test("Rejects $regex if it is disabled, except with the master key")
    func regexOff() throws {
        var limits = FilterParser.Limits()
        limits.allowsRegex = false
        #expect(try refusal(#"{"f":{"$regex":"a"}}"#, limits: limits) == "102 $regex operator is not allowed")
        #expect(try refusal(#"{"f":{"$regex":"a"}}"#, isMaster: true, limits: limits) == nil)
    }

    @Test("Rejects unknown operators with 107 if configured for older versions")
    func olderLines() throws {
        let object = try #require(try JSONValue(parsing: #"{"f":{"$foo":1}}"#).objectValue)
        #expect(throws: ParseError.self) {
            try FilterParser(isMaster: false, now: 0, unknownOperatorCode: 107).parse(object)
        }
        do {
            _ = try FilterParser(isMaster: false, now: 0, unknownOperatorCode: 107).parse(object)
        } catch {
            #expect(error.code == 107)
        }
    }
}
