import JSON
import ParseModel
import ParseStorage
import Testing

@Suite("Writes to objects")
struct WriteTests {
    @Test("Returns values of every type in their JSON form")
    func forms() async throws {
        try await TestStore.run { test in
            try await test.create("B", "b1")
            let json =
                #"{"s":"a\"b","n":1.5,"b":false,"d":{"__type":"Date","iso":"1969-12-31T23:59:59.9999Z"},"o":{"k":[1,{"z":null}]},"l":[1,"x",null],"y":{"__type":"Bytes","base64":"AAEC"},"p":{"__type":"Pointer","className":"B","objectId":"b1"},"f":{"__type":"File","name":"a b.txt","url":"http://old"},"g":{"__type":"GeoPoint","latitude":1.25,"longitude":-2.5},"q":{"__type":"Polygon","coordinates":[[0,1],[2,3],[4,1]]},"r":{"__op":"AddRelation","objects":[{"__type":"Pointer","className":"B","objectId":"b1"}]},"z":null}"#
            try await test.create("T", "t", json, acl: ACL(readers: ["*", "u"], writers: ["u"]))
            let object = try #require(try await test.object("T", "t"))
            #expect(object["objectId"] == "t")
            #expect(object["createdAt"] == "2020-09-13T12:26:40.123Z")
            #expect(object["updatedAt"] == "2020-09-13T12:26:40.123Z")
            #expect(object["s"] == "a\"b")
            #expect(object["n"] == 1.5)
            #expect(object["b"] == false)
            #expect(object["d"] == ["__type": "Date", "iso": "1969-12-31T23:59:59.999Z"])
            #expect(object["o"] == ["k": [1, ["z": .null]]])
            #expect(object["l"] == [1, "x", .null])
            #expect(object["y"]?["base64"] == "AAEC")
            #expect(object["y"]?["__type"] == "Bytes")
            #expect(object["p"] == ["__type": "Pointer", "className": "B", "objectId": "b1"])
            #expect(object["f"]?["__type"] == "File")
            #expect(object["f"]?["name"] == "a b.txt")
            #expect(object["f"]?["url"]?.stringValue?.hasPrefix("http://files.example") == true)
            #expect(object["g"] == ["__type": "GeoPoint", "latitude": 1.25, "longitude": -2.5])
            #expect(object["q"] == ["__type": "Polygon", "coordinates": [[0, 1], [2, 3], [4, 1], [0, 1]]])
            #expect(object["r"] == ["__type": "Relation", "className": "B"])
            #expect(object["z"] == nil)
            #expect(object["ACL"] == ["*": ["read": true], "u": ["read": true, "write": true]])
        }
    }

