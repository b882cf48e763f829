import JSON
import ParseModel
import Testing

/// Pipelines that parse-server on PostgreSQL rejects or computes in the wrong order.
@Suite("Pipelines that parse-server gets wrong on PostgreSQL")
struct ReferenceDefectAggregateTests {
    private static func fill(_ test: TestStore) async throws {
        func day(_ text: String) -> String { #"{"__type":"Date","iso":"\#(text)T10:20:30.400Z"}"# }
        let pointer = #"{"__type":"Pointer","className":"B","objectId":"b1"}"#
        try await test.create("B", "b1", #"{"name":"one"}"#)
        try await test.create("S", "a", #"{"n":1,"g":"x","d":\#(day("2020-01-05")),"p":\#(pointer),"l":["u","v"]}"#)
        try await test.create("S", "b", #"{"n":2,"g":"x","d":\#(day("2020-01-20")),"l":["v"]}"#)
        try await test.create("S", "c", #"{"n":10,"g":"y","d":\#(day("2020-02-01"))}"#)
        try await test.create("S", "e", #"{"n":0,"flag":false,"text":""}"#)
        try await test.create("S", "f")
    }

    /// Expects a result of each pipeline.
    private static func expect(_ table: [(pipeline: String, expected: String)]) async throws {
        try await TestStore.run { test in
            try await fill(test)
            for (pipeline, expected) in table {
                let found = try await test.aggregate("S", pipeline)
                #expect(
                    UnorderedValue(found) == UnorderedValue(try JSONValue(parsing: expected)),
                    "\(pipeline) gave \(found.text)")
            }
        }
    }

    @Test("Stages run in the given order, also when repeated")
    func order() async throws {
        try await Self.expect([
            (
                #"[{"$sort":{"n":-1}},{"$limit":2},{"$group":{"_id":null,"total":{"$sum":"$n"}}}]"#,
                #"[{"objectId":null,"total":12}]"#
            ),
            (
                #"[{"$sort":{"n":1}},{"$skip":3},{"$group":{"_id":null,"total":{"$sum":"$n"}}}]"#,
                #"[{"objectId":null,"total":12}]"#
            ),
            (#"[{"$match":{"g":"x"}},{"$match":{"n":2}},{"$project":{"_id":0,"n":1}}]"#, #"[{"n":2}]"#),
            (
                #"[{"$match":{"g":"x"}},{"$sort":{"n":1}},{"$limit":2},{"$sort":{"n":-1}},{"$limit":1},{"$project":{"_id":0,"n":1}}]"#,
                #"[{"n":2}]"#
            ),
            (
                #"[{"$group":{"_id":"$g","n":{"$sum":"$n"}}},{"$match":{"n":{"$gt":2}}},{"$sort":{"n":1}}]"#,
                #"[{"objectId":"x","n":3},{"objectId":"y","n":10}]"#
            ),
        ])
    }

    @Test("$match supports query constraints, including falsy values and missing fields")
    func matches() async throws {
        let table = [
            (#"{"n":0}"#, 1), (#"{"flag":false}"#, 1), (#"{"text":""}"#, 1), (#"{"g":null}"#, 2),
            (#"{"g":{"$exists":true}}"#, 3), (#"{"p":{"$exists":true}}"#, 1), (#"{"p":{"$exists":false}}"#, 4),
            (#"{"g":{"$in":[null,"y"]}}"#, 3), (#"{"$or":[{"g":null},{"g":"y"}]}"#, 3),
            (#"{"$or":[{"g":"x"},{"g":"y"}]}"#, 3), (#"{"g":{"$regex":"^X","$options":"i"}}"#, 2),
            (#"{"nosuch":1}"#, 0), (#"{"nosuch":null}"#, 5), (#"{"n":{"$gte":0,"$lt":2}}"#, 2),
        ]
        try await Self.expect(
            table.flatMap { condition, count in
                // The second pipeline has the same condition on documents instead of rows.
                ["", #"{"$skip":0},"#].map { before in
                    (
                        #"[\#(before){"$match":\#(condition)},{"$count":"rows"}]"#,
                        count == 0 ? "[]" : #"[{"rows":\#(count)}]"#
                    )
                }
            })
    }

    @Test("Groups by any expression, and returns sums as numbers")
    func groups() async throws {
        try await Self.expect([
            (
                #"[{"$match":{"d":{"$exists":true}}},{"$group":{"_id":{"y":{"$year":"$d"},"m":{"$month":"$d"}},"n":{"$sum":1}}},{"$sort":{"_id.m":1}}]"#,
                #"[{"objectId":{"y":2020,"m":1},"n":2},{"objectId":{"y":2020,"m":2},"n":1}]"#
            ),
            (
                #"[{"$match":{"g":"x"}},{"$group":{"_id":"$g","total":{"$sum":{"$multiply":["$n",2]}},"mean":{"$avg":{"$add":["$n",1]}}}}]"#,
                #"[{"objectId":"x","total":6,"mean":2.5}]"#
            ),
            (
                #"[{"$match":{"g":"x"}},{"$group":{"_id":null,"total":{"$sum":"$nosuch"}}}]"#,
                #"[{"objectId":null,"total":0}]"#
            ),
            (#"[{"$match":{"g":"nobody"}},{"$group":{"_id":null,"total":{"$sum":"$n"}}}]"#, "[]"),
        ])
    }

    @Test("$project computes values, omits the id and can return a date alone")
    func projections() async throws {
        try await Self.expect([
            (
                #"[{"$match":{"objectId":"c"}},{"$project":{"_id":0,"double":{"$multiply":["$n",2]}}}]"#,
                #"[{"double":20}]"#
            ),
            (
                #"[{"$match":{"objectId":"c"}},{"$project":{"_id":0,"updatedAt":1}}]"#,
                #"[{"updatedAt":{"__type":"Date","iso":"2020-09-13T12:26:40.123Z"}}]"#
            ),
            (#"[{"$match":{"objectId":"c"}},{"$project":{"n":1}}]"#, #"[{"objectId":"c","n":10}]"#),
            (#"[{"$match":{"objectId":"c"}},{"$project":{"_id":0,"s":{"$substr":["$g",0,1]}}}]"#, #"[{"s":"y"}]"#),
        ])
    }

    @Test("Supports $unwind and $lookup")
    func joins() async throws {
        try await Self.expect([
            (
                #"[{"$unwind":"$l"},{"$group":{"_id":"$l","n":{"$sum":1}}},{"$sort":{"_id":1}}]"#,
                #"[{"objectId":"u","n":1},{"objectId":"v","n":2}]"#
            ),
            (
                #"[{"$match":{"objectId":"a"}},{"$lookup":{"from":"B","localField":"p","foreignField":"_id","as":"found"}},{"$unwind":"$found"},{"$project":{"_id":0,"name":"$found.name"}}]"#,
                #"[{"name":"one"}]"#
            ),
        ])
    }
}
