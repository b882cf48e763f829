import JSON
import Logging
import Postgres
import TestSupport
import Testing

/// Password changes and existing sessions.
@Suite struct PasswordChangeTests {
    @Test("If ending the sessions fails, the password change is rolled back")
    func atomicity() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            try await server.execute(
                """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
                CREATE TRIGGER refuse BEFORE DELETE ON "_Session" FOR EACH ROW EXECUTE FUNCTION refuse();
                """)
            let failed = try await server.send(
                "PUT", "/users/\(kim.id)", ["password": "better", "city": "Bonn"], as: .session(kim.token))
            #expect(failed.status >= 400, "\(failed.text)")
            let me = try await server.send("GET", "/users/me", as: .session(kim.token))
            #expect(me.status == 200)
            #expect(me["city"] == nil)
            #expect(try await server.send("POST", "/login", ["username": "kim", "password": "secret"]).status == 200)
            #expect(try await server.send("POST", "/login", ["username": "kim", "password": "better"]).code == 101)
            try await server.execute("DROP TRIGGER refuse ON \"_Session\"")
            let changed = try await server.send(
                "PUT", "/users/\(kim.id)", ["password": "better", "city": "Bonn"], as: .session(kim.token))
            #expect(changed.status == 200)
            #expect(try await server.send("GET", "/users/me", as: .session(kim.token)).code == 209)
            let fresh = try await server.send(
                "GET", "/users/me", as: .session(try changed.string("sessionToken")))
            #expect(fresh["city"] == "Bonn")
            #expect(try await server.texts("SELECT \"objectId\" FROM \"_Session\"").count == 1)
        }
    }

    @Test("A master-key password change ends all sessions; without revokeSessionOnPasswordReset, sessions stay")
    func options() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let changed = try await server.send("PUT", "/users/\(kim.id)", ["password": "better"], as: .master)
            #expect(changed.status == 200)
            #expect(changed["sessionToken"] == nil)
            #expect(try await server.send("GET", "/users/me", as: .session(kim.token)).code == 209)
            #expect(try await server.texts("SELECT \"objectId\" FROM \"_Session\"").isEmpty)
            try await server.alongside(["revokeSessionOnPasswordReset": false]) { server in
                let token = try await server.send("POST", "/login", ["username": "kim", "password": "better"])
                    .string("sessionToken")
                let kept = try await server.send(
                    "PUT", "/users/\(kim.id)", ["password": "best"], as: .session(token))
                #expect(try kept.string("sessionToken") != token)
                #expect(try await server.send("GET", "/users/me", as: .session(token)).status == 200)
            }
        }
    }

    @Test("A log-in with the old password during a password change gets no session")
    func race() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let observer = PostgresClient(
                configuration: PostgresConfiguration(connectionString: server.databaseURI),
                logger: Logger(label: "test"))
            let login = try await observer.transaction { session in
                // The statements of a password change, not yet committed.
                _ = try await session.query(
                    "UPDATE \"_User\" SET \"_hashed_password\" = overlay(\"_hashed_password\" placing 'x' from 60)")
                _ = try await session.query("DELETE FROM \"_Session\"")
                let login = Task {
                    try await server.send("POST", "/login", ["username": "kim", "password": "secret"])
                }
                for _ in 0..<500 {
                    let waiting = try await observer.query(
                        """
                        SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
                            AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()
                        """)
                    if waiting.rowCount > 0 { break }
                    try await Task.sleep(for: .milliseconds(10))
                }
                return login
            }
            let answer = try await login.value
            #expect(answer.code == 101, "\(answer.text)")
            #expect(try await server.texts("SELECT \"objectId\" FROM \"_Session\"").isEmpty)
            #expect(try await server.send("GET", "/users/me", as: .session(kim.token)).code == 209)
            await observer.shutdown()
        }
    }
}
