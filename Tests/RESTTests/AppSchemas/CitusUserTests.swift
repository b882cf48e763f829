import JSON
import Operations
import ParseModel
import ParseStorage
import REST
import TestSupport
import Testing

/// Users whose rows Citus spreads over its workers, and the rows that look after their names, addresses and logins.
@Suite("Users spread by Citus", .enabled("PostgreSQL has no Citus here") { try await CitusCluster.isInstalled() })
struct CitusUserTests {
    private static func run(_ body: @escaping @Sendable (TestServer) async throws -> Void) async throws {
        try await CitusCluster.run { cluster in
            let options = CitusRowsTests.distribution(
                ["_User": ["by": "objectId"], "*": ["by": "objectId"]], ["unique": "lookup"])
            try await TestServer.run(on: cluster.uri, options, body)
        }
    }

    /// What is kept of users besides, next to what should be.
    private static func expectWhole(_ server: TestServer) async throws {
        let kept = try await server.texts(
            "SELECT \"index\" || ' ' || \"value\" || ' ' || \"owner\" FROM \"_roost_unique\" ORDER BY 1")
        let expected = try await server.texts(
            """
            SELECT n."index" || ' ' || n."value" || ' ' || "objectId" FROM "_User" AS u,
                LATERAL roost_unique_values(u."username", u."email", u."authData") AS n ORDER BY 1
            """)
        #expect(kept == expected)
    }

    private static func signUp(_ server: TestServer, _ name: String, _ email: String) async throws -> TestAnswer {
        let body: JSONObject = ["username": .string(name), "password": "x", "email": .string(email)]
        return try await server.send("POST", "/users", .object(body))
    }

