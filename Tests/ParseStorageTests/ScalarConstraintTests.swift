import Testing

@Suite("Constraints on scalar fields")
struct ScalarConstraintTests {
    private static func fill(_ test: TestStore) async throws {
        try await test.create(
            "T", "a",
            #"{"n":1,"s":"x","b":true,"d":{"__type":"Date","iso":"2020-01-01T00:00:00.000Z"},"p":{"__type":"Pointer","className":"B","objectId":"b1"},"f":{"__type":"File","name":"a.txt"}}"#
        )
        try await test.create(
            "T", "b",
            #"{"n":2.5,"s":"Y z","b":false,"d":{"__type":"Date","iso":"2021-01-01T00:00:00.000Z"},"p":{"__type":"Pointer","className":"B","objectId":"b2"},"f":{"__type":"File","name":"b.txt"}}"#
        )
        try await test.create("T", "c")
    }

    @Test("Equality compares values of the same type, and null matches missing values")
    func equality() async throws {
        try await TestStore.run { test in
            try await Self.fill(test)
            try await test.expect(
                "T",
                [
                    (#"{"n":1}"#, "a"), (#"{"n":2.5}"#, "b"), (#"{"s":"x"}"#, "a"), (#"{"b":false}"#, "b"),
                    (#"{"n":null}"#, "c"), (#"{"s":{"$eq":null}}"#, "c"), (#"{"n":{"$ne":null}}"#, "a b"),
                    (#"{"d":{"__type":"Date","iso":"2020-01-01T01:00:00+01:00"}}"#, "a"),
                    (#"{"d":{"$eq":{"__type":"Date","iso":"2021-01-01T00:00:00.000Z"}}}"#, "b"),
                    (#"{"p":{"__type":"Pointer","className":"B","objectId":"b1"}}"#, "a"),
                    (#"{"p":{"$eq":{"__type":"Pointer","className":"B","objectId":"b2"}}}"#, "b"),
                    (#"{"p":"b1"}"#, "a"),
                    (#"{"f":{"__type":"File","name":"a.txt"}}"#, "a"),
                    (#"{"objectId":"c"}"#, "c"),
                ])
        }
    }

    @Test("A value of another type matches nothing and causes no error")
    func otherTypes() async throws {
        try await TestStore.run { test in
            try await Self.fill(test)
            var table: [(String, String)] = []
            let values = [
                "n": [#""abc""#, "true", "{}", "[1]", #"{"__type":"Date","iso":"x"}"#],
                "s": ["1", "true", "{}", #"["x"]"#, #"{"__type":"Pointer","className":"B","objectId":"x"}"#],
                "b": ["1", "0", #""true""#, "[]"],
                "d": [
                    "1", #""yesterday""#, "{}", #"{"__type":"Date","iso":"nonsense"}"#, #"{"__type":"Date","iso":5}"#,
                ],
                "p": [
                    "1", "{}", #"{"__type":"Pointer","className":"B","objectId":"none"}"#, #"{"__type":"Pointer"}"#,
                ],
                "f": ["1", "[]", #"{"__type":"File"}"#],
            ]
            for (field, list) in values {
                for value in list {
                    table.append((#"{"\#(field)":\#(value)}"#, ""))
                    table.append((#"{"\#(field)":{"$ne":\#(value)}}"#, "a b c"))
                    table.append((#"{"\#(field)":{"$in":[\#(value)]}}"#, ""))
                }
            }
            for field in ["n", "b", "d"] {
                table.append((#"{"\#(field)":{"$gt":"abc"}}"#, ""))
                table.append((#"{"\#(field)":{"$regex":"a"}}"#, ""))
                table.append((#"{"\#(field)":{"$all":["x"]}}"#, ""))
            }
            try await test.expect(
                "T", table.filter { !$0.0.contains(#"["x"]]"#) && !$0.0.contains("[[1]]") && !$0.0.contains("[[]]") })
        }
    }

    @Test("$ne also matches missing fields")
    func notEqual() async throws {
        try await TestStore.run { test in
            try await Self.fill(test)
            try await test.expect(
                "T",
                [
                    (#"{"n":{"$ne":1}}"#, "b c"), (#"{"s":{"$ne":"x"}}"#, "b c"), (#"{"b":{"$ne":true}}"#, "b c"),
                    (#"{"d":{"$ne":{"__type":"Date","iso":"2020-01-01T00:00:00.000Z"}}}"#, "b c"),
                    (#"{"p":{"$ne":{"__type":"Pointer","className":"B","objectId":"b1"}}}"#, "b c"),
                    (#"{"p":{"$ne":{"__type":"Pointer","className":"C","objectId":"b1"}}}"#, "a b c"),
                ])
        }
    }

    @Test("$in matches any listed value, null in it matches missing ones, and an empty list nothing")
    func membership() async throws {
        try await TestStore.run { test in
            try await Self.fill(test)
            let dates =
                #"{"__type":"Date","iso":"2020-01-01T00:00:00.000Z"},{"__type":"Date","iso":"1999-01-01T00:00:00Z"}"#
            let pointer = #"{"__type":"Pointer","className":"B","objectId":"b1"}"#
            try await test.expect(
                "T",
                [
                    (#"{"n":{"$in":[1,2.5]}}"#, "a b"), (#"{"n":{"$in":[null,1]}}"#, "a c"),
                    (#"{"n":{"$in":[1,null]}}"#, "a c"),
                    (#"{"n":{"$in":[null]}}"#, "c"), (#"{"n":{"$in":[null,null]}}"#, "c"), (#"{"n":{"$in":[]}}"#, ""),
                    (#"{"s":{"$in":["x",1,true,"zzz"]}}"#, "a"), (#"{"s":{"$in":[["x"]]}}"#, "a"),
                    (#"{"b":{"$in":[false,null]}}"#, "b c"), (#"{"d":{"$in":[\#(dates)]}}"#, "a"),
                    (#"{"d":{"$in":[null,\#(dates)]}}"#, "a c"), (#"{"p":{"$in":[\#(pointer),"b2"]}}"#, "a b"),
                    (#"{"n":{"$in":[1,2.5],"$nin":[1]}}"#, "b"),
                    (#"{"n":{"$nin":[1]}}"#, "b c"), (#"{"n":{"$nin":[]}}"#, "a b c"),
                    (#"{"n":{"$nin":[null]}}"#, "a b"),
                    (#"{"n":{"$nin":[null,1]}}"#, "b"), (#"{"s":{"$nin":["x"]}}"#, "b c"),
                    (#"{"d":{"$nin":[\#(dates)]}}"#, "b c"), (#"{"p":{"$nin":[\#(pointer)]}}"#, "b c"),
                ])
        }
    }

    @Test("A pointer to another class with the same id doesn't match")
    func otherClass() async throws {
        try await TestStore.run { test in
            try await Self.fill(test)
            let other = #"{"__type":"Pointer","className":"C","objectId":"b1"}"#
            let own = #"{"__type":"Pointer","className":"B","objectId":"b2"}"#
            let named = #"{"__type":"Pointer","className":"b","objectId":"b1"}"#
            try await test.expect(
                "T",
                [
                    (#"{"p":\#(other)}"#, ""), (#"{"p":{"$eq":\#(other)}}"#, ""), (#"{"p":\#(named)}"#, ""),
                    (#"{"p":{"$in":[\#(other)]}}"#, ""), (#"{"p":{"$in":[\#(other),\#(own)]}}"#, "b"),
                    (#"{"p":{"$in":[\#(other),null]}}"#, "c"), (#"{"p":{"$nin":[\#(other)]}}"#, "a b c"),
                    (#"{"p":{"$nin":[\#(other),\#(own)]}}"#, "a c"), (#"{"p":{"$all":[\#(other)]}}"#, ""),
                    (#"{"p":{"$gte":\#(other)}}"#, ""), (#"{"p":{"$in":["b1",\#(other)]}}"#, "a"),
                    (#"{"$nor":[{"p":\#(other)}]}"#, "a b c"),
                    (#"{"p":{"__type":"Object","className":"C","objectId":"b1"}}"#, ""),
                    (#"{"p":{"__type":"Object","className":"B","objectId":"b1"}}"#, "a"),
                ])
        }
    }

    @Test("Comparisons match only values of the same type, including the empty string and false")
    func comparisons() async throws {
        try await TestStore.run { test in
            try await Self.fill(test)
            try await test.expect(
                "T",
                [
                    (#"{"n":{"$gt":1}}"#, "b"), (#"{"n":{"$gte":1}}"#, "a b"), (#"{"n":{"$lt":0}}"#, ""),
                    (#"{"n":{"$lte":2.5,"$gt":1}}"#, "b"), (#"{"s":{"$gt":""}}"#, "a b"), (#"{"s":{"$lt":""}}"#, ""),
                    (#"{"b":{"$gt":false}}"#, "a"), (#"{"n":{"$lt":null}}"#, ""), (#"{"n":{"$gt":"1"}}"#, ""),
                    (#"{"d":{"$gt":{"__type":"Date","iso":"2020-06-01T00:00:00.000Z"}}}"#, "b"),
                    (#"{"d":{"$lt":{"$relativeTime":"now"}}}"#, "a"),
                    (#"{"d":{"$gt":{"$relativeTime":"1 year ago"}}}"#, "a b"),
                ])
            let code = try await parseCode { try await test.ids("T", #"{"n":{"$lt":{"$relativeTime":"now"}}}"#) }
            #expect(code == 107)
        }
    }

    @Test("A field that the class doesn't have counts as missing in every object")
    func unknownFields() async throws {
        try await TestStore.run { test in
            try await Self.fill(test)
            try await test.expect(
                "T",
                [
                    (#"{"zz":1}"#, ""), (#"{"zz":null}"#, "a b c"), (#"{"zz":{"$exists":false}}"#, "a b c"),
                    (#"{"zz":{"$exists":true}}"#, ""), (#"{"zz":{"$ne":1}}"#, "a b c"),
                    (#"{"zz":{"$nin":[1]}}"#, "a b c"),
                    (#"{"zz":{"$in":[null]}}"#, "a b c"), (#"{"zz":{"$in":[1]}}"#, ""), (#"{"zz":{"$gt":1}}"#, ""),
                    (#"{"zz":{"$regex":"a"}}"#, ""), (#"{"zz.x":1}"#, ""), (#"{"zz.x":null}"#, "a b c"),
                    (#"{"$or":[{"zz":1},{"n":1}]}"#, "a"), (#"{"$nor":[{"zz":1}]}"#, "a b c"),
                    (#"{"n.x":1}"#, ""), (#"{"zz":{"$all":[1]}}"#, ""),
                    (#"{"zz":{"$inQuery":{"className":"T","where":{}}}}"#, ""),
                    (#"{"zz":{"$notInQuery":{"className":"T","where":{}}}}"#, "a b c"),
                ])
            #expect(try await test.ids("Nobody", "{}") == [])
            #expect(try await test.ids("Nobody", #"{"a.b":{"$gt":1}}"#) == [])
        }
    }

    @Test("A constraint on a missing field counts as false, so $nor finds objects without the field")
    func groups() async throws {
        try await TestStore.run { test in
            try await Self.fill(test)
            try await test.expect(
                "T",
                [
                    (#"{"$or":[{"n":1},{"s":"Y z"}]}"#, "a b"), (#"{"$or":[{"n":1},{}]}"#, "a b c"),
                    (#"{"$or":[{}]}"#, "a b c"),
                    (#"{"$and":[{"n":1},{"s":"x"}]}"#, "a"), (#"{"$and":[]}"#, "a b c"),
                    (#"{"$nor":[{"n":1}]}"#, "b c"), (#"{"$nor":[{"n":1},{"s":"Y z"}]}"#, "c"),
                    (#"{"$nor":[{"n":{"$gt":100}}]}"#, "a b c"),
                    (#"{"$nor":[{"$nor":[{"n":1}]}]}"#, "a"), (#"{"$nor":[{}]}"#, ""),
                ])
        }
    }

    @Test("Regular expressions work as in JavaScript")
    func regularExpressions() async throws {
        try await TestStore.run { test in
            try await test.create("R", "a", #"{"s":"Hello World","n":1}"#)
            try await test.create("R", "b", #"{"s":"line one\nline two"}"#)
            try await test.create("R", "c", #"{"s":"a.b*c\\E"}"#)
            try await test.create("R", "d", #"{"n":1}"#)
            try await test.create("R", "e", #"{"s":"Ünïcödé 100%_"}"#)
            try await test.expect(
                "R",
                [
                    (#"{"s":{"$regex":"World"}}"#, "a"), (#"{"s":{"$regex":"world"}}"#, ""),
                    (#"{"s":{"$regex":"world","$options":"i"}}"#, "a"), (#"{"s":{"$regex":"^Hello\\b"}}"#, "a"),
                    (#"{"s":{"$regex":"\\bWorld$"}}"#, "a"), (#"{"s":{"$regex":"one.line"}}"#, ""),
                    (#"{"s":{"$regex":"one.line","$options":"s"}}"#, "b"), (#"{"s":{"$regex":"^line two"}}"#, ""),
                    (#"{"s":{"$regex":"^line two","$options":"m"}}"#, "b"),
                    (#"{"s":{"$regex":"h e l l o # c","$options":"xi"}}"#, "a"),
                    (#"{"s":{"$regex":"\\Qa.b*c\\E"}}"#, "c"), (#"{"s":{"$regex":"^\\Qa.b\\E"}}"#, "c"),
                    (#"{"s":{"$regex":"\\Qc\\E\\\\E\\Q\\E$"}}"#, "c"), (#"{"s":{"$regex":"(?<=Hello )World"}}"#, "a"),
                    (#"{"s":{"$regex":"^\\QÜnïcödé 100%_\\E"}}"#, "e"), (#"{"s":{"$regex":"^\\QHello\\E"}}"#, "a"),
                    (#"{"s":{"$regex":"'; DROP TABLE \"R\"; --"}}"#, ""), (#"{"s":{"$regex":"\\d{3}%"}}"#, "e"),
                    (#"{"s":{"$regex":"(Hello|Bye)"}}"#, "a"), (#"{"n":{"$regex":"1"}}"#, ""),
                    (#"{"s":{"$all":[{"$regex":"^\\QHello\\E"}]}}"#, "a"),
                ])
            for pattern in ["(", "[a", "*", "a{2"] {
                let code = try await parseCode { try await test.ids("R", #"{"s":{"$regex":"\#(pattern)"}}"#) }
                #expect(code == 102 || pattern == "a{2", "\(pattern)")
            }
        }
    }

    @Test("Full-text search finds words in any order and ignores operators")
    func fullText() async throws {
        try await TestStore.run { test in
            try await test.create("X", "a", #"{"s":"The quick brown foxes"}"#)
            try await test.create("X", "b", #"{"s":"slow blue turtle"}"#)
            func search(_ term: String) -> String { #"{"s":{"$text":{"$search":{"$term":"\#(term)"}}}}"# }
            try await test.expect(
                "X",
                [
                    (search("fox quick"), "a"), (search("turtle"), "b"), (search("quick turtle"), ""), (search(""), ""),
                    (search("& | ! ( <->"), ""), (search("'; DROP TABLE"), ""), (search("a\\u0000b"), ""),
                    (#"{"s":{"$text":{"$search":{"$term":"turtle","$language":"'); DROP TABLE x; --"}}}}"#, "b"),
                ])
        }
    }
}
