import JSON
import TestSupport
import Testing

@Suite struct ImportTests {
    /// An object in the export format of hosted Parse.
    private static let export = """
        {"results":[{
            "objectId":"Ab12345678","createdAt":"2014-03-01T10:00:00.123Z","updatedAt":"2015-04-02T11:30:00.000Z",
            "title":"Blue","plays":12.5,"isNew":false,"tags":["a",1,null],"detail":{"deep":{"x":[1]}},
            "released":{"__type":"Date","iso":"2014-02-03T04:05:06.007Z"},
            "place":{"__type":"GeoPoint","latitude":52.5,"longitude":13.4},
            "artist":{"__type":"Pointer","className":"Artist","objectId":"Zz00000001"},
            "cover":{"__type":"File","name":"tfss-cover.png","url":"http://files.example/tfss-cover.png"},
            "fans":{"__type":"Relation","className":"_User"},
            "ACL":{"*":{"read":true},"role:Editors":{"write":true}}
        }]}
        """

    @Test("Preserves an exported object's id, dates, ACL and values of every type", arguments: [false, true])
    func values(isCustomAllowed: Bool) async throws {
        try await TestServer.run(["allowCustomObjectId": .bool(isCustomAllowed)]) { server in
            let answer = try await ImportForm.send(
                Self.export, to: "/import_data/Song", of: server, fields: ["feedbackEmail": "kim@example.com"])
            #expect(answer.status == 200, "\(answer.text)")
            let made = try #require(answer.rows.first)
            #expect(made["status"] == 201)
            #expect(made["response"] == ["objectId": "Ab12345678", "createdAt": "2014-03-01T10:00:00.123Z"])
            #expect(made["location"]?.stringValue?.hasSuffix("/classes/Song/Ab12345678") == true)
            let song = try await server.send("GET", "/classes/Song/Ab12345678")
            let exported = try JSONValue(parsing: Self.export)["results"]?.arrayValue?.first?.objectValue
            for (key, value) in try #require(exported) where key != "cover" {
                #expect(same(song[key.text], value), "\(key): \(song.text)")
            }
            #expect(song["cover"]?["name"] == "tfss-cover.png")
        }
    }

    @Test("Importing an existing id updates the given fields and keeps the others, even within one import")
    func again() async throws {
        try await TestServer.run { server in
            let first = #"[{"objectId":"a1","n":1,"s":"x"},{"objectId":"a1","n":2},{"objectId":"a2","n":3}]"#
            _ = try await ImportForm.send(first, to: "/import_data/Note", of: server).succeeded()
            let second = #"{"rows":[{"objectId":"a1","n":9,"updatedAt":"2020-01-01T00:00:00.000Z"}]}"#
            let answer = try await ImportForm.send(second, to: "/import_data/Note", of: server)
            #expect(answer.rows == [["response": ["updatedAt": "2020-01-01T00:00:00.000Z"]]])
            let note = try await server.send("GET", "/classes/Note/a1")
            #expect(note["n"] == 9)
            #expect(note["s"] == "x")
            #expect(note["updatedAt"] == "2020-01-01T00:00:00.000Z")
            #expect(try await server.find("Note").results.count == 2)
        }
    }

    @Test("Accepts a JSON array, or an object with results or rows, and rejects anything else with 107")
    func plain() async throws {
        try await TestServer.run { server in
            let rows: JSONValue = [["objectId": "a"], ["objectId": "b"]]
            for (number, body) in [rows, ["results": rows], ["rows": rows]].enumerated() {
                let answer = try await server.send("POST", "/import_data/Note\(number)", body, as: .master)
                #expect(answer.rows.count == 2, "\(answer.text)")
                #expect(try await server.find("Note\(number)").results.count == 2)
            }
            for body: JSONValue in [[:], ["results": "x"], ["1": ["objectId": "a"]]] {
                let answer = try await server.send("POST", "/import_data/Note", body, as: .master)
                #expect(answer.status == 400)
                #expect(answer.code == 107)
            }
            for file in ["", "{", "[1,]", "nothing"] {
                let answer = try await ImportForm.send(file, to: "/import_data/Note", of: server)
                #expect(answer.status == 400)
                #expect(answer.code == 107)
            }
        }
    }

    @Test("Reports each bad row's error at its position and stores the other rows, across several pages")
    func badRows() async throws {
        try await TestServer.run { server in
            var rows = (0..<250).map { #"{"objectId":"id\#($0)","n":\#($0)}"# }
            rows[3] = "7"
            rows[101] = #"{"objectId":"id101","n":"text"}"#
            rows[102] = #"{"objectId":{},"n":1}"#
            rows[103] = #"{"objectId":"id103","createdAt":"yesterday"}"#
            rows[104] = #"{"objectId":"id104","createdAt":"2020-01-02T00:00:00Z","updatedAt":"2020-01-01T00:00:00Z"}"#
            rows[105] = #"{"objectId":"id105","no-field":1}"#
            rows[106] = #"{"objectId":"id\u0000106"}"#
            rows[107] = #"{"objectId":"id107","s":"a\u0000b"}"#
            rows[249] = #"{"objectId":"id249","n":1,"ACL":{"*unresolved":{"read":true}}}"#
            let bad = [3: 107, 101: 111, 102: 111, 103: 111, 104: 142, 105: 105, 106: 107, 107: 107, 249: 123]
            let answer = try await ImportForm.send(
                "[\(rows.joined(separator: ","))]", to: "/import_data/Note", of: server)
            #expect(answer.status == 200)
            #expect(answer.rows.count == rows.count)
            for (place, row) in answer.rows.enumerated() {
                let code = row["error"]?["code"]?.numberValue.map { Int($0) }
                #expect(code == bad[place], "\(place): \(row)")
                #expect((row["response"]?["objectId"] == .string("id\(place)")) == (bad[place] == nil))
            }
            let stored = try await server.find("Note", ["limit": 1000])
            #expect(stored.results.count == rows.count - bad.count)
        }
    }

    @Test("Applies field defaults and required fields only to rows without an id")
    func newObjects() async throws {
        try await TestServer.run { server in
            let fields: JSONValue = [
                "s": ["type": "String", "defaultValue": "preset"], "n": ["type": "Number", "required": true],
            ]
            _ = try await server.send("POST", "/schemas/Note", ["fields": fields], as: .master).succeeded()
            let answer = try await ImportForm.send(
                #"[{"n":1},{"s":"x"},{"objectId":"old"}]"#, to: "/import_data/Note", of: server)
            let id = try #require(answer.rows.first?["response"]?["objectId"]?.stringValue)
            #expect(answer.rows[1]["error"]?["code"] == 142)
            #expect(try await server.send("GET", "/classes/Note/\(id)")["s"] == "preset")
            let old = try await server.send("GET", "/classes/Note/old")
            #expect(old.status == 200)
            #expect(old["s"] == nil)
        }
    }

    @Test("Only the full master key can import", arguments: ["/import_data/Note", "/import_relation_data/Note/fans"])
    func permission(path: String) async throws {
        let options: JSONObject = ["readOnlyMasterKey": "looking", "enableSanitizedErrorResponse": false]
        try await TestServer.run(options) { server in
            for identity: TestServer.Identity in [.anonymous, .maintenance] {
                let answer = try await ImportForm.send(#"[{"objectId":"a"}]"#, to: path, of: server, as: identity)
                #expect(answer.status == 403)
                #expect(answer.json == ["error": "unauthorized: master key is required"])
            }
            let looking = try await server.send(
                "POST", path, ["rows": [["objectId": "a"]]], headers: ["X-Parse-Master-Key": "looking"])
            #expect(looking.status == 400)
            #expect(looking.code == 119)
            #expect(try await server.find("Note", as: .master).results.isEmpty)
        }
    }

    @Test("Rejects invalid and forbidden class names, malformed forms, and forms sent to other routes")
    func refusals() async throws {
        try await TestServer.run { server in
            for name in ["1Note", "_Nothing", "_Join:users:_Role", "a-b"] {
                let answer = try await server.send("POST", "/import_data/\(name)", ["rows": [[:]]], as: .master)
                #expect(answer.status == 400, "\(name)")
                #expect(answer.code == 103, "\(name)")
            }
            for name in ["_Hooks", "_GlobalConfig"] {
                let answer = try await server.send("POST", "/import_data/\(name)", ["rows": [[:]]], as: .master)
                #expect(answer.code == 119, "\(name)")
            }
            let cut = try await server.send(
                "POST", "/import_data/Note", bytes: Array("--limit\r\nContent".utf8), as: .master,
                headers: ["Content-Type": "multipart/form-data; boundary=limit"])
            #expect(cut.status == 400 && cut.code == 107, "\(cut.text)")
            #expect(try await ImportForm.send("[{}]", to: "/classes/Note", of: server).status == 400)
        }
    }

    @Test("Rejects a form larger than maxUploadSize")
    func size() async throws {
        try await TestServer.run(["maxUploadSize": "10kb"]) { server in
            let file = #"[{"s":"\#(String(repeating: "x", count: 20_000))"}]"#
            let answer = try await ImportForm.send(file, to: "/import_data/Note", of: server)
            #expect(answer.status == 400 && answer.code == 116, "\(answer.text)")
            #expect(try await server.find("Note").results.isEmpty)
        }
    }
}
