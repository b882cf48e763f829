import JSON
import TestSupport
import Testing

@Suite struct AccessControlTests {
    private static func expect(
        _ server: TestServer, _ id: String, as identity: TestServer.Identity, reads: Bool, writes: Bool,
        location: SourceLocation = #_sourceLocation
    ) async throws {
        let path = "/classes/Note/\(id)"
        let fetched = try await server.send("GET", path, as: identity)
        #expect(fetched.status == (reads ? 200 : 404), sourceLocation: location)
        if !reads { #expect(fetched.code == 101, sourceLocation: location) }
        let found = try await server.find("Note", ["where": ["objectId": .string(id)]], as: identity)
        #expect(found.results.count == (reads ? 1 : 0), sourceLocation: location)
        let counted = try await server.find(
            "Note", ["where": ["objectId": .string(id)], "count": 1, "limit": 0], as: identity)
        #expect(counted["count"] == (reads ? 1 : 0), sourceLocation: location)
        let written = try await server.send("PUT", path, ["text": "written"], as: identity)
        #expect(written.status == (writes ? 200 : 404), sourceLocation: location)
        if !writes {
            #expect(written.code == 101, sourceLocation: location)
            let deleted = try await server.send("DELETE", path, as: identity)
            #expect(deleted.status == 404, sourceLocation: location)
            #expect(deleted.code == 101, sourceLocation: location)
        }
    }

    @Test("Everyone can read and write an object without an ACL")
    func open() async throws {
        try await TestServer.run { server in
            let id = try await server.create("Note", ["text": "x"])
            try await Self.expect(server, id, as: .anonymous, reads: true, writes: true)
        }
    }

    @Test("Only the owner and the master key can read and write a private object")
    func privateObject() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let lou = try await server.signUp("lou")
            let access: JSONValue = .object([Name(kim.id): ["read": true, "write": true]])
            let id = try await server.create("Note", ["text": "x", "ACL": access], as: .session(kim.token))
            try await Self.expect(server, id, as: .session(kim.token), reads: true, writes: true)
            try await Self.expect(server, id, as: .session(lou.token), reads: false, writes: false)
            try await Self.expect(server, id, as: .anonymous, reads: false, writes: false)
            try await Self.expect(server, id, as: .master, reads: true, writes: true)
            let own = try await server.send("GET", "/classes/Note/\(id)", as: .session(kim.token))
            #expect(same(own["ACL"], access))
        }
    }

    @Test("Everyone can read a public object, but only the user in its ACL can write it")
    func readOnly() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let lou = try await server.signUp("lou")
            let access: JSONValue = .object(["*": ["read": true], Name(kim.id): ["read": true, "write": true]])
            let id = try await server.create("Note", ["text": "x", "ACL": access], as: .session(kim.token))
            try await Self.expect(server, id, as: .session(lou.token), reads: true, writes: false)
            try await Self.expect(server, id, as: .anonymous, reads: true, writes: false)
            try await Self.expect(server, id, as: .session(kim.token), reads: true, writes: true)
        }
    }

    @Test("A read-only ACL allows no writes, and an empty ACL allows only the master key")
    func nobody() async throws {
        try await TestServer.run { server in
            let frozen = try await server.create("Note", ["text": "x", "ACL": ["*": ["read": true]]])
            try await Self.expect(server, frozen, as: .anonymous, reads: true, writes: false)
            let kim = try await server.signUp("kim")
            let lost = try await server.create("Note", ["text": "x", "ACL": [:]], as: .session(kim.token))
            try await Self.expect(server, lost, as: .session(kim.token), reads: false, writes: false)
            try await Self.expect(server, lost, as: .master, reads: true, writes: true)
        }
    }

    @Test("Omits false flags from a stored ACL and rejects *unresolved with 123")
    func form() async throws {
        try await TestServer.run { server in
            let id = try await server.create(
                "Note", ["ACL": ["*": ["read": true, "write": false], "someone": ["read": false, "write": true]]])
            let record = try await server.send("GET", "/classes/Note/\(id)")
            #expect(same(record["ACL"], ["*": ["read": true], "someone": ["write": true]]))
            let unresolved = try await server.send("POST", "/classes/Note", ["ACL": ["*unresolved": ["read": true]]])
            #expect(unresolved.status == 400)
            #expect(unresolved.code == 123)
        }
    }

    @Test("A new ACL replaces the old one")
    func replacement() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let lou = try await server.signUp("lou")
            let id = try await server.create(
                "Note", ["ACL": .object([Name(kim.id): ["read": true, "write": true]])], as: .session(kim.token))
            let handed = try await server.send(
                "PUT", "/classes/Note/\(id)", ["ACL": .object([Name(lou.id): ["read": true, "write": true]])],
                as: .session(kim.token))
            #expect(handed.status == 200)
            try await Self.expect(server, id, as: .session(kim.token), reads: false, writes: false)
            try await Self.expect(server, id, as: .session(lou.token), reads: true, writes: true)
        }
    }

    @Test("Omits included objects that the caller can't read")
    func includes() async throws {
        try await TestServer.run { server in
            let hidden = try await server.create("Note", ["text": "secret", "ACL": [:]], as: .master)
            let shown = try await server.create("Note", ["text": "open"])
            let pointers: [JSONValue] = [.pointer("Note", hidden), .pointer("Note", shown)]
            let id = try await server.create("Folder", ["top": pointers[0], "all": .array(pointers)])
            let folder = try await server.send("GET", "/classes/Folder/\(id)?include=top,all")
            #expect(folder["top"] == nil)
            #expect(folder["all"]?.arrayValue?.map { $0["text"] } == ["open"])
            let master = try await server.send("GET", "/classes/Folder/\(id)?include=top,all", as: .master)
            #expect(master["top"]?["text"] == "secret")
        }
    }
}
