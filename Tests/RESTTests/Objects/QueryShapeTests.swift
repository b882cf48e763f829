import JSON
import TestSupport
import Testing

/// Unusual query formats found in other test suites, and parse-server's treatment of them.
@Suite struct QueryShapeTests {
    private static func names(_ answer: TestAnswer) -> String {
        answer.results.compactMap { $0["name"]?.stringValue }.sorted().joined(separator: " ")
    }

    @Test("Operators inside a pointer condition apply in addition to the pointer")
    func besidePointers() async throws {
        try await TestServer.run { server in
            let (ann, ben) = try await (server.create("Author", ["n": "a"]), server.create("Author", ["n": "b"]))
            for (name, author) in [("one", ann), ("two", ann), ("three", ben)] {
                _ = try await server.create("Post", ["name": .string(name), "author": .pointer("Author", author)])
            }
            func pointer(_ id: String, _ operators: JSONObject) -> JSONValue {
                var object = JSONValue.pointer("Author", id).objectValue ?? [:]
                for (name, operand) in operators { object[name] = operand }
                return .object(object)
            }
            func query(_ name: String, key: String) -> JSONValue {
                ["query": ["className": "Post", "where": ["name": .string(name)]], "key": .string(key)]
            }
            for (condition, found) in [
                (pointer(ann, [:]), "one two"),
                (pointer(ann, ["$dontSelect": query("one", key: "author")]), ""),
                (pointer(ann, ["$dontSelect": query("three", key: "author")]), "one two"),
                (pointer(ann, ["$in": [.pointer("Author", ann), .pointer("Author", ben)]]), "one two"),
                (pointer(ann, ["$in": [.pointer("Author", ben)]]), ""),
                (pointer(ann, ["$nin": [.pointer("Author", ann)]]), ""),
                (pointer(ann, ["$exists": true]), "one two"), (pointer(ann, ["$exists": false]), ""),
                (pointer(ann, ["$ne": .pointer("Author", ann)]), ""),
                (pointer(ann, ["$inQuery": ["className": "Author", "where": ["n": "b"]]]), ""),
            ] as [(JSONValue, String)] {
                for condition: JSONValue in [["author": condition], ["$or": [["author": condition]]]] {
                    let answer = try await server.find("Post", ["where": condition]).succeeded()
                    #expect(Self.names(answer) == found, "\(condition)")
                }
            }
        }
    }

    @Test("$select and $dontSelect accept keys that are parts of pointers and geo points")
    func partsOfValues() async throws {
        try await TestServer.run { server in
            let (red, blue) = try await (
                server.create("Team", ["name": "red", "n": 1]), server.create("Team", ["name": "blue", "n": 2])
            )
            _ = try await server.create("Team", ["name": "Team", "n": 3])
            _ = try await server.create(
                "Player",
                [
                    "team": .pointer("Team", red), "since": .date("2020-01-02T00:00:00.000Z"),
                    "home": ["__type": "GeoPoint", "latitude": 2, "longitude": 8], "list": [.string(blue)],
                ])
            _ = try await server.create("Player", ["list": []])
            for (field, key, found) in [
                ("objectId", "team.objectId", "red"), ("name", "team.className", "Team"),
                ("n", "home.latitude", "blue"), ("name", "since.iso", ""), ("objectId", "team.nosuch", ""),
                ("objectId", "createdAt.iso", ""), ("objectId", "nosuch.objectId", ""), ("objectId", "list", "blue"),
            ] {
                let query: JSONValue = ["query": ["className": "Player"], "key": .string(key)]
                let selected = try await server.find("Team", ["where": [Name(field): ["$select": query]]]).succeeded()
                #expect(Self.names(selected) == found, "\(field) \(key)")
                let others = try await server.find("Team", ["where": [Name(field): ["$dontSelect": query]]]).succeeded()
                let rest = ["Team", "blue", "red"].filter { $0 != found }.joined(separator: " ")
                #expect(Self.names(others) == rest, "\(field) \(key)")
            }
        }
    }

