import JSON
import TestSupport
import Testing

/// Live queries whose sessions end (GHSA-2xm2-xj2q-qgpj).
@Suite struct LiveQuerySessionTests {
    private static let options = TestServer.publishing("Note")

    enum Ending: String, CaseIterable {
        case logout, passwordChange, passwordReset, deletedSession, deletedUser

        func happen(_ server: TestServer, _ id: String, _ token: String) async throws {
            switch self {
            case .logout: _ = try await server.send("POST", "/logout", as: .session(token)).succeeded()
            case .passwordChange:
                // From another device of the user.
                let other = try await server.send("POST", "/login", ["username": "ann", "password": "secret"])
                    .succeeded()
                let answer = try await server.send(
                    "PUT", "/users/\(id)", ["password": "another"], as: .session(try other.string("sessionToken"))
                ).succeeded()
                #expect(answer["sessionToken"]?.stringValue?.hasPrefix("r:") == true)
            case .passwordReset:
                _ = try await server.send("PUT", "/users/\(id)", ["password": "another"], as: .master).succeeded()
            case .deletedSession:
                let sessions = try await server.find(
                    "_Session", ["where": ["sessionToken": .string(token)]], as: .master)
                let session = try #require(sessions.results.first?["objectId"]?.stringValue)
                _ = try await server.send("DELETE", "/sessions/\(session)", as: .master).succeeded()
            case .deletedUser: _ = try await server.send("DELETE", "/users/\(id)", as: .session(token)).succeeded()
            }
        }
    }

    @Test("Closes a connection after a delay if its session can't be read")
    func outage() async throws {
        var options = Self.options
        options["cacheTTL"] = 0
        try await TestServer.run(options) { server in
            let ann = try await server.signUp("ann")
            try await server.liveQuery { client in
                try await client.connect(sessionToken: ann.token)
                try await client.subscribe(1, "Note")
                _ = try await server.create("Note", ["a": 1])
                #expect(try await client.next()["op"] == "create")
                try await server.execute(
                    """
                    CREATE FUNCTION fail() RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''gone''; END';
                    ALTER TABLE "_Session" RENAME TO "away";
                    CREATE VIEW "_Session" AS SELECT * FROM "away" WHERE fail();
                    """)
                let start = ContinuousClock.now
                _ = try await server.create("Note", ["a": 1])
                #expect(try await client.isClosed())
                #expect(ContinuousClock.now - start > .milliseconds(700))
            }
        }
    }

    @Test(
        "Ending a session sends code 209, closes only its own connection, and invalidates the token",
        arguments: Ending.allCases)
    func endings(ending: Ending) async throws {
        try await TestServer.run(Self.options) { server in
            let ann = try await server.signUp("ann")
            let bob = try await server.signUp("bob")
            try await server.liveQuery { bobs in
                try await bobs.connect(sessionToken: bob.token)
                try await bobs.subscribe(1, "Note")
                try await server.liveQuery { client in
                    try await client.connect(sessionToken: ann.token)
                    try await client.subscribe(1, "Note", sessionToken: ann.token)
                    try await ending.happen(server, ann.id, ann.token)
                    let told = try await client.next()
                    #expect(told["op"] == "error" && told["code"] == 209 && told["reconnect"] == false, "\(told.text)")
                    #expect(try await client.isClosed())
                }
                _ = try await server.create("Note", ["a": 1])
                #expect(try await bobs.next()["object"]?["a"] == 1)
            }
            #expect(try await server.send("GET", "/users/me", as: .session(ann.token)).code == 209)
            // A client that reconnects with the token is accepted, since clients reconnect immediately, but receives no
            // events.
            try await server.liveQuery { client in
                try await client.connect(sessionToken: ann.token)
                let refused = try await client.subscribe(1, "Note")
                #expect(refused["code"] == 209 && refused["requestId"] == 1 && refused["reconnect"] == false)
            }
        }
    }