    @Test("Most routes answer as on PostgreSQL alone")
    func routes() async throws {
        let expected = try await TestServer.run { try await RouteSteps.answers(of: $0) }
        try await Self.run { server in
            let seen = try await RouteSteps.answers(of: server)
            for (seen, expected) in zip(seen, expected) { #expect(seen.answer == expected.answer, "\(seen.request)") }
            try await Self.expectWhole(server)
        }
    }

    @Test("Of users who take one name or address at once one is made, and what a refused one had asked for is free")
    func signUps() async throws {
        try await Self.run { server in
            let names = try await concurrently(8) { try await Self.signUp(server, "kim", "kim\($0)@example.com") }
            #expect(names.count { $0.status == 201 } == 1 && names.count { $0.code == 202 } == 7)
            let addresses = try await concurrently(8) { try await Self.signUp(server, "lou\($0)", "lou@example.com") }
            #expect(addresses.count { $0.status == 201 } == 1 && addresses.count { $0.code == 203 } == 7)
            #expect(try await Self.signUp(server, "new", "lou@example.com").code == 203)
            #expect(try await Self.signUp(server, "new", "new@example.com").status == 201)
            for (field, value): (Name, JSONValue) in [("username", "new"), ("email", "new@example.com")] {
                #expect(try await server.send("POST", "/login", [field: value, "password": "x"]).status == 200)
            }
            #expect(try await server.find("_User", as: .master).results.count == 3)
            try await Self.expectWhole(server)
        }
    }

    @Test("A name that is given up, by another one, by a deletion or by a purge, is free")
    func changes() async throws {
        try await Self.run { server in
            let (id, token) = try await server.signUp("kim", ["email": "kim@example.com"])
            _ = try await server.signUp("lou")
            let path = "/users/\(id)"
            let taken = try await server.send("PUT", path, ["username": "lou"], as: .session(token))
            #expect(taken.json == ["code": 202, "error": "Account already exists for this username."])
            _ = try await server.send("PUT", path, ["username": "max"], as: .session(token)).succeeded()
            _ = try await server.send("PUT", path, ["n": 1], as: .session(token)).succeeded()
            _ = try await server.signUp("kim")
            try await Self.expectWhole(server)
            // Those who change one user at once, by themselves or in batches, leave what the last one wrote, and no more.
            let changed = try await concurrently(12) { index in
                let body: JSONValue = ["username": .string("name\(index)")]
                if index % 3 > 0 { return try await server.send("PUT", path, body, as: .master).status }
                let request: JSONValue = ["method": "PUT", "path": .string("/parse" + path), "body": body]
                let batch: JSONValue = ["requests": [request], "transaction": true]
                return try await server.send("POST", "/batch", batch, as: .master).status
            }
            #expect(changed.allSatisfy { $0 == 200 })
            try await Self.expectWhole(server)
            #expect(try await server.send("DELETE", path, as: .master).status == 200)
            #expect(try await Self.signUp(server, "max", "kim@example.com").status == 201)
            let requests: JSONValue = [
                ["method": "POST", "path": "/parse/users", "body": ["username": "ann", "password": "x"]],
                ["method": "POST", "path": "/parse/users", "body": ["username": "lou", "password": "x"]],
            ]
            let batch = try await server.send("POST", "/batch", ["requests": requests, "transaction": true])
            #expect(batch.code == 202)
            #expect(try await server.texts("SELECT username FROM \"_User\" WHERE username = 'ann'") == [])
            try await Self.expectWhole(server)
            _ = try await server.send("DELETE", "/purge/_User", as: .master).succeeded()
            try await Self.expectWhole(server)
            _ = try await server.signUp("lou")
        }
    }

    @Test("Fields of any name in users stop nothing, nor does a purge beside sign-ups leave anything")
    func fields() async throws {
        try await Self.run { server in
            let (id, token) = try await server.signUp("kim")
            var fields: JSONObject = [:]
            for name: Name in ["id", "ids", "name", "owner", "content", "held", "one", "index", "value", "logins"] {
                fields[name] = "x"
            }
            _ = try await server.send("PUT", "/users/\(id)", .object(fields), as: .session(token)).succeeded()
            _ = try await server.signUp("lou")
            _ = try await server.send("PUT", "/users/\(id)", ["username": "max"], as: .session(token)).succeeded()
            try await Self.expectWhole(server)
            _ = try await concurrently(8) { client in
                for round in 0..<12 {
                    if client == 0 {
                        _ = try await server.send("DELETE", "/purge/_User", as: .master)
                    } else if let id = try await Self.signUp(
                        server, "name\(client).\(round)", "a\(client).\(round)@example.com")["objectId"]?.stringValue
                    {
                        _ = try await server.send("PUT", "/users/\(id)", ["username": .string(id)], as: .master)
                    }
                }
            }
            try await Self.expectWhole(server)
        }
    }

    @Test("An id of a login provider is one user's")
    func logins() async throws {
        try await Self.run { server in
            let login: JSONValue = ["authData": ["anonymous": ["id": "0123456789abcdef"]]]
            let answers = try await concurrently(6) { _ in try await server.send("POST", "/users", login) }
            #expect(answers.allSatisfy { $0.status < 300 || $0.code == 208 })
            #expect(try await server.find("_User", as: .master).results.count == 1)
            let (id, token) = try await server.signUp("kim")
            let linked = try await server.send("PUT", "/users/\(id)", login, as: .session(token))
            #expect(linked.json == ["code": 208, "error": "this auth is already used"])
            let other: JSONValue = ["authData": ["anonymous": ["id": "fedcba9876543210"]]]
            _ = try await server.send("PUT", "/users/\(id)", other, as: .session(token)).succeeded()
            try await Self.expectWhole(server)
            let gone: JSONValue = ["authData": ["anonymous": .null]]
            _ = try await server.send("PUT", "/users/\(id)", gone, as: .session(token)).succeeded()
            try await Self.expectWhole(server)
        }
    }

    @Test("Imports by clients, log-ins that store something, and what operators remove and put back, keep them as well")
    func others() async throws {
        try await CitusCluster.run { cluster in
            let spread = Distribution(isBySchema: false, classes: ["_User": .rows(by: "objectId")], hasUniqueRows: true)
            try await ConsoleRoutes.run(on: cluster.uri, spread) { routes in
                func expectWhole() async throws {
                    let kept = try await routes.texts(
                        "SELECT \"index\" || \"value\" || \"owner\" FROM \"_roost_unique\" ORDER BY 1")
                    let users = try await routes.texts(
                        "SELECT '_User_unique_username' || username || \"objectId\" FROM \"_User\" ORDER BY 1")
                    #expect(kept.filter { $0.hasPrefix("_User_unique_username") } == users)
                }
                let (id, _) = try await routes.create(
                    "/users", ["username": "kim", "password": "x", "email": "kim@example.com"])
                let trashId = try #require(
                    try await routes.send(.delete, "/users/\(id)", [:], ConsoleRequest(operatorName: "Kim")).trashId)
                try await expectWhole()
                _ = try await routes.backend.trash.restore(trashId, routes.context)
                try await expectWhole()
                #expect(try await routes.send(.post, "/users", ["username": "kim", "password": "x"]).code == 202)
                let rows = try await routes.backend.store.imports.write(
                    [
                        .update(objectId: id, Self.named("max")),
                        .insert(objectId: "other", Self.named("kim")),
                        .update(objectId: "none", Self.named("none")),
                    ], to: "_User")
                #expect(rows == [true, true, false])
                try await expectWhole()
                try await routes.backend.store.accounts.setAuthData(of: id, to: ["a": ["id": "1"]])
                await #expect(throws: ParseError.self) {
                    try await routes.backend.store.accounts.setAuthData(of: "other", to: ["a": ["id": "1"]])
                }
                try await Self.mend(routes, cluster.uri)
                try await expectWhole()
                let gone = try await routes.backend.store.deleteAll("_User", where: .everything)
                #expect(gone == 2)
                #expect(try await routes.texts("SELECT \"value\" FROM \"_roost_unique\"") == [])
            }
        }
    }

    private static func named(_ name: String) -> ObjectWrite {
        var write = ObjectWrite()
        write.operations["username"] = .set(.string(name))
        return write
    }

    /// What the doctor says of rows that are not as they should be, and does about it.
    private static func mend(_ routes: ConsoleRoutes, _ uri: String) async throws {
        _ = try await routes.client.query("DELETE FROM \"_roost_unique\" WHERE \"value\" = 'max'")
        _ = try await routes.client.query(
            "INSERT INTO \"_roost_unique\" VALUES ('_User', '_User_unique_email', 'x', 'nobody')")
        let doctor = Doctor(client: routes.client)
        let findings = try await doctor.examine().findings
        #expect(!findings.contains { $0.kind == .startChange && $0.words.contains("_User_unique") })
        let wrong = findings.filter { $0.kind == .uniqueRows }
        #expect(wrong.map(\.severity) == [.error])
        for finding in wrong { try await doctor.apply(try #require(finding.remedy)) }
        #expect(try await doctor.examine().findings.filter { $0.kind == .uniqueRows } == [])
    }
}