    @Test("Empty keys return only the id, the dates and the ACL")
    func noKeys() async throws {
        try await TestServer.run { server in
            let acl: JSONValue = ["*": ["read": true]]
            let id = try await server.create("Note", ["text": "t", "n": 1, "ACL": acl])
            for path in ["/classes/Note?keys=", "/classes/Note/\(id)?keys=", "/classes/Note?keys=%5B%5D"] {
                let answer = try await server.send("GET", path).succeeded()
                let note = answer.results.first ?? answer.json
                #expect(
                    note.objectValue?.keys.sorted() == ["ACL", "createdAt", "objectId", "updatedAt"],
                    "\(path): \(answer.text)")
            }
            let answer = try await server.find("Note", ["keys": "n,"]).succeeded()
            #expect(answer.results.first?["n"] == 1)
            #expect(answer.results.first?["text"] == nil)
        }
    }

    @Test("includeAll keeps nested keys and includes, but a star in include overrides other paths")
    func includeAll() async throws {
        try await TestServer.run { server in
            let bazoo = try await server.create("Bazoo", ["some": "thing", "other": "o"])
            let barBaz = try await server.create(
                "BarBaz", ["key": "value", "otherKey": "v", "bazoo": .pointer("Bazoo", bazoo)])
            let id = try await server.create("Foobar", ["fizz": "buzz", "barBaz": .pointer("BarBaz", barBaz)])
            for parameters in [
                "includeAll=true&keys=fizz,barBaz.key,barBaz.bazoo.some", "include=barBaz.bazoo&includeAll=1",
            ] {
                for path in ["/classes/Foobar?\(parameters)", "/classes/Foobar/\(id)?\(parameters)"] {
                    let answer = try await server.send("GET", path).succeeded()
                    let found = answer.results.first ?? answer.json
                    let inner = found["barBaz"]?["bazoo"]
                    #expect(inner?["__type"] == "Object", "\(answer.text)")
                    #expect(inner?["some"] == "thing")
                    let isChosen = parameters.contains("keys")
                    #expect((inner?["other"] == nil) == isChosen)
                    #expect((found["barBaz"]?["otherKey"] == nil) == isChosen)
                }
            }
            // A star overrides the other paths.
            let star = try await server.send("GET", "/classes/Foobar/\(id)?include=*,barBaz.bazoo").succeeded()
            #expect(star["barBaz"]?["__type"] == "Object")
            #expect(star["barBaz"]?["bazoo"]?["__type"] == "Pointer")
        }
    }

    @Test("A dotted key limits an included object even if keys also names the whole object")
    func keyOfIncluded() async throws {
        try await TestServer.run { server in
            let author = try await server.create("Author", ["firstName": "Ann", "lastName": "Ott"])
            let id = try await server.create("Note", ["author": .pointer("Author", author), "text": "t"])
            for keys in ["author,author.firstName", "author.firstName,author"] {
                for path in ["/classes/Note", "/classes/Note/\(id)"] {
                    let answer = try await server.send("GET", "\(path)?keys=\(keys)&include=author").succeeded()
                    let found = answer.results.first ?? answer.json
                    #expect(found["author"]?["firstName"] == "Ann", "\(keys): \(answer.text)")
                    #expect(found["author"]?["lastName"] == nil && found["text"] == nil, "\(keys): \(answer.text)")
                }
            }
        }
    }

    @Test("$box accepts opposite corners in any order")
    func boxes() async throws {
        try await TestServer.run { server in
            func point(_ latitude: Double, _ longitude: Double) -> JSONValue {
                ["__type": "GeoPoint", "latitude": .number(latitude), "longitude": .number(longitude)]
            }
            for (name, latitude, longitude) in [("ferry", 37.79, -122.39), ("fiji", -18, 178), ("null", 0, 0)] {
                _ = try await server.create("Place", ["name": .string(name), "at": point(latitude, longitude)])
            }
            let (south, north, west, east) = (37.7, 37.9, -122.6, -122.3)
            for (corners, found) in [
                ([point(south, west), point(north, east)], "ferry"),
                ([point(north, east), point(south, west)], "ferry"),
                ([point(north, west), point(south, east)], "ferry"),
                ([point(south, east), point(north, west)], "ferry"),
                ([point(-20, 170), point(10, -170)], "fiji"), ([point(10, 170), point(-20, -170)], "fiji"),
            ] {
                let answer = try await server.find("Place", ["where": ["at": ["$within": ["$box": .array(corners)]]]])
                #expect(Self.names(try answer.succeeded()) == found, "\(corners)")
            }
        }
    }

    @Test("$relatedTo matches nothing for an unsaved object and is rejected with 102 if malformed")
    func unsavedOwner() async throws {
        try await TestServer.run { server in
            let song = try await server.create("Song", ["name": "a"])
            _ = try await server.create("List", ["songs": .operation("AddRelation", [.pointer("Song", song)])])
            for object: JSONValue in [
                ["__type": "Pointer", "className": "List"], ["className": "List", "objectId": .null],
            ] {
                let condition: JSONValue = ["$relatedTo": ["object": object, "key": "songs"]]
                let answer = try await server.find("Song", ["where": condition, "count": 1]).succeeded()
                #expect(answer.results.isEmpty)
                #expect(answer["count"] == 0)
                let either: JSONValue = ["$or": [condition, ["name": "a"]]]
                #expect(try await server.find("Song", ["where": either]).results.count == 1)
            }
            for malformed: JSONValue in [["key": "songs"], ["object": ["__type": "Pointer"], "key": "songs"]] {
                let answer = try await server.find("Song", ["where": ["$relatedTo": malformed]])
                #expect(answer.code == 102, "\(malformed)")
            }
        }
    }

    @Test("$regex accepts \\E without \\Q, and \\Q without \\E")
    func quotationEnds() async throws {
        try await TestServer.run { server in
            for name in ["abc", "aEc"] { _ = try await server.create("Word", ["name": .string(name)]) }
            for (pattern, found) in [
                (#"ab\Ec"#, "abc"), (#"\Eabc"#, "abc"), (#"abc\E"#, "abc"), (#"a\E.c"#, "aEc abc"),
                (#"^\Qabc\E\E$"#, "abc"), (#"\QaEc"#, "aEc"),
            ] {
                let answer = try await server.find("Word", ["where": ["name": ["$regex": .string(pattern)]]])
                #expect(Self.names(try answer.succeeded()) == found, "\(pattern)")
            }
        }
    }

    @Test("$inQuery and $notInQuery require a where up to preset 8", arguments: [7, 8, 9])
    func innerConditions(preset: Int) async throws {
        try await TestServer.run(["preset": .number(Double(preset))]) { server in
            let song = try await server.create("Song", ["name": "a"])
            _ = try await server.create("Play", ["name": "p", "song": .pointer("Song", song)])
            for name in ["$inQuery", "$notInQuery"] {
                let answer = try await server.find("Play", ["where": ["song": [Name(name): ["className": "Song"]]]])
                if preset < 9 {
                    #expect(answer.code == 102 && answer.error == "improper usage of \(name)", "\(answer.text)")
                } else {
                    #expect(Self.names(try answer.succeeded()) == (name == "$inQuery" ? "p" : ""))
                }
                let whole: JSONValue = ["song": [Name(name): ["className": "Song", "where": [:]]]]
                _ = try await server.find("Play", ["where": whole]).succeeded()
            }
            let query: JSONValue = ["query": ["className": "Song"], "key": "name"]
            _ = try await server.find("Play", ["where": ["name": ["$select": query]]]).succeeded()
        }
    }

    @Test("Rejects sorting users by their authData, even with the master key")
    func providerOrder() async throws {
        try await TestServer.run { server in
            _ = try await server.signUp("kim", ["authData": ["anonymous": ["id": "a"]]])
            _ = try await server.create("Song", ["authData": ["x": ["id": "1"]]])
            for identity: TestServer.Identity in [.anonymous, .master] {
                let answer = try await server.find("_User", ["order": "-authData.anonymous.id"], as: identity)
                #expect(answer.code == 105 || answer.code == 119, "\(answer.text)")
            }
            // In other classes, the name has no special meaning.
            _ = try await server.find("Song", ["order": "authData.x.id"]).succeeded()
        }
    }

    @Test("Converts a numeric objectId in a pointer to a string")
    func numberedPointers() async throws {
        try await TestServer.run(["allowCustomObjectId": true]) { server in
            _ = try await server.create("Song", ["objectId": "5", "name": "five"])
            let pointer: JSONValue = ["__type": "Pointer", "className": "Song", "objectId": 5]
            let id = try await server.create("Play", ["name": "p", "song": pointer, "others": [pointer]])
            _ = try await server.send(
                "PUT", "/classes/Play/\(id)", ["fans": .operation("AddRelation", [pointer])]
            ).succeeded()
            let play = try await server.send("GET", "/classes/Play/\(id)?include=song,others").succeeded()
            #expect(play["song"]?["name"] == "five")
            #expect(play["others"]?.arrayValue?.first?["name"] == "five", "\(play.text)")
            for condition: JSONValue in [
                ["song": pointer], ["song": ["$in": [pointer]]], ["others": pointer], ["fans": pointer],
            ] {
                #expect(Self.names(try await server.find("Play", ["where": condition])) == "p", "\(condition)")
            }
            let empty: JSONValue = ["__type": "Pointer", "className": "Song", "objectId": .null]
            let none = try await server.create("Play", ["song": empty])
            #expect(try await server.send("GET", "/classes/Play/\(none)").succeeded()["song"] == nil)
            let wrong: JSONValue = ["__type": "Pointer", "className": "Song", "objectId": ["a": 1]]
            #expect(try await server.send("POST", "/classes/Play", ["song": wrong]).code == 111)
        }
    }
}
