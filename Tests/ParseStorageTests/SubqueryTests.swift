import ParseModel
import ParseStorage
import Testing

@Suite("Relations and subqueries")
struct SubqueryTests {
    private static func pointer(_ id: String, _ className: String = "B") -> String {
        #"{"__type":"Pointer","className":"\#(className)","objectId":"\#(id)"}"#
    }

    @Test("Finds pointers and lists of pointers by a query over their class")
    func inQuery() async throws {
        try await TestStore.run { test in
            try await test.create("B", "b1", #"{"n":1}"#)
            try await test.create("B", "b2", #"{"n":2}"#)
            try await test.create(
                "A", "a1", #"{"p":\#(Self.pointer("b1")),"l":[\#(Self.pointer("b1")),\#(Self.pointer("b2"))]}"#)
            try await test.create("A", "a2", #"{"p":\#(Self.pointer("b2")),"l":[\#(Self.pointer("b2"))]}"#)
            try await test.create("A", "a3")
            try await test.expect(
                "A",
                [
                    (#"{"p":{"$inQuery":{"className":"B","where":{"n":1}}}}"#, "a1"),
                    (#"{"p":{"$inQuery":{"className":"B","where":{"n":5}}}}"#, ""),
                    (#"{"p":{"$notInQuery":{"className":"B","where":{"n":1}}}}"#, "a2 a3"),
                    (#"{"p":{"$notInQuery":{"className":"B","where":{"n":5}}}}"#, "a1 a2 a3"),
                    (#"{"l":{"$inQuery":{"className":"B","where":{"n":1}}}}"#, "a1"),
                    (#"{"l":{"$notInQuery":{"className":"B","where":{"n":1}}}}"#, "a2 a3"),
                    (#"{"p":{"$inQuery":{"className":"Nobody","where":{}}}}"#, ""),
                    (#"{"p":{"$notInQuery":{"className":"Nobody","where":{}}}}"#, "a1 a2 a3"),
                    (#"{"$or":[{"p":{"$inQuery":{"className":"B","where":{"n":1}}}},{"p":null}]}"#, "a1 a3"),
                ])
        }
    }

    @Test("$select compares the values of a key, and missing values never match")
    func select() async throws {
        try await TestStore.run { test in
            try await test.create("B", "b1", #"{"city":"Rome","o":{"n":1},"l":["x","y"]}"#)
            try await test.create("B", "b2", #"{"other":1}"#)
            try await test.create("A", "a1", #"{"home":"Rome","n":1,"t":"x"}"#)
            try await test.create("A", "a2", #"{"home":"Oslo","n":2,"t":"z"}"#)
            try await test.create("A", "a3")
            func select(_ field: String, _ name: String, _ key: String, _ condition: String = "{}") -> String {
                #"{"\#(field)":{"\#(name)":{"query":{"className":"B","where":\#(condition)},"key":"\#(key)"}}}"#
            }
            try await test.expect(
                "A",
                [
                    (select("home", "$select", "city"), "a1"), (select("home", "$dontSelect", "city"), "a2 a3"),
                    (select("home", "$select", "city", #"{"objectId":"b2"}"#), ""),
                    (select("n", "$select", "o.n"), "a1"),
                    (select("n", "$dontSelect", "o.n"), "a2 a3"), (select("t", "$select", "l"), "a1"),
                    (select("home", "$select", "nobody"), ""), (select("home", "$dontSelect", "nobody"), "a1 a2 a3"),
                ])
        }
    }

    @Test("Queries relations both ways; adding twice or removing absent objects changes nothing")
    func relations() async throws {
        try await TestStore.run { test in
            for id in ["b1", "b2", "b3"] { try await test.create("B", id, #"{"n":1}"#) }
            let add = #"{"r":{"__op":"AddRelation","objects":[\#(Self.pointer("b1")),\#(Self.pointer("b2"))]}}"#
            try await test.create("A", "a1", add)
            try await test.create("A", "a2", #"{"n":1}"#)
            try await test.update("A", "a1", add)
            func related(_ id: String) -> String {
                #"{"$relatedTo":{"object":\#(Self.pointer(id, "A")),"key":"r"}}"#
            }
            try await test.expect(
                "B",
                [
                    (related("a1"), "b1 b2"), (related("a2"), ""),
                    (#"{"$or":[\#(related("a1")),{"objectId":"b3"}]}"#, "b1 b2 b3"),
                    (#"{"objectId":"b1","$relatedTo":{"object":\#(Self.pointer("a1", "A")),"key":"r"}}"#, "b1"),
                    (#"{"$relatedTo":{"object":\#(Self.pointer("a1", "A")),"key":"nobody"}}"#, ""),
                    (#"{"$relatedTo":{"object":\#(Self.pointer("a1", "Nobody")),"key":"r"}}"#, ""),
                ])
            // Another class with objects that have the same ids as the related ones.
            try await test.create("C", "b1", #"{"n":1}"#)
            try await test.expect("C", [(related("a1"), ""), (#"{"n":1}"#, "b1")])
            try await test.expect(
                "A",
                [
                    (#"{"r":\#(Self.pointer("b1", "C"))}"#, ""),
                    (#"{"r":{"$ne":\#(Self.pointer("b1", "C"))}}"#, "a1 a2"),
                    (#"{"r":{"$in":[\#(Self.pointer("b1", "C")),\#(Self.pointer("b2"))]}}"#, "a1"),
                    (#"{"r":{"$nin":[\#(Self.pointer("b1", "C"))]}}"#, "a1 a2"),
                    (#"{"r":{"$inQuery":{"className":"C","where":{}}}}"#, ""),
                    (#"{"r":{"$notInQuery":{"className":"C","where":{}}}}"#, "a1 a2"),
                ])
            try await test.expect(
                "A",
                [
                    (#"{"r":\#(Self.pointer("b1"))}"#, "a1"), (#"{"r":\#(Self.pointer("b3"))}"#, ""),
                    (#"{"r":{"$in":[\#(Self.pointer("b2")),\#(Self.pointer("b3"))]}}"#, "a1"),
                    (#"{"r":{"$ne":\#(Self.pointer("b1"))}}"#, "a2"), (#"{"r":{"$exists":true}}"#, ""),
                    (#"{"r":{"$inQuery":{"className":"B","where":{"objectId":"b2"}}}}"#, "a1"),
                ])
            try await test.update(
                "A", "a1", #"{"r":{"__op":"RemoveRelation","objects":[\#(Self.pointer("b1")),\#(Self.pointer("b3"))]}}"#
            )
            try await test.expect("B", [(related("a1"), "b2")])
            try await test.update(
                "A", "a1",
                #"{"r":{"__op":"Batch","ops":[{"__op":"AddRelation","objects":[\#(Self.pointer("b3"))]},{"__op":"RemoveRelation","objects":[\#(Self.pointer("b2"))]}]}}"#
            )
            try await test.expect("B", [(related("a1"), "b3")])
        }
    }

    @Test("ACLs limit who can find, update and delete an object")
    func readers() async throws {
        try await TestStore.run { test in
            try await test.create("A", "open")
            try await test.create("A", "mine", acl: ACL(readers: ["u1"], writers: []))
            try await test.create("A", "role", acl: ACL(readers: ["role:R"], writers: ["role:R"]))
            try await test.create("A", "nobody", acl: ACL())
            for (principals, expected) in [
                (["*"], ["open"]), (["*", "u1"], ["mine", "open"]), (["*", "role:R"], ["open", "role"]), ([], ["open"]),
            ] {
                var request = ObjectStore.FindRequest(className: "A")
                request.access = ReadAccess(readers: principals.names)
                request.wantsCount = true
                let found = try await test.store.find(request)
                #expect((0..<found.rowCount).compactMap(found.objectId).sorted() == expected)
                #expect(found.count == expected.count)
            }
            let refused = try await test.store.update(
                "A", objectId: "mine", ObjectWrite(), access: .init(writers: ["*", "u1"]))
            #expect(refused == nil)
            #expect(try await test.store.delete("A", objectId: "nobody", access: .init(writers: ["*"])) == false)
            #expect(try await test.store.delete("A", objectId: "role", access: .init(writers: ["role:R"])))
        }
    }
}