    @Test("Updates set values of every type, including Bytes, and remove them with null or Delete")
    func updates() async throws {
        try await TestStore.run { test in
            let values = [
                "s": #""x""#, "n": "2", "b": "true", "o": #"{"k":1}"#, "l": "[1]",
                "d": #"{"__type":"Date","iso":"2020-01-01T00:00:00.000Z"}"#,
                "y": #"{"base64":"AA==","__type":"Bytes"}"#,
                "p": #"{"__type":"Pointer","className":"B","objectId":"b"}"#,
                "g": #"{"__type":"GeoPoint","latitude":1,"longitude":2}"#,
            ]
            try await test.create("T", "t")
            for (field, value) in values {
                let echoed = try await test.update("T", "t", #"{"\#(field)":\#(value)}"#, echo: [field])
                let read = try await test.value("T", "t", field)
                #expect(read != nil, "\(field)")
                #expect(echoed?[field] == read)
                #expect(try read.map(sorted) == sorted(JSONValue(parsing: value)))
                try await test.update("T", "t", #"{"\#(field)":null}"#)
                #expect(try await test.value("T", "t", field) == nil)
                try await test.update("T", "t", #"{"\#(field)":\#(value)}"#)
                try await test.update("T", "t", #"{"\#(field)":{"__op":"Delete"}}"#)
                #expect(try await test.value("T", "t", field) == nil)
            }
        }
    }

    @Test("Null or Delete for a field that the class doesn't have changes nothing")
    func unknownFields() async throws {
        try await TestStore.run { test in
            try await test.create("T", "t", #"{"n":1}"#)
            #expect(try await test.update("T", "t", #"{"zz":null}"#) != nil)
            #expect(try await test.update("T", "t", #"{"zz":{"__op":"Delete"}}"#) != nil)
            #expect(test.catalog.schema("T")?.type(of: "zz") == nil)
            #expect(try await test.value("T", "t", "n") == 1)
            #expect(try await test.update("T", "nobody", #"{"n":2}"#) == nil)
        }
    }

    @Test("Increment counts a missing number as 0, and concurrent increments add up")
    func increment() async throws {
        try await TestStore.run { test in
            try await test.create("T", "t", #"{"a":1}"#)
            let echoed = try await test.update("T", "t", #"{"n":{"__op":"Increment","amount":2.5}}"#, echo: ["n"])
            #expect(echoed?["n"] == 2.5)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for _ in 0..<40 {
                    tasks.addTask { try await test.update("T", "t", #"{"n":{"__op":"Increment","amount":1}}"#) }
                }
                try await tasks.waitForAll()
            }
            #expect(try await test.value("T", "t", "n") == 42.5)
        }
    }

    @Test("Add keeps order and duplicates, AddUnique adds missing values once, Remove removes all copies")
    func arrays() async throws {
        try await TestStore.run { test in
            try await test.create("T", "t", #"{"l":["c","a","c"]}"#)
            func step(_ name: String, _ objects: String) async throws -> JSONValue? {
                try await test.update("T", "t", #"{"l":{"__op":"\#(name)","objects":\#(objects)}}"#, echo: ["l"])?["l"]
            }
            #expect(try await step("Add", #"["b","a"]"#) == ["c", "a", "c", "b", "a"])
            #expect(try await step("AddUnique", #"["z","a","y","z"]"#) == ["c", "a", "c", "b", "a", "z", "y"])
            #expect(try await step("Remove", #"["c","a","nobody"]"#) == ["b", "z", "y"])
            #expect(try await step("AddUnique", #"[{"k":1,"j":2}]"#)?.arrayValue?.count == 4)
            #expect(try await step("AddUnique", #"[{"j":2,"k":1}]"#)?.arrayValue?.count == 4)
            #expect(try await step("AddUnique", #"["1",1]"#)?.arrayValue?.count == 6)
            #expect(try await step("Remove", #"[{"j":2,"k":1},1]"#) == ["b", "z", "y", "1"])
            #expect(try await step("Add", "[null]") == ["b", "z", "y", "1", .null])
            for (name, result) in [("Add", JSONValue.array([1])), ("AddUnique", [1]), ("Remove", [])] {
                let echoed = try await test.update(
                    "T", "t", #"{"m\#(name)":{"__op":"\#(name)","objects":[1]}}"#, echo: ["m\(name)"])
                #expect(echoed?["m\(name)"] == result)
            }
            try await test.create(
                "T", "new", #"{"l":{"__op":"AddUnique","objects":[1,1]},"n":{"__op":"Increment","amount":3}}"#)
            #expect(try await test.value("T", "new", "l") == [1, 1])
            #expect(try await test.value("T", "new", "n") == 3)
        }
    }

    @Test("Setting a nested key leaves its siblings alone, at any depth")
    func dottedSet() async throws {
        try await TestStore.run { test in
            try await test.create("T", "t", #"{"o":{"a":{"b":{"x":1,"y":2},"z":3}}}"#)
            try await test.update("T", "t", #"{"o.a.b.x":10}"#)
            #expect(try await test.value("T", "t", "o") == ["a": ["b": ["x": 10, "y": 2], "z": 3]])
            try await test.update("T", "t", #"{"o.new.deep.er":"v"}"#)
            #expect(try await test.value("T", "t", "o")?["new"] == ["deep": ["er": "v"]])
            try await test.update("T", "t", #"{"o.a.z.w":1}"#)
            #expect(try await test.value("T", "t", "o")?["a"]?["z"] == ["w": 1])
            try await test.update("T", "t", #"{"o.a.b.x":11,"o.a.b.y":12}"#)
            #expect(try await test.value("T", "t", "o")?["a"]?["b"] == ["x": 11, "y": 12])
            try await test.create("T", "empty")
            try await test.update("T", "empty", #"{"o.a.b":1}"#)
            #expect(try await test.value("T", "empty", "o") == ["a": ["b": 1]])
        }
    }

    @Test("AddUnique compares whole values, with few items and with many", arguments: [0, 20])
    func uniqueItems(others: Int) async throws {
        try await TestStore.run { test in
            try await test.create("T", "t", #"{"l":[1,{"a":1,"b":2},[1,2],"x"]}"#)
            let numbers = (0..<others).map { ",\(100 + $0)" }.joined()
            let echoed = try await test.update(
                "T", "t",
                #"{"l":{"__op":"AddUnique","objects":[1,{"a":1},[1],[1,2],{"b":2,"a":1},"x",2,2,null,{"a":1}\#(numbers)]}}"#,
                echo: ["l"])
            let added: [JSONValue] = [["a": 1], [1], 2, .null] + (0..<others).map { .number(Double(100 + $0)) }
            #expect(echoed?["l"]?.arrayValue == [1, ["a": 1, "b": 2], [1, 2], "x"] + added)
        }
    }

    @Test("Increment, Add, AddUnique, Remove and Delete work at any depth")
    func dottedOperations() async throws {
        try await TestStore.run { test in
            try await test.create("T", "t", #"{"o":{"n":0.5,"a":{"n":1,"l":["x","x"],"k":"v"}}}"#)
            try await test.update("T", "t", #"{"o.n":{"__op":"Increment","amount":0.25}}"#)
            try await test.update("T", "t", #"{"o.a.n":{"__op":"Increment","amount":2}}"#)
            try await test.update("T", "t", #"{"o.a.fresh.n":{"__op":"Increment","amount":-1}}"#)
            try await test.update("T", "t", #"{"o.a.l":{"__op":"Add","objects":["x","y"]}}"#)
            try await test.update("T", "t", #"{"o.a.l":{"__op":"AddUnique","objects":["y","z"]}}"#)
            try await test.update("T", "t", #"{"o.list":{"__op":"AddUnique","objects":[1]}}"#)
            var value = try await test.value("T", "t", "o")
            #expect(value?["n"] == 0.75)
            #expect(value?["a"]?["n"] == 3)
            #expect(value?["a"]?["fresh"]?["n"] == -1)
            #expect(value?["a"]?["l"] == ["x", "x", "x", "y", "z"])
            #expect(value?["list"] == [1])
            try await test.update("T", "t", #"{"o.a.l":{"__op":"Remove","objects":["x"]}}"#)
            try await test.update("T", "t", #"{"o.a.k":{"__op":"Delete"}}"#)
            try await test.update("T", "t", #"{"o.a.fresh.n":{"__op":"Delete"}}"#)
            try await test.update("T", "t", #"{"o.nobody.x":{"__op":"Delete"}}"#)
            value = try await test.value("T", "t", "o")
            #expect(value?["a"]?["l"] == ["y", "z"])
            #expect(value?["a"]?["k"] == nil)
            #expect(value?["a"]?["fresh"] == [:])
            #expect(value?["nobody"] == nil)
        }
    }

    @Test("Array elements can be set and incremented by index, also beyond the end")
    func arrayPlaces() async throws {
        try await TestStore.run { test in
            try await test.create("T", "t", #"{"l":[{"x":1,"y":1},{"x":2}]}"#)
            try await test.update("T", "t", #"{"l.0.x":10}"#)
            try await test.update("T", "t", #"{"l.1.x":{"__op":"Increment","amount":5}}"#)
            #expect(try await test.value("T", "t", "l").map(sorted) == sorted([["x": 10, "y": 1], ["x": 7]]))
            try await test.update("T", "t", #"{"l.3.x":{"__op":"Increment","amount":1}}"#)
            #expect(try await test.value("T", "t", "l")?.arrayValue?.count == 4)
            #expect(try await test.value("T", "t", "l")?.arrayValue?[2] == .null)
            #expect(try await test.value("T", "t", "l")?.arrayValue?[3] == ["x": 1])
            try await test.update("T", "t", #"{"l.0.y":{"__op":"Delete"}}"#)
            #expect(try await test.value("T", "t", "l")?.arrayValue?[0] == ["x": 10])
        }
    }

    @Test("Duplicates in a unique index fail with 137, user names with 202 and email addresses with 203")
    func uniqueness() async throws {
        try await TestStore.run { test in
            try await test.create("T", "a", #"{"code":"x"}"#)
            try await test.create("T", "b", #"{"code":"y"}"#)
            _ = try await test.client.query("CREATE UNIQUE INDEX one_code ON \"T\" (\"code\")")
            #expect(try await parseCode { try await test.create("T", "c", #"{"code":"x"}"#) } == 137)
            #expect(try await parseCode { try await test.update("T", "b", #"{"code":"x"}"#) } == 137)
            #expect(try await parseCode { try await test.create("T", "a") } == 137)
            #expect(try await test.value("T", "b", "code") == "y")
            try await test.create("_User", "u1", #"{"username":"ada","email":"a@b.c"}"#)
            #expect(try await parseCode { try await test.create("_User", "u2", #"{"username":"ada"}"#) } == 202)
            #expect(
                try await parseCode { try await test.create("_User", "u3", #"{"username":"bob","email":"a@b.c"}"#) }
                    == 203)
        }
    }

    @Test("A transaction is atomic, and adding an existing relation doesn't break it")
    func transactions() async throws {
        try await TestStore.run { test in
            let add =
                #"{"r":{"__op":"AddRelation","objects":[{"__type":"Pointer","className":"B","objectId":"b1"}]},"n":1}"#
            try await test.create("T", "a", add)
            let relation = FieldOperation.addRelation([Pointer(className: "B", objectId: "b1")])
            try await test.store.transaction { (store) async throws in
                var write = ObjectWrite()
                write.operations = ["r": relation, "n": .set(2)]
                #expect(try await store.update("T", objectId: "a", write) != nil)
                write.operations = ["n": .increment(1)]
                #expect(try await store.update("T", objectId: "a", write) != nil)
            }
            #expect(try await test.value("T", "a", "n") == 3)
            let code = try await parseCode {
                try await test.store.transaction { store in
                    var write = ObjectWrite()
                    write.operations = ["n": .set(9)]
                    _ = try await store.update("T", objectId: "a", write)
                    try await store.insert("T", objectId: "a", ObjectWrite())
                }
            }
            #expect(code == 137)
            #expect(try await test.value("T", "a", "n") == 3)
        }
    }

    @Test("Rejects values that a column can't hold with Parse errors")
    func refusals() async throws {
        let cases: [(String, Int?)] = [
            (#"{"s":"a\u0000b"}"#, 107), (#"{"o":{"k":"a\u0000b"}}"#, 107), (#"{"l":[{"k\u0000":1}]}"#, 107),
            (#"{"o":{"a.b":1}}"#, 121), (#"{"o":{"$x":1}}"#, 121), (#"{"l":[[{"a$b":1}]]}"#, 121),
            (#"{"d":{"__type":"Date","iso":"yesterday"}}"#, 111),
            (#"{"d":{"__type":"Date","iso":"+200000-01-01T00:00:00Z"}}"#, nil),
            (#"{"g":{"__type":"GeoPoint","latitude":"x","longitude":1}}"#, 111),
            (#"{"q":{"__type":"Polygon","coordinates":[[0,0],[1,1]]}}"#, 107),
            (#"{"p":{"__type":"Pointer","className":"B","objectId":{"a":1}}}"#, 111),
            (#"{"p":{"__type":"Pointer","className":"B","objectId":5}}"#, nil),
        ]
        try await TestStore.run { test in
            for (number, (json, code)) in cases.enumerated() {
                let found = try await parseCode { try await test.create("T\(number)", "t", json) }
                #expect(found == code, "\(json)")
                let object = try await test.object("T\(number)", "t")
                #expect((object == nil) == (code != nil), "\(json)")
            }
        }
    }

    private func sorted(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let object):
            var result: JSONObject = [:]
            for key in object.keys.sorted() { result[key] = object[key].map(sorted) }
            return .object(result)
        case .array(let list): return .array(list.map(sorted))
        default: return value
        }
    }
}
