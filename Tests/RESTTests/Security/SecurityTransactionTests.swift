import JSON
import TestSupport
import Testing

/// Attacks on other clients and on rules with transactional batches.
@Suite struct SecurityTransactionTests {
    private static func call(_ method: String, _ path: String, _ body: JSONValue = [:]) -> JSONValue {
        ["method": .string(method), "path": .string("/parse" + path), "body": body]
    }

    private static func together(
        _ calls: [JSONValue], _ server: TestServer, as identity: TestServer.Identity = .anonymous
    ) async throws -> TestAnswer {
        try await server.send("POST", "/batch", ["transaction": true, "requests": .array(calls)], as: identity)
    }

    private static func runWithoutDeadlocks(_ body: @escaping @Sendable (TestServer) async throws -> Void) async throws
    {
        try await TestServer.withDatabase { uri in
            try await TestServer.run(on: uri) { try await body($0) }
            // PostgreSQL updates the count when the server's connections have closed.
            let counted = "SELECT deadlocks::text FROM pg_stat_database WHERE datname = current_database()"
            #expect(try await TestServer.texts(counted, on: uri) == ["0"])
        }
    }

    @Test("Transactions that update the same rows in opposite orders all succeed without deadlocks")
    func oppositeOrders() async throws {
        try await Self.runWithoutDeadlocks { server in
            var paths: [String] = []
            for index in 0..<10 {
                let name = index.isMultiple(of: 2) ? "Even" : "Odd"
                paths.append("/classes/\(name)/\(try await server.create(name, ["n": 0]))")
            }
            let calls = paths.map { Self.call("PUT", $0, ["n": .increment(1)]) }
            let answers = try await concurrently(8) { client in
                var answers: [TestAnswer] = []
                for _ in 0..<8 {
                    let ordered = client.isMultiple(of: 2) ? calls : calls.reversed()
                    answers.append(try await Self.together(ordered, server))
                }
                return answers
            }
            #expect(answers.joined().allSatisfy { $0.status == 200 }, "\(answers.joined().map(\.text))")
            for path in paths { #expect(try await server.send("GET", path)["n"] == 64) }
        }
    }

    @Test("Transactions that update the same rows in many different orders all succeed without deadlocks")
    func orders() async throws {
        try await Self.runWithoutDeadlocks { server in
            var calls: [JSONValue] = []
            for _ in 0..<10 {
                calls.append(Self.call("PUT", "/classes/Row/\(try await server.create("Row", ["n": 0]))", ["n": 1]))
            }
            let inOrder = calls
            let answers = try await concurrently(8) { client in
                let order = Array(inOrder[client...] + inOrder[..<client].reversed())
                var answers: [TestAnswer] = []
                for _ in 0..<16 { answers.append(try await Self.together(order, server)) }
                return answers
            }
            #expect(answers.joined().allSatisfy { $0.status == 200 })
        }
    }

    @Test("Transactions that delete and update the same rows in opposite orders return 200 or 101")
    func removals() async throws {
        try await TestServer.run { server in
            var ids: [String] = []
            for _ in 0..<12 { ids.append(try await server.create("Row", ["n": 0])) }
            let all = ids
            let answers = try await concurrently(6) { client in
                let calls = all[(client / 3 * 6)..<(client / 3 * 6 + 6)].map { id in
                    client % 3 == 0
                        ? Self.call("DELETE", "/classes/Row/\(id)")
                        : Self.call("PUT", "/classes/Row/\(id)", ["n": .increment(1)])
                }
                return try await Self.together(client % 3 == 1 ? calls.reversed() : calls, server)
            }
            #expect(answers.allSatisfy { $0.status == 200 || $0.code == 101 }, "\(answers.map(\.text))")
            #expect(try await server.find("Row").results.isEmpty)
        }
    }

    @Test("A transaction doesn't wait for the lock of a row that its caller can't change")
    func foreignRows() async throws {
        try await TestServer.run { server in
            let mine = try await server.create("Note", ["n": 1, "ACL": ["*": ["read": true]]], as: .master)
            try await server.whileLocked("SELECT 1 FROM \"Note\" FOR UPDATE") {
                let answer = try await Self.together([Self.call("PUT", "/classes/Note/\(mine)", ["n": 2])], server)
                #expect(answer.code == 101)
            }
        }
    }

    /// Creates a class in which only an object's owner can add fields to it, but everybody can change it.
    private static func owned(_ server: TestServer) async throws -> (id: String, owner: String, stranger: String) {
        let owner = try await server.signUp("owner")
        let stranger = try await server.signUp("stranger")
        let everybody: JSONValue = ["*": true]
        _ = try await server.send(
            "POST", "/schemas/Song",
            [
                "className": "Song", "fields": ["owner": ["type": "Pointer", "targetClass": "_User"]],
                "classLevelPermissions": [
                    "find": everybody, "get": everybody, "create": everybody, "update": everybody,
                    "addField": ["pointerFields": ["owner"]],
                ],
            ], as: .master
        ).succeeded()
        let id = try await server.create("Song", ["owner": .pointer("_User", owner.id)], as: .session(owner.token))
        return (id, owner.token, stranger.token)
    }

    private static func hasField(_ name: String, _ server: TestServer) async throws -> Bool {
        try await server.send("GET", "/schemas/Song", as: .master)["fields"]?[name] != nil
    }

    @Test("A transaction that adds fields under a pointer permission doesn't wait for a lock timeout")
    func ownersField() async throws {
        try await TestServer.run { server in
            let song = try await Self.owned(server)
            let start = ContinuousClock.now
            let answer = try await Self.together(
                [
                    Self.call("PUT", "/classes/Song/\(song.id)", ["title": "x"]),
                    Self.call("PUT", "/classes/Song/\(song.id)", ["plays": 1]),
                ], server, as: .session(song.owner))
            #expect(answer.status == 200, "\(answer.text)")
            #expect(start.duration(to: .now) < .seconds(25))
            #expect(try await server.send("GET", "/classes/Song/\(song.id)")["plays"] == 1)
        }
    }

    @Test("A denied update adds no field to the class, inside or outside a transaction")
    func strangersField() async throws {
        try await TestServer.run { server in
            let song = try await Self.owned(server)
            let inside = try await Self.together(
                [Self.call("PUT", "/classes/Song/\(song.id)", ["inside": "x"])], server, as: .session(song.stranger))
            #expect(inside.code == 101, "\(inside.text)")
            #expect(try await !Self.hasField("inside", server))
            let outside = try await server.send(
                "PUT", "/classes/Song/\(song.id)", ["outside": "x"], as: .session(song.stranger))
            #expect(outside.code == 101, "\(outside.text)")
            #expect(try await !Self.hasField("outside", server))
            for identity in [TestServer.Identity.session(song.owner), .master] {
                let missing = try await server.send("PUT", "/classes/Song/missing", ["missing": "x"], as: identity)
                #expect(missing.code == 101, "\(missing.text)")
            }
            #expect(try await !Self.hasField("missing", server))
        }
    }

    @Test("Rejects a transaction that contains a log-in, log-out or password check with 107")
    func logIns() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let id = try await server.create("Note", ["n": 1])
            for (method, path) in [
                ("POST", "/login"), ("GET", "/login?username=kim&password=secret"), ("POST", "/verifyPassword"),
                ("POST", "/VERIFYPASSWORD"), ("POST", "/loginAs"), ("POST", "/logout"),
                ("POST", "/upgradeToRevocableSession"),
            ] {
                let answer = try await Self.together(
                    [
                        Self.call("PUT", "/classes/Note/\(id)", ["n": 2]),
                        Self.call(
                            method, path,
                            ["username": "kim", "password": "secret", "userId": .string(kim.id)]),
                    ], server, as: path == "/loginAs" ? .master : .session(kim.token))
                #expect(answer.code == 107, "\(path): \(answer.text)")
            }
            #expect(try await server.send("GET", "/classes/Note/\(id)")["n"] == 1)
            #expect(try await server.send("GET", "/users/me", as: .session(kim.token)).status == 200)
        }
    }

    @Test("Passwords set in a transaction work, follow the password history and are rolled back with it")
    func passwords() async throws {
        try await TestServer.run(["passwordPolicy": ["maxPasswordHistory": 2]]) { server in
            let kim = try await server.signUp("kim", password: "first")
            let made = try await Self.together(
                [
                    Self.call("POST", "/users", ["username": "lee", "password": "lees"]),
                    Self.call("PUT", "/users/\(kim.id)", ["password": "second"]),
                    Self.call("POST", "/classes/_User", ["username": "max", "password": "maxs"]),
                ], server, as: .session(kim.token))
            #expect(made.status == 200, "\(made.text)")
            for (name, password) in [("kim", "second"), ("lee", "lees"), ("max", "maxs")] {
                let answer = try await server.send(
                    "POST", "/login", ["username": .string(name), "password": .string(password)])
                #expect(answer.status == 200, "\(answer.text)")
            }
            let again = try await Self.together(
                [Self.call("PUT", "/users/\(kim.id)", ["password": "first"])], server, as: .master)
            #expect(again.code == 142, "\(again.text)")
            let lost = try await Self.together(
                [
                    Self.call("PUT", "/users/\(kim.id)", ["password": "third"]),
                    Self.call("PUT", "/classes/Nothing/missing", ["n": 1]),
                ], server, as: .master)
            #expect(lost.status >= 400)
            let answer = try await server.send("POST", "/login", ["username": "kim", "password": "second"])
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    @Test("Rejects a client's transaction of more than 200 calls as a whole")
    func calls() async throws {
        try await TestServer.run { server in
            let calls = (0..<201).map { Self.call("POST", "/classes/Note", ["n": .number(Double($0))]) }
            let tooMany = try await Self.together(calls, server)
            #expect(tooMany.code == 107)
            let none = try await server.find("Note")
            #expect(none.results.isEmpty)
            let most = try await Self.together(Array(calls.dropLast()), server)
            #expect(most.status == 200)
            let masters = try await Self.together(calls, server, as: .master)
            #expect(masters.status == 200)
        }
    }

    @Test("A transaction that uses a field just deleted by another server causes no server error")
    func staleClass() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Note", ["n": 1, "text": "x"])
            try await server.alongside { other in
                _ = try await other.send("PUT", "/schemas/Note", ["fields": ["n": ["__op": "Delete"]]], as: .master)
                    .succeeded()
                let answer = try await Self.together(
                    [
                        Self.call("POST", "/classes/Note", ["n": 1]), Self.call("POST", "/classes/Note", ["text": "y"]),
                    ], server)
                #expect(answer.status == 200 || answer.status == 400, "\(answer.text)")
            }
        }
    }

    @Test("Rejects transactions that would open a session, and existing sessions stay valid")
    func sessions() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let anonymous: JSONValue = ["anonymous": ["id": "5f3e9a54-6f0c-4d0f-9d68-3a6c8d4f1a11"]]
            _ = try await server.send("POST", "/users", ["authData": anonymous]).succeeded()
            let sessions = try await server.find("_Session", nil, as: .master).results.count
            let fails = Self.call("PUT", "/classes/Song/nobody", ["a": 1])
            let calls = [
                Self.call("POST", "/sessions"), Self.call("POST", "/classes/_Session"),
                Self.call("POST", "/users", ["authData": anonymous]),
            ]
            for call in calls {
                let identity = call["path"] == "/parse/users" ? TestServer.Identity.anonymous : .session(kim.token)
                let refused = try await Self.together([call, fails], server, as: identity)
                SecurityProbe.expectRefused(refused, 107, "\(call)")
                #expect(try await server.find("_Session", nil, as: .master).results.count == sessions)
            }
            #expect(try await server.send("GET", "/users/me", as: .session(kim.token)).status == 200)
            // An unknown user is signed up within a transaction.
            let new = Self.call("POST", "/users", ["username": "new", "password": "secret"])
            #expect(try await Self.together([new], server).status == 200)
        }
    }

    @Test("A create in a transaction grants no access to an existing object with the same id")
    func pretended() async throws {
        try await TestServer.run(["allowCustomObjectId": true]) { server in
            let id = try await server.create("Song", ["objectId": "theirs", "ACL": [:]], as: .master)
            let change = Self.call("PUT", "/classes/Song/\(id)", ["newField": 1])
            let create = Self.call("POST", "/classes/Song", ["objectId": .string(id)])
            for calls in [[change, create], [create, change]] {
                #expect(try await Self.together(calls, server).status >= 400)
                let schema = try await server.send("GET", "/schemas/Song", as: .master)
                #expect(schema["fields"]?["newField"] == nil)
            }
            let own = Self.call("POST", "/classes/Song", ["objectId": "mine", "plays": 0])
            let after = Self.call("PUT", "/classes/Song/mine", ["plays": 1])
            #expect(try await Self.together([own, after], server).status == 200)
            #expect(try await server.send("GET", "/classes/Song/mine")["plays"] == 1)
        }
    }
}
