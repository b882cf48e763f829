import JSON
import TestSupport
import Testing

/// Default ACLs of classes, and the accepted formats of an ACL.
@Suite struct DefaultACLTests {
    private static func makeClass(_ acl: JSONValue, _ server: TestServer) async throws -> TestAnswer {
        let open: JSONValue = ["*": true]
        var permissions: JSONObject = ["ACL": acl]
        for operation in ["find", "count", "get", "create", "update", "delete", "addField"] {
            permissions[operation] = open
        }
        _ = try await server.send("DELETE", "/purge/Note", as: .master)
        _ = try await server.send("DELETE", "/schemas/Note", as: .master)
        return try await server.send(
            "POST", "/schemas/Note",
            ["fields": ["text": ["type": "String"]], "classLevelPermissions": .object(permissions)], as: .master)
    }

    @Test("A create without an ACL applies and returns the class's default ACL; updates don't change it")
    func creation() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let user: JSONValue = ["read": true, "write": true]
            let own: JSONValue = .object([Name(kim.id): user])
            // The class's default ACL, and the resulting ACL of objects created without a session and by a user.
            let table: [(JSONValue, JSONValue?, JSONValue?)] = [
                (["*": ["read": true, "write": true]], nil, nil),
                (["*": ["read": true]], ["*": ["read": true]], ["*": ["read": true]]),
                (["currentUser": user], [:], own),
                (
                    ["currentUser": user, "role:Staff": ["read": true]], ["role:Staff": ["read": true]],
                    .object([Name(kim.id): user, "role:Staff": ["read": true]])
                ),
                ([:], [:], [:]),
                (["*": ["read": false, "write": false]], [:], [:]),
                (
                    .object([Name(kim.id): ["write": true]]), .object([Name(kim.id): ["write": true]]),
                    .object([Name(kim.id): ["write": true]])
                ),
            ]
            for (acl, byNobody, byUser) in table {
                _ = try await Self.makeClass(acl, server).succeeded()
                for (identity, expected) in [(TestServer.Identity.anonymous, byNobody), (.session(kim.token), byUser)] {
                    let created = try await server.send("POST", "/classes/Note", ["text": "x"], as: identity)
                        .succeeded()
                    #expect(
                        created["ACL"] == nil ? expected == nil : same(created["ACL"], expected),
                        "\(acl): \(created.text)")
                    let path = "/classes/Note/\(try created.string("objectId"))"
                    let stored = try await server.send("GET", path, as: .master)
                    #expect(
                        stored["ACL"] == nil ? expected == nil : same(stored["ACL"], expected), "\(acl): \(stored.text)"
                    )
                    _ = try await server.send("PUT", path, ["text": "y"], as: .master).succeeded()
                    #expect(
                        same(try await server.send("GET", path, as: .master)["ACL"] ?? "none", stored["ACL"] ?? "none"))
                }
                let explicit = try await server.send(
                    "POST", "/classes/Note", ["ACL": ["role:A": ["read": true]]], as: .session(kim.token)
                ).succeeded()
                #expect(explicit["ACL"] == nil)
                let id = try explicit.string("objectId")
                let shown = try await server.send("GET", "/classes/Note/\(id)", as: .master)
                #expect(same(shown["ACL"], ["role:A": ["read": true]]))
            }
        }
    }

    @Test("Rejects malformed default ACLs with 107")
    func forms() async throws {
        try await TestServer.run { server in
            let wrong: [JSONValue] = [
                1, "x", true, [], ["*": true], ["*": ["read": 1]], ["*": ["delete": true]],
                ["not a key": ["read": true]],
                ["role:": ["read": true]], ["*": []],
            ]
            for acl in wrong {
                SecurityProbe.expectRefused(try await Self.makeClass(acl, server), 107, "\(acl)")
            }
            #expect(try await server.send("GET", "/schemas/Note", as: .master).code == 103)
        }
    }

    /// ACLs as sent and as stored, or nil if none is stored.
    private static let written: [(JSONValue, JSONValue?)] = [
        (.null, nil), (false, nil), (0, nil), ("", nil),
        ([:], [:]), ([], [:]), ("public", [:]), (1, [:]), (true, [:]), (["__op": "Delete"], [:]),
        (["*": ["read": true, "write": true]], ["*": ["read": true, "write": true]]),
        (["*": ["read": true, "write": false]], ["*": ["read": true]]),
        (["*": ["read": false]], [:]), (["*": [:]], [:]), (["*": .null], [:]), (["*": true], [:]), (["*": "read"], [:]),
        (["*": ["delete": true, "read": true]], ["*": ["read": true]]),
        (
            ["*": ["read": true], "role:Nosuch": ["write": true]],
            ["*": ["read": true], "role:Nosuch": ["write": true]]
        ),
        (["nosuchuser": ["read": true, "write": true]], ["nosuchuser": ["read": true, "write": true]]),
        (["role:Ünïcode 'quoted\"": ["read": true]], ["role:Ünïcode 'quoted\"": ["read": true]]),
        (["a,b{}\\": ["write": true]], ["a,b{}\\": ["write": true]]),
        (["NULL": ["read": true]], ["NULL": ["read": true]]), (["": ["read": true]], ["": ["read": true]]),
    ]

    @Test("Accepts any JSON as an object's ACL and stores only valid grants, on create and update")
    func objectForms() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["text": "the class exists"])
            for (sent, kept) in Self.written {
                let created = try await server.send("POST", "/classes/Song", ["ACL": sent])
                #expect(created.status == 201, "\(sent): \(created.text)")
                guard let id = created["objectId"]?.stringValue else { continue }
                let read = try await server.send("GET", "/classes/Song/\(id)", as: .master)
                #expect(kept == nil ? read["ACL"] == nil : same(read["ACL"], kept), "created \(sent): \(read.text)")
                let open = try await server.create("Song", ["ACL": ["role:Before": ["read": true]]], as: .master)
                let changed = try await server.send("PUT", "/classes/Song/\(open)", ["ACL": sent], as: .master)
                #expect(changed.status == 200, "\(sent): \(changed.text)")
                let after = try await server.send("GET", "/classes/Song/\(open)", as: .master)
                // An empty ACL value changes nothing.
                #expect(same(after["ACL"], kept ?? ["role:Before": ["read": true]]), "changed \(sent): \(after.text)")
            }
        }
    }
}
