import JSON
import TestSupport
import Testing

/// Roles: members, inheritance and removal.
@Suite struct RoleTests {
    private static func role(_ server: TestServer, _ name: String, users: [String] = [], roles: [String] = [])
        async throws -> String
    {
        var fields: JSONObject = ["name": .string(name), "ACL": ["*": ["read": true]]]
        if !users.isEmpty { fields["users"] = .operation("AddRelation", users.map { .pointer("_User", $0) }) }
        if !roles.isEmpty { fields["roles"] = .operation("AddRelation", roles.map { .pointer("_Role", $0) }) }
        return try await server.create("_Role", fields, as: .master)
    }

    private static func document(_ server: TestServer, role: String) async throws -> String {
        let access: JSONValue = .object(["role:\(role)": ["read": true, "write": true]])
        return try await server.create("Document", ["title": "x", "ACL": access], as: .master)
    }

    @Test("Role members can read and write the role's objects, and others can't see them")
    func membership() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let lou = try await server.signUp("lou")
            _ = try await Self.role(server, "Editors", users: [kim.id])
            let id = try await Self.document(server, role: "Editors")
            #expect(try await server.send("GET", "/classes/Document/\(id)", as: .session(kim.token)).status == 200)
            let written = try await server.send(
                "PUT", "/classes/Document/\(id)", ["title": "y"], as: .session(kim.token))
            #expect(written.status == 200)
            #expect(try await server.send("GET", "/classes/Document/\(id)", as: .session(lou.token)).code == 101)
            #expect(try await server.find("Document").results.isEmpty)
        }
    }

    @Test("The longest ids that objectIdSize allows fit into relations")
    func longestIds() async throws {
        try await TestServer.run(["objectIdSize": 120]) { server in
            let kim = try await server.signUp("kim")
            #expect(kim.id.utf8.count == 120)
            _ = try await Self.role(server, "Editors", users: [kim.id])
            let id = try await Self.document(server, role: "Editors")
            #expect(try await server.send("GET", "/classes/Document/\(id)", as: .session(kim.token)).status == 200)
        }
    }

    @Test("Members of a child role have the rights of its parents, through several levels, but not vice versa")
    func inheritance() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let lou = try await server.signUp("lou")
            let admins = try await Self.role(server, "Admins", users: [kim.id])
            let editors = try await Self.role(server, "Editors", roles: [admins])
            _ = try await Self.role(server, "Readers", users: [lou.id], roles: [editors])
            let forReaders = try await Self.document(server, role: "Readers")
            let forAdmins = try await Self.document(server, role: "Admins")
            for id in [forReaders, forAdmins] {
                #expect(try await server.send("GET", "/classes/Document/\(id)", as: .session(kim.token)).status == 200)
            }
            let upward = try await server.send("GET", "/classes/Document/\(forAdmins)", as: .session(lou.token))
            #expect(upward.code == 101)
        }
    }

    @Test("Roles that contain each other share their members")
    func cycles() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let first = try await Self.role(server, "First", users: [kim.id])
            let second = try await Self.role(server, "Second", roles: [first])
            let closed = try await server.send(
                "PUT", "/roles/\(first)",
                ["roles": .operation("AddRelation", [.pointer("_Role", second), .pointer("_Role", first)])], as: .master
            )
            #expect(closed.status == 200)
            for role in ["First", "Second"] {
                let id = try await Self.document(server, role: role)
                #expect(try await server.send("GET", "/classes/Document/\(id)", as: .session(kim.token)).status == 200)
            }
        }
    }

    @Test("A user removed from a role loses its rights immediately")
    func revocation() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let role = try await Self.role(server, "Editors", users: [kim.id])
            let id = try await Self.document(server, role: "Editors")
            #expect(try await server.send("GET", "/classes/Document/\(id)", as: .session(kim.token)).status == 200)
            _ = try await server.send(
                "PUT", "/roles/\(role)", ["users": .operation("RemoveRelation", [.pointer("_User", kim.id)])],
                as: .master
            ).succeeded()
            #expect(try await server.send("GET", "/classes/Document/\(id)", as: .session(kim.token)).code == 101)
        }
    }

    @Test("A deleted role grants no rights")
    func deletion() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let role = try await Self.role(server, "Editors", users: [kim.id])
            let id = try await Self.document(server, role: "Editors")
            #expect(try await server.find("Document", as: .session(kim.token)).results.count == 1)
            _ = try await server.send("DELETE", "/roles/\(role)", as: .master).succeeded()
            #expect(try await server.send("GET", "/classes/Document/\(id)", as: .session(kim.token)).code == 101)
        }
    }

    @Test("Deleting a role ends its rights and those inherited through it, but not those of its child role")
    func deletedBetween() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let inner = try await Self.role(server, "Inner", users: [kim.id])
            let middle = try await Self.role(server, "Middle", roles: [inner])
            _ = try await Self.role(server, "Outer", roles: [middle])
            let forInner = try await Self.document(server, role: "Inner")
            let forOuter = try await Self.document(server, role: "Outer")
            func sees(_ id: String) async throws -> Bool {
                try await server.send("GET", "/classes/Document/\(id)", as: .session(kim.token)).status == 200
            }
            #expect(try await sees(forOuter))
            _ = try await server.send("DELETE", "/roles/\(middle)", as: .master).succeeded()
            let seesOuter = try await sees(forOuter)
            #expect(!seesOuter)
            #expect(try await sees(forInner))
            _ = try await server.send("DELETE", "/roles/\(inner)", as: .master).succeeded()
            let seesInner = try await sees(forInner)
            #expect(!seesInner)
        }
    }

    @Test("At most a thousand of a user's roles count, and newer ones can't displace an older direct one")
    func manyRoles() async throws {
        try await TestServer.run(["cacheTTL": 1]) { server in
            let kim = try await server.signUp("kim")
            try await server.execute(
                """
                INSERT INTO "_Role" ("objectId", "createdAt", "updatedAt", "name", "_rperm")
                SELECT 'role' || n, now() + n * interval '1 s', now(), 'Role ' || n, '{*}'
                FROM generate_series(1, 1001) AS n;
                INSERT INTO "_Join:users:_Role" ("relatedId", "owningId") SELECT '\(kim.id)', 'role' || n
                FROM generate_series(1, 500) AS n;
                INSERT INTO "_Join:roles:_Role" ("relatedId", "owningId") SELECT 'role' || (n - 500), 'role' || n
                FROM generate_series(501, 1000) AS n;
                """)
            var ids: [String] = []
            for name in ["Role 1", "Role 1000", "Role 1001"] {
                ids.append(try await Self.document(server, role: name))
            }
            func statuses() async throws -> [Int] {
                var statuses: [Int] = []
                for id in ids {
                    statuses.append(
                        try await server.send("GET", "/classes/Document/\(id)", as: .session(kim.token)).status)
                }
                return statuses
            }
            #expect(try await statuses() == [200, 200, 404])
            // One more role, inherited indirectly.
            try await server.execute(
                "INSERT INTO \"_Join:roles:_Role\" (\"relatedId\", \"owningId\") VALUES ('role1000', 'role1001')")
            // A thousand newer roles that are unrelated.
            try await server.execute(
                """
                INSERT INTO "_Role" ("objectId", "createdAt", "updatedAt", "name", "_rperm")
                SELECT 'new' || n, now() + interval '1 h', now(), 'New ' || n, '{*}'
                FROM generate_series(1, 1000) AS n;
                INSERT INTO "_Join:users:_Role" ("relatedId", "owningId") SELECT '\(kim.id)', 'new' || n
                FROM generate_series(1, 1000) AS n;
                """)
            let isFull = try await eventually { try await statuses() == [200, 404, 404] }
            #expect(isFull)
            try await server.execute("DELETE FROM \"_Role\" WHERE \"objectId\" LIKE 'new%'")
            let isAsBefore = try await eventually { try await statuses() == [200, 200, 404] }
            #expect(isAsBefore)
        }
    }

    @Test("Rejects role names over 1,000 bytes")
    func longName() async throws {
        try await TestServer.run { server in
            _ = try await Self.role(server, String(repeating: "a", count: 1_000))
            let answer = try await server.send(
                "POST", "/roles",
                ["name": .string(String(repeating: "b", count: 1_001)), "ACL": ["*": ["read": true]]],
                as: .master)
            #expect(answer.code == 139)
        }
    }

    @Test("A role requires a unique name and an ACL")
    func validation() async throws {
        try await TestServer.run { server in
            _ = try await Self.role(server, "Editors")
            let twice = try await server.send(
                "POST", "/roles", ["name": "Editors", "ACL": ["*": ["read": true]]], as: .master)
            #expect(twice.status == 400)
            #expect(twice.code == 137)
            let open = try await server.send("POST", "/roles", ["name": "Open"], as: .master)
            #expect(open.code == 111)
            let nameless = try await server.send("POST", "/roles", ["ACL": [:]], as: .master)
            #expect(nameless.code == 111)
        }
    }

    @Test("A user who can only read a role can't join it")
    func selfPromotion() async throws {
        try await TestServer.run { server in
            let lou = try await server.signUp("lou")
            let role = try await Self.role(server, "Admins")
            let answer = try await server.send(
                "PUT", "/roles/\(role)", ["users": .operation("AddRelation", [.pointer("_User", lou.id)])],
                as: .session(lou.token))
            #expect(answer.status == 404)
            #expect(answer.code == 101)
            let id = try await Self.document(server, role: "Admins")
            #expect(try await server.send("GET", "/classes/Document/\(id)", as: .session(lou.token)).code == 101)
        }
    }
}
