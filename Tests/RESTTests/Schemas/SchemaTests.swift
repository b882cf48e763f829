import JSON
import TestSupport
import Testing

@Suite struct SchemaTests {
    private static let note: JSONValue = [
        "className": "Note",
        "fields": [
            "text": ["type": "String", "required": true], "n": ["type": "Number", "defaultValue": 7],
            "owner": ["type": "Pointer", "targetClass": "_User"],
        ],
    ]

    @Test("Clients can't list schemas")
    func masterOnly() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            for identity: TestServer.Identity in [.anonymous, .session(kim.token)] {
                let answer = try await server.send("GET", "/schemas", as: identity)
                #expect(answer.status == 403)
                #expect(answer.error == "Permission denied")
            }
        }
    }

    @Test("Creates, reads, lists, updates and deletes a class")
    func life() async throws {
        try await TestServer.run { server in
            let made = try await server.send("POST", "/schemas/Note", Self.note, as: .master)
            #expect(made.status == 200)
            #expect(made["className"] == "Note")
            #expect(made["fields"]?["objectId"]?["type"] == "String")
            #expect(made["fields"]?["ACL"]?["type"] == "ACL")
            #expect(same(made["fields"]?["owner"], ["type": "Pointer", "targetClass": "_User"]))
            #expect(made["classLevelPermissions"]?["find"] == ["*": true])
            let read = try await server.send("GET", "/schemas/Note", as: .master)
            #expect(same(read["fields"]?["n"], ["type": "Number", "defaultValue": 7]))
            let listed = try await server.send("GET", "/schemas", as: .master)
            #expect(listed.results.contains { $0["className"] == "Note" })
            let changed = try await server.send(
                "PUT", "/schemas/Note", ["fields": ["more": ["type": "Date"], "owner": ["__op": "Delete"]]], as: .master
            )
            #expect(changed["fields"]?["more"]?["type"] == "Date")
            #expect(changed["fields"]?["owner"] == nil)
            let dropped = try await server.send("DELETE", "/schemas/Note", as: .master)
            #expect(dropped.status == 200)
            #expect(dropped.json == [:])
            #expect(try await server.send("GET", "/schemas/Note", as: .master).code == 103)
        }
    }

    @Test("Enforces required fields on create and update, and applies defaults on create")
    func fieldOptions() async throws {
        try await TestServer.run { server in
            _ = try await server.send("POST", "/schemas/Note", Self.note, as: .master).succeeded()
            let missing = try await server.send("POST", "/classes/Note", ["n": 1])
            #expect(missing.status == 400)
            #expect(missing.code == 142)
            #expect(missing.error == "text is required")
            let made = try await server.send("POST", "/classes/Note", ["text": "x"])
            #expect(made.status == 201)
            #expect(made["n"] == 7)
            let id = try made.string("objectId")
            let emptied = try await server.send("PUT", "/classes/Note/\(id)", ["text": ["__op": "Delete"]])
            #expect(emptied.code == 142)
        }
    }

    @Test("Rejects invalid schema requests with the matching error code")
    func refusals() async throws {
        try await TestServer.run { server in
            _ = try await server.send("POST", "/schemas/Note", Self.note, as: .master).succeeded()
            let cases: [(String, String, JSONValue, Int)] = [
                ("POST", "/schemas/Note", Self.note, 103),
                ("POST", "/schemas/Other", ["className": "Another"], 103),
                ("POST", "/schemas", [:], 135),
                ("POST", "/schemas/Bad", ["fields": ["x": ["type": "Unknown"]]], 111),
                ("POST", "/schemas/Bad", ["fields": ["x": ["type": "Pointer"]]], 135),
                ("POST", "/schemas/Bad", ["fields": ["0x": ["type": "String"]]], 105),
                ("PUT", "/schemas/None", ["fields": [:]], 103),
                ("PUT", "/schemas/Note", ["fields": ["text": ["type": "Number"]]], 255),
                ("PUT", "/schemas/Note", ["fields": ["none": ["__op": "Delete"]]], 255),
                ("PUT", "/schemas/Note", ["fields": ["objectId": ["__op": "Delete"]]], 136),
                ("PUT", "/schemas/Note", ["classLevelPermissions": ["dance": ["*": true]]], 107),
            ]
            for (method, path, body, code) in cases {
                let answer = try await server.send(method, path, body, as: .master)
                #expect(answer.status == 400, "\(method) \(path) \(body)")
                #expect(answer.code == code, "\(method) \(path) \(body): \(answer.text)")
            }
            _ = try await server.create("Note", ["text": "x"])
            let full = try await server.send("DELETE", "/schemas/Note", as: .master)
            #expect(full.status == 400)
            #expect(full.code == 255)
            _ = try await server.send("DELETE", "/purge/Note", as: .master).succeeded()
            #expect(try await server.send("DELETE", "/schemas/Note", as: .master).status == 200)
        }
    }

    @Test("Rejects a value of the wrong type with 111 and keeps the field's type")
    func mismatch() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["plays": 1])
            let answer = try await server.send("POST", "/classes/Song", ["plays": "many"])
            #expect(answer.status == 400)
            #expect(answer.code == 111)
            #expect(answer.error == "schema mismatch for Song.plays; expected Number but got String")
            let schema = try await server.send("GET", "/schemas/Song", as: .master)
            #expect(schema["fields"]?["plays"]?["type"] == "Number")
        }
    }
}
