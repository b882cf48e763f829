import JSON
import TestSupport
import Testing

@Suite struct ImportUserTests {
    @Test("Imported users log in with passwords given as bcryptPassword, _hashed_password or plain text")
    func hashes() async throws {
        try await TestServer.run { server in
            _ = try await server.signUp("old", password: "secret")
            let old = try await server.find("_User", ["where": ["username": "old"]], as: .maintenance)
            let hash = try #require(old.results.first?["_hashed_password"]?.stringValue)
            let file = """
                {"results":[
                    {"objectId":"user000001","username":"kim","bcryptPassword":"\(hash)","email":"kim@example.com",
                     "emailVerified":true,"createdAt":"2013-01-01T00:00:00.000Z","updatedAt":"2013-01-02T00:00:00.000Z",
                     "ACL":{"user000001":{"read":true,"write":true}},"sessionToken":"abc"},
                    {"objectId":"user000002","username":"lou","_hashed_password":"\(hash)","authData":null},
                    {"objectId":"user000003","username":"max","password":"plain"},
                    {"objectId":"user000004","username":"ann","authData":{"facebook":{"id":"1","access_token":"t"}}},
                    {"objectId":"user000005","username":"kim"},
                    {"objectId":"user000006","username":"eve","_hashed_password":7}
                ]}
                """
            let answer = try await ImportForm.send(file, to: "/import_data/_User", of: server)
            #expect(answer.rows.map { $0["error"]?["code"]?.numberValue } == [nil, nil, nil, nil, 202, 111])
            for (name, password) in [("kim", "secret"), ("lou", "secret"), ("max", "plain")] {
                let user = try await server.send(
                    "POST", "/login", ["username": .string(name), "password": .string(password)])
                #expect(user.status == 200, "\(name): \(user.text)")
                #expect(user["sessionToken"]?.stringValue?.hasPrefix("r:") == true)
                let wrong = try await server.send("POST", "/login", ["username": .string(name), "password": "no"])
                #expect(wrong.code == 101)
            }
            let kim = try await server.send("GET", "/users/user000001", as: .master)
            #expect(kim["createdAt"] == "2013-01-01T00:00:00.000Z")
            #expect(kim["emailVerified"] == true)
            #expect(kim["ACL"] == ["user000001": ["read": true, "write": true]])
            let ann = try await server.send("GET", "/users/user000004", as: .master)
            #expect(ann["authData"]?["facebook"]?["id"] == "1")
            #expect(ann["ACL"] == ["*": ["read": true], "user000004": ["read": true, "write": true]])
        }
    }

    @Test("Imported session tokens are valid, and an imported user with an empty ACL stays private")
    func sessions() async throws {
        try await TestServer.run { server in
            let users = #"[{"objectId":"u1","username":"kim","ACL":{}}]"#
            _ = try await ImportForm.send(users, to: "/import_data/_User", of: server).succeeded()
            let sessions = """
                [{"objectId":"s1","sessionToken":"r:0123","user":{"__type":"Pointer","className":"_User","objectId":"u1"},
                "createdWith":{"action":"login"},"expiresAt":{"__type":"Date","iso":"2999-01-01T00:00:00.000Z"}}]
                """
            _ = try await ImportForm.send(sessions, to: "/import_data/_Session", of: server).succeeded()
            let session = try await server.send("GET", "/sessions/me", as: .session("r:0123"))
            #expect(session["user"]?["objectId"] == "u1")
            #expect(try await server.send("GET", "/users/u1").code == 101)
        }
    }

    @Test("Imports relation members as id pairs, reports bad pairs, and keeps the owner's updatedAt")
    func relations() async throws {
        try await TestServer.run { server in
            let users = #"[{"objectId":"u1","username":"kim"},{"objectId":"u2","username":"lou"}]"#
            _ = try await ImportForm.send(users, to: "/import_data/_User", of: server).succeeded()
            let role = """
                [{"objectId":"r1","name":"Editors","ACL":{},"createdAt":"2013-01-01T00:00:00.000Z"}]
                """
            _ = try await ImportForm.send(role, to: "/import_data/_Role", of: server).succeeded()
            let secret = #"[{"objectId":"n1","ACL":{"role:Editors":{"read":true}}}]"#
            _ = try await ImportForm.send(secret, to: "/import_data/Note", of: server).succeeded()
            let token = try await server.send("POST", "/loginAs", ["userId": "u1"], as: .master).string("sessionToken")
            #expect(try await server.send("GET", "/classes/Note/n1", as: .session(token)).status == 404)

            let pairs = """
                {"results":[{"owningId":"r1","relatedId":"u1"},{"owningId":"r1","relatedId":"u1"},
                {"owningId":"none","relatedId":"u2"},{"owningId":"r1"},{"owningId":"r1","relatedId":5},
                {"owningId":"r1","relatedId":"\(String(repeating: "x", count: 121))"},7]}
                """
            let answer = try await ImportForm.send(pairs, to: "/import_relation_data/_Role/users", of: server)
            #expect(
                answer.rows.map { $0["error"]?["code"]?.numberValue } == [nil, nil, 101, 111, 111, 111, 111],
                "\(answer.text)")
            // The role applies immediately, although the user's session is cached.
            #expect(try await server.send("GET", "/classes/Note/n1", as: .session(token)).status == 200)
            let members = try await server.find(
                "_User", ["where": ["$relatedTo": ["object": .pointer("_Role", "r1"), "key": "users"]]], as: .master)
            #expect(members.results.map { $0["objectId"] } == ["u1"])
            let kept = try await server.send("GET", "/roles/r1", as: .master)
            #expect(kept["updatedAt"] == "2013-01-01T00:00:00.000Z")
        }
    }

    @Test("Rejects imports into unknown classes, unknown fields and fields that aren't relations")
    func noRelations() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Note", ["owner": "x"])
            for (path, code) in [("Nothing/users", 103), ("Note/none", 105), ("Note/owner", 111)] {
                let answer = try await server.send(
                    "POST", "/import_relation_data/\(path)", ["rows": [["owningId": "a", "relatedId": "b"]]],
                    as: .master)
                #expect(answer.status == 400, "\(path)")
                #expect(answer.code == code, "\(path)")
            }
        }
    }

    @Test("Imports relations of a class with fields named owner, related and place")
    func columnNames() async throws {
        try await TestServer.run { server in
            let rows =
                #"[{"objectId":"a","owner":"x","related":"y","place":1,"fans":{"__type":"Relation","className":"Note"}}]"#
            _ = try await ImportForm.send(rows, to: "/import_data/Note", of: server).succeeded()
            let answer = try await ImportForm.send(
                #"[{"owningId":"a","relatedId":"a"}]"#, to: "/import_relation_data/Note/fans", of: server)
            #expect(answer.rows == [["response": [:]]], "\(answer.text)")
        }
    }
}
