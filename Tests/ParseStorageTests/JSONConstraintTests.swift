import Testing

@Suite("Constraints on arrays, objects and dotted keys")
struct JSONConstraintTests {
    private static let pointer = #"{"__type":"Pointer","className":"B","objectId":"b1"}"#
    private static let date = #"{"__type":"Date","iso":"2020-01-01T00:00:00.000Z"}"#

    @Test("A constraint matches an array if one of its elements matches")
    func elements() async throws {
        try await TestStore.run { test in
            let pointer = Self.pointer
            let date = Self.date
            try await test.create("A", "a", #"{"t":["x","y","x"],"n":[1,5],"p":[\#(pointer)],"d":[\#(date)]}"#)
            try await test.create("A", "b", #"{"t":["1",null,{"k":1}],"n":[1,2,3],"p":[],"d":[]}"#)
            try await test.create("A", "c")
            try await test.create("A", "e", #"{"t":[]}"#)
            try await test.expect(
                "A",
                [
                    (#"{"t":"x"}"#, "a"), (#"{"t":"1"}"#, "b"), (#"{"t":1}"#, ""), (#"{"n":1}"#, "a b"),
                    (#"{"n":"1"}"#, ""),
                    (#"{"n":{"$eq":5}}"#, "a"), (#"{"p":\#(pointer)}"#, "a"),
                    (#"{"p":{"objectId":"b1","className":"B","__type":"Pointer"}}"#, "a"),
                    (#"{"p":{"$eq":\#(pointer)}}"#, "a"), (#"{"d":\#(date)}"#, "a"), (#"{"t":{"k":1}}"#, "b"),
                    (#"{"t":{"k":2}}"#, ""),
                    (#"{"t":{"$ne":"x"}}"#, "b c e"), (#"{"p":{"$ne":\#(pointer)}}"#, "b c e"),
                    (#"{"n":{"$ne":1}}"#, "c e"),
                    (#"{"t":null}"#, "c"), (#"{"t":{"$exists":false}}"#, "c"), (#"{"t":{"$exists":true}}"#, "a b e"),
                    (#"{"n":[1,5]}"#, "a"), (#"{"n":[5,1]}"#, ""), (#"{"t":[]}"#, "e"),
                    (#"{"n":{"$gt":4}}"#, "a"), (#"{"n":{"$lt":2}}"#, "a b"), (#"{"t":{"$gt":"x"}}"#, "a"),
                    (#"{"d":{"$gte":\#(date)}}"#, "a"), (#"{"t":{"$regex":"^X","$options":"i"}}"#, "a"),
                ])
        }
    }

    @Test("$in, $nin, $all and $containedBy compare array elements")
    func lists() async throws {
        try await TestStore.run { test in
            let pointer = Self.pointer
            try await test.create("A", "a", #"{"t":["x","y","x"],"m":[1,{"a":1,"b":2}],"p":[\#(pointer)]}"#)
            try await test.create("A", "b", #"{"t":["1"],"m":["1"]}"#)
            try await test.create("A", "c")
            try await test.create("A", "e", #"{"t":[],"m":[]}"#)
            try await test.expect(
                "A",
                [
                    (#"{"t":{"$in":["y","z"]}}"#, "a"), (#"{"t":{"$in":[null,"y"]}}"#, "a c"),
                    (#"{"t":{"$in":[]}}"#, ""),
                    (#"{"t":{"$in":[1]}}"#, ""), (#"{"p":{"$in":[\#(pointer)]}}"#, "a"),
                    (#"{"t":{"$nin":["x"]}}"#, "b c e"), (#"{"t":{"$nin":[null]}}"#, "a b e"),
                    (#"{"t":{"$nin":[]}}"#, "a b c e"),
                    (#"{"t":{"$all":["x","y"]}}"#, "a"), (#"{"t":{"$all":["x","x"]}}"#, "a"),
                    (#"{"t":{"$all":["x","z"]}}"#, ""),
                    (#"{"t":{"$all":[1]}}"#, ""), (#"{"m":{"$all":["1"]}}"#, "b"), (#"{"m":{"$all":[1]}}"#, "a"),
                    (#"{"t":{"$all":[]}}"#, ""), (#"{"m":{"$all":[{"a":1}]}}"#, ""),
                    (#"{"m":{"$all":[{"b":2,"a":1}]}}"#, "a"),
                    (#"{"p":{"$all":[\#(pointer)]}}"#, "a"),
                    (#"{"t":{"$all":[{"$regex":"^\\Qx\\E"},{"$regex":"^\\Qy\\E"}]}}"#, "a"),
                    (#"{"t":{"$all":[{"$regex":"^\\Qx\\E"},{"$regex":"^\\Q1\\E"}]}}"#, ""),
                    (#"{"t":{"$containedBy":["x","y","z"]}}"#, "a e"), (#"{"t":{"$containedBy":["1"]}}"#, "b e"),
                    (#"{"m":{"$containedBy":[1,{"a":1}]}}"#, "e"),
                    (#"{"m":{"$containedBy":[1,{"a":1,"b":2,"c":3}]}}"#, "e"),
                    (#"{"t":{"$containedBy":[]}}"#, "e"),
                ])
        }
    }

    @Test("Objects are equal regardless of the order of their keys")
    func objects() async throws {
        try await TestStore.run { test in
            try await test.create("O", "a", #"{"o":{"x":1,"y":{"z":[1,2]}}}"#)
            try await test.create("O", "b", #"{"o":{"x":1}}"#)
            try await test.create("O", "c")
            try await test.expect(
                "O",
                [
                    (#"{"o":{"y":{"z":[1,2]},"x":1}}"#, "a"), (#"{"o":{"x":1}}"#, "b"), (#"{"o":{"x":1.0}}"#, "b"),
                    (#"{"o":{"$ne":{"x":1}}}"#, "a c"), (#"{"o":{"$in":[{"x":1},{"q":1}]}}"#, "b"),
                    (#"{"o":null}"#, "c"),
                    (#"{"o":"x"}"#, ""), (#"{"o":{}}"#, ""),
                ])
        }
    }

    @Test("Dotted keys reach into objects and distinguish value types")
    func dotted() async throws {
        try await TestStore.run { test in
            let pointer = Self.pointer
            let date = Self.date
            try await test.create(
                "D", "a", #"{"o":{"n":5,"s":"five","b":true,"p":\#(pointer),"d":\#(date),"l":["x","y"],"k":{"q":1}}}"#)
            try await test.create(
                "D", "b",
                #"{"o":{"n":"5","s":5,"b":"true","d":{"__type":"Date","iso":"2021-01-01T00:00:00.000Z"},"k":{"q":2}}}"#)
            try await test.create("D", "c", #"{"o":{"n":10.5,"l":"x","s":null}}"#)
            try await test.create("D", "e")
            try await test.expect(
                "D",
                [
                    (#"{"o.n":5}"#, "a"), (#"{"o.n":5.0}"#, "a"), (#"{"o.n":"5"}"#, "b"), (#"{"o.b":true}"#, "a"),
                    (#"{"o.b":"true"}"#, "b"),
                    (#"{"o.p":\#(pointer)}"#, "a"), (#"{"o.d":\#(date)}"#, "a"), (#"{"o.k":{"q":1}}"#, "a"),
                    (#"{"o.k.q":2}"#, "b"),
                    (#"{"o.n":{"$gt":4}}"#, "a c"), (#"{"o.n":{"$gt":6}}"#, "c"), (#"{"o.n":{"$lt":"6"}}"#, "b"),
                    (#"{"o.d":{"$gt":\#(date)}}"#, "b"), (#"{"o.d":{"$lte":\#(date)}}"#, "a"),
                    (#"{"o.n":{"$in":[5]}}"#, "a"), (#"{"o.n":{"$in":[5,10.5]}}"#, "a c"),
                    (#"{"o.n":{"$in":["5",null]}}"#, "b e"),
                    (#"{"o.n":{"$nin":[5]}}"#, "b c e"), (#"{"o.n":{"$nin":[null,5]}}"#, "b c"),
                    (#"{"o.n":{"$ne":5}}"#, "b c e"),
                    (#"{"o.s":null}"#, "c e"), (#"{"o.zz":null}"#, "a b c e"), (#"{"o.zz":1}"#, ""),
                    (#"{"o.p":{"$exists":true}}"#, "a"), (#"{"o.p":{"$exists":false}}"#, "b c e"),
                    (#"{"o.l":"x"}"#, "a c"),
                    (#"{"o.l":{"$in":["y","z"]}}"#, "a"), (#"{"o.l":{"$all":["y","x"]}}"#, "a"),
                    (#"{"o.l":{"$nin":["x"]}}"#, "b e"),
                    (#"{"o.s":{"$regex":"^fi"}}"#, "a"), (#"{"o.l.0":"x"}"#, "a"), (#"{"o.l.1":"x"}"#, ""),
                    (#"{"$nor":[{"o.n":5}]}"#, "b c e"),
                ])
        }
    }

    @Test("Dotted keys reach into arrays, by index or into every element")
    func dottedArrays() async throws {
        try await TestStore.run { test in
            try await test.create("D", "a", #"{"l":[{"x":1,"t":"p"},{"x":2}],"m":["q"]}"#)
            try await test.create("D", "b", #"{"l":[{"x":3}],"m":[["q"]]}"#)
            try await test.create("D", "c")
            try await test.expect(
                "D",
                [
                    (#"{"l.0.x":1}"#, "a"), (#"{"l.1.x":1}"#, ""), (#"{"l.x":2}"#, "a"), (#"{"l.x":{"$gt":1}}"#, "a b"),
                    (#"{"l.x":{"$in":[3,4]}}"#, "b"), (#"{"m.0":"q"}"#, "a"), (#"{"l.0":{"x":3}}"#, "b"),
                    (#"{"l.9.x":1}"#, ""), (#"{"l.9.x":null}"#, "a b c"), (#"{"l.t":{"$regex":"p"}}"#, "a"),
                ])
        }
    }

    @Test("Sorts by dotted keys, and returns all objects if the key doesn't exist")
    func dottedOrder() async throws {
        try await TestStore.run { test in
            for (id, number) in [("a", 10), ("b", 9), ("c", 100)] {
                try await test.create("D", id, #"{"o":{"n":\#(number)},"l":[\#(number)]}"#)
            }
            #expect(
                try await test.ids("D", .everything, order: [.init(.init("o.n"), isDescending: false)]) == [
                    "b", "a", "c",
                ])
            #expect(
                try await test.ids("D", .everything, order: [.init(.init("l.0"), isDescending: true)]) == [
                    "c", "a", "b",
                ])
            #expect(
                try await test.ids("D", .everything, order: [.init(.init("nobody"), isDescending: true)]).count == 3)
        }
    }
}
