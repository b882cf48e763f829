import JSON
import ParseModel
import Testing

/// Queries for which parse-server on PostgreSQL fails or returns the wrong objects.
@Suite("Queries that parse-server gets wrong on PostgreSQL")
struct ReferenceDefectQueryTests {
    @Test("An empty subquery matches no object, and its negation matches all")
    func emptySubqueries() async throws {
        try await TestStore.run { test in
            try await test.create("A", "a", #"{"p":{"__type":"Pointer","className":"B","objectId":"b1"},"s":"x"}"#)
            try await test.create("A", "b")
            try await test.create("B", "b1", #"{"s":"x"}"#)
            let nothing = #"{"className":"B","where":{"s":"nobody"}}"#
            try await test.expect(
                "A",
                [
                    (#"{"p":{"$inQuery":\#(nothing)}}"#, ""), (#"{"p":{"$notInQuery":\#(nothing)}}"#, "a b"),
                    (#"{"s":{"$select":{"query":\#(nothing),"key":"s"}}}"#, ""),
                    (#"{"s":{"$dontSelect":{"query":\#(nothing),"key":"s"}}}"#, "a b"),
                    (#"{"p":{"$in":[]}}"#, ""), (#"{"p":{"$nin":[]}}"#, "a b"),
                ])
        }
    }

    @Test("A list inside $in stands for its elements, and a list nested in it for a whole array")
    func arraysInLists() async throws {
        try await TestStore.run { test in
            try await test.create("A", "a", #"{"l":[1,2]}"#)
            try await test.create("A", "b", #"{"l":[[1,2],3]}"#)
            try await test.create("A", "c", #"{"l":[2,1]}"#)
            try await test.create("A", "d")
            try await test.expect(
                "A",
                [
                    (#"{"l":{"$in":[[3]]}}"#, "b"), (#"{"l":{"$in":[[[1,2]]]}}"#, "a b"),
                    (#"{"l":{"$nin":[[[1,2]]]}}"#, "c d"), (#"{"l":[1,2]}"#, "a b"), (#"{"l":{"$ne":[1,2]}}"#, "c d"),
                    (#"{"l":{"$all":[[1,2]]}}"#, "a b"),
                ])
        }
    }

    @Test("A dotted key reaches into every object of an array, or into one by its index")
    func arraysOfObjects() async throws {
        try await TestStore.run { test in
            try await test.create("A", "a", #"{"l":[{"t":"x","k":[1,2]},{"t":null}]}"#)
            try await test.create("A", "b", #"{"l":[{"t":"y","k":[9]},{"k":[1]}]}"#)
            try await test.create("A", "c", #"{"l":[5,[{"t":"x"}]]}"#)
            try await test.create("A", "d", #"{"l":[]}"#)
            try await test.create("A", "e")
            try await test.create("A", "f", #"{"l":[{"t":{"u":[{"v":1},{"v":2}]}}]}"#)
            try await test.expect(
                "A",
                [
                    (#"{"l.t":"x"}"#, "a"), (#"{"l.t":{"$ne":"x"}}"#, "b c d e f"),
                    (#"{"l.t":{"$exists":true}}"#, "a b f"), (#"{"l.t":{"$exists":false}}"#, "c d e"),
                    (#"{"l.t":null}"#, "a b e"), (#"{"l.t":{"$ne":null}}"#, "c d f"),
                    (#"{"l.t":{"$in":["y",null]}}"#, "a b e"), (#"{"l.t":{"$nin":["y"]}}"#, "a c d e f"),
                    (#"{"l.k":2}"#, "a"), (#"{"l.k":[1,2]}"#, "a"), (#"{"l.k":{"$all":[1,9]}}"#, "b"),
                    (#"{"l.k":{"$containedBy":[1,2]}}"#, "a"), (#"{"l.k":{"$containedBy":[1,2,9]}}"#, "a b"),
                    (#"{"l.k":{"$gt":8}}"#, "b"), (#"{"l.0.t":"x"}"#, "a"), (#"{"l.1.t":"x"}"#, "c"),
                    (#"{"l.1.0.t":"x"}"#, "c"), (#"{"l.0":5}"#, "c"), (#"{"l.0.k.0":9}"#, "b"),
                    (#"{"l.0.t":{"$exists":true}}"#, "a b f"), (#"{"l.t.u.v":2}"#, "f"),
                    (#"{"l.t.u.1.v":1}"#, ""), (#"{"l.t.u.1.v":2}"#, "f"), (#"{"l.k.0":{"$in":[9]}}"#, "b"),
                    (#"{"l.t":{"$regex":"^X","$options":"i"}}"#, "a"),
                ])
        }
    }

    @Test("Compares dates inside objects as dates, and values of mixed types without an error")
    func nestedOrder() async throws {
        try await TestStore.run { test in
            func date(_ iso: String) -> String { #"{"__type":"Date","iso":"\#(iso)"}"# }
            try await test.create("A", "a", #"{"o":{"v":\#(date("2020-01-01T00:00:00.000Z"))}}"#)
            try await test.create("A", "b", #"{"o":{"v":3.5}}"#)
            try await test.create("A", "c", #"{"o":{"v":"2020-06-01T00:00:00.000Z"}}"#)
            try await test.create("A", "d", #"{"o":{"v":[4]}}"#)
            try await test.expect(
                "A",
                [
                    (#"{"o.v":{"$lt":\#(date("2020-01-01T01:00:00.001+01:00"))}}"#, "a"),
                    (#"{"o.v":{"$gt":\#(date("2019-12-31T23:59:59Z"))}}"#, "a"), (#"{"o.v":{"$gt":3}}"#, "b d"),
                    (#"{"o.v":{"$gte":"2020-06"}}"#, "c"),
                    (#"{"o.v":{"$in":[\#(date("2020-01-01T00:00:00.000Z")),4]}}"#, "a d"),
                ])
        }
    }

    @Test("An explicit order takes precedence over the distance of a near query")
    func nearInAnotherOrder() async throws {
        try await TestStore.run { test in
            for (id, longitude) in [("b", 1), ("c", 2), ("a", 3)] {
                try await test.create("A", id, #"{"g":{"__type":"GeoPoint","latitude":0,"longitude":\#(longitude)}}"#)
            }
            let near = Filter.field(FieldPath("g"), .near(GeoPoint(latitude: 0, longitude: 0), radians: nil))
            #expect(try await test.ids("A", near) == ["b", "c", "a"])
            #expect(
                try await test.ids("A", near, order: [SortKey(FieldPath("objectId"), isDescending: false)])
                    == ["a", "b", "c"])
        }
    }

    @Test("A class can have two GeoPoint fields")
    func twoPlaces() async throws {
        try await TestStore.run { test in
            let place = #"{"__type":"GeoPoint","latitude":1,"longitude":2}"#
            try await test.create("A", "a", #"{"g":\#(place)}"#)
            try await test.update("A", "a", #"{"h":\#(place)}"#)
            try await test.expect("A", [(#"{"h":\#(place),"g":\#(place)}"#, "a")])
        }
    }

    @Test("Finds distinct values at any depth, in array elements, and in classes with relations")
    func distinct() async throws {
        try await TestStore.run { test in
            let relation = #"{"__op":"AddRelation","objects":[{"__type":"Pointer","className":"B","objectId":"b1"}]}"#
            try await test.create("A", "a", #"{"o":{"p":{"q":1}},"l":["x","y"],"r":\#(relation),"s":null}"#)
            try await test.create("A", "b", #"{"o":{"p":{"q":2}},"l":["y","z"]}"#)
            for (field, expected) in [
                ("o.p.q", JSONValue.array([1, 2])), ("l", ["x", "y", "z"]), ("r", []), ("nosuch", []), ("s", []),
            ] {
                let found = try await test.store.aggregates.distinct("A", field, .everything)
                #expect(JSONValue.array(found) == expected, "\(field)")
            }
        }
    }
}