    @Test("Ending a subscription's own session ends only that subscription")
    func subscriptions() async throws {
        try await TestServer.run(Self.options) { server in
            let ann = try await server.signUp("ann")
            try await server.liveQuery { client in
                try await client.connect(sessionToken: "")
                try await client.subscribe(1, "Note")
                try await client.subscribe(2, "Note", sessionToken: ann.token)
                _ = try await server.send("POST", "/logout", as: .session(ann.token)).succeeded()
                let told = try await client.next()
                #expect(told["code"] == 209 && told["requestId"] == 2)
                _ = try await server.create("Note", ["a": 1])
                _ = try await server.create("Note", ["a": 2])
                #expect(try await client.next(2).map { $0["requestId"] } == [1, 1])
            }
        }
    }

    @Test("Every log-out sends code 209 to the session's live-query client")
    func logOutComesFirst() async throws {
        try await TestServer.run(Self.options) { server in
            _ = try await server.signUp("ann")
            for _ in 0..<20 {
                let token = try await server.send("POST", "/login", ["username": "ann", "password": "secret"])
                    .succeeded().string("sessionToken")
                try await server.liveQuery { client in
                    try await client.connect(sessionToken: token)
                    try await client.subscribe(1, "Note", sessionToken: token)
                    _ = try await server.send("POST", "/logout", as: .session(token)).succeeded()
                    // An event that was already sent only has to pass through the socket.
                    #expect(try await client.next()["code"] == 209)
                }
            }
        }
    }

    @Test("A subscription with a valid session works on a connection whose own session has ended")
    func endedBefore() async throws {
        try await TestServer.run(Self.options) { server in
            let ann = try await server.signUp("ann")
            let bob = try await server.signUp("bob")
            _ = try await server.send("POST", "/logout", as: .session(ann.token)).succeeded()
            try await server.liveQuery { client in
                try await client.connect(sessionToken: ann.token)
                try await client.subscribe(1, "Note", sessionToken: bob.token)
                // Makes the connection check its sessions.
                _ = try await server.send("PUT", "/users/\(bob.id)", ["color": "red"], as: .session(bob.token))
                    .succeeded()
                _ = try await server.create("Note", ["a": 1, "ACL": .object([Name(bob.id): ["read": true]])])
                let told = try await client.next()
                #expect(told["op"] == "create" && told["object"]?["a"] == 1, "\(told.text)")
                #expect(try await client.subscribe(2, "Note")["code"] == 209)
            }
        }
    }

    @Test("An expired session receives no more changes, and role changes apply immediately")
    func expiryAndRoles() async throws {
        try await TestServer.run(Self.options.merging(["cacheTTL": 2000]) { $1 }) { server in
            let ann = try await server.signUp("ann")
            let role = try await server.send(
                "POST", "/roles", ["name": "band", "ACL": ["*": ["read": true]]], as: .master
            ).succeeded().string("objectId")
            @Sendable func members(_ operation: String) async throws {
                let user: JSONValue = ["__type": "Pointer", "className": "_User", "objectId": .string(ann.id)]
                _ = try await server.send(
                    "PUT", "/roles/\(role)", ["users": ["__op": .string(operation), "objects": [user]]], as: .master
                ).succeeded()
            }
            @Sendable func write(_ number: JSONValue) async throws {
                _ = try await server.send(
                    "POST", "/classes/Note", ["a": number, "ACL": ["role:band": ["read": true]]], as: .master
                ).succeeded()
            }
            try await server.liveQuery { client in
                try await client.connect(sessionToken: ann.token)
                try await client.subscribe(1, "Note")
                try await write(1)
                // Events use the permissions at the time of delivery, so the test waits for the previous event.
                _ = try await server.create("Note", ["a": 0])
                #expect(try await client.next()["object"]?["a"] == 0)
                try await members("AddRelation")
                try await write(2)
                #expect(try await client.next()["object"]?["a"] == 2)
                try await members("RemoveRelation")
                try await write(3)
                _ = try await server.create("Note", ["a": 4])
                #expect(try await client.next()["object"]?["a"] == 4)
                try await server.execute("UPDATE \"_Session\" SET \"expiresAt\" = now() - interval '1 minute'")
                // Direct changes of the table apply when the cached session expires.
                var event: JSONObject = [:]
                let isOver = try await eventually {
                    _ = try await server.create("Note", ["a": 5])
                    event = try await client.next()
                    return event["op"] == "error"
                }
                #expect(isOver && event["code"] == 209, "\(event.text)")
                #expect(try await client.isClosed())
            }
        }
    }
}
