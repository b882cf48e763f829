import Foundation
import JSON
import TestSupport
import Testing

/// Session lifetimes, and deletion of expired sessions.
@Suite struct SessionLifeTests {
    /// The seconds until each session expires, or -1 for never.
    private static func lives(_ server: TestServer) async throws -> [Int] {
        try await server.texts(
            "SELECT COALESCE(round(extract(epoch FROM \"expiresAt\" - now())), -1)::text FROM \"_Session\""
        )
        .compactMap { Int($0) }
    }

    @Test("Sessions expire after sessionLength, or never if expireInactiveSessions is off")
    func length() async throws {
        try await TestServer.run(["sessionLength": 600]) { server in
            let kim = try await server.signUp("kim")
            let lives = try await Self.lives(server)
            #expect(lives.allSatisfy { (540...600).contains($0) })
            let mine = try await server.send("GET", "/sessions/me", as: .session(kim.token))
            #expect(mine["expiresAt"]?["__type"] == "Date")
        }
        try await TestServer.run(["expireInactiveSessions": false, "sessionLength": 600]) { server in
            let kim = try await server.signUp("kim")
            #expect(try await Self.lives(server) == [-1])
            #expect(try await server.send("GET", "/sessions/me", as: .session(kim.token))["expiresAt"] == nil)
            #expect(try await server.send("GET", "/users/me", as: .session(kim.token)).status == 200)
        }
    }

    @Test("A sessionLength of a hundred years or more yields a date that every client can parse")
    func longLives() async throws {
        for (length, years) in [(3_155_760_000.0, 2100...2200), (1e300, 3000...3100)] {
            let options: JSONObject = ["sessionLength": .number(length), "extendSessionOnUse": true]
            try await TestServer.run(options) { server in
                let kim = try await server.signUp("kim")
                let mine = try await server.send("GET", "/sessions/me", as: .session(kim.token))
                let end = mine["expiresAt"]?["iso"]?.stringValue ?? ""
                #expect(years.contains(Int(end.prefix(4)) ?? 0) && end.utf8.count == 24, "\(end)")
                #expect(try await server.send("GET", "/users/me", as: .session(kim.token)).status == 200)
            }
        }
    }

    @Test("extendSessionOnUse extends a session only in the second half of its life, once across processes")
    func extending() async throws {
        let options: JSONObject = ["sessionLength": 1000, "extendSessionOnUse": true, "cacheTTL": 0]
        try await TestServer.run(options) { server in
            try await server.alongside(options) { other in
                let kim = try await server.signUp("kim")
                func age(_ seconds: Int) async throws {
                    try await server.execute(
                        """
                        UPDATE "_Session" SET "updatedAt" = now() - interval '\(seconds) s',
                            "expiresAt" = now() + interval '\(1000 - seconds) s';
                        DROP TABLE IF EXISTS extensions; CREATE TABLE extensions (n int);
                        CREATE OR REPLACE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
                            $$ BEGIN INSERT INTO extensions VALUES (1); RETURN NULL; END $$;
                        DROP TRIGGER IF EXISTS noted ON "_Session";
                        CREATE TRIGGER noted AFTER UPDATE ON "_Session" FOR EACH ROW EXECUTE FUNCTION note()
                        """)
                }
                func use() async throws {
                    let answers = try await concurrently(20) { number in
                        try await (number % 2 == 0 ? server : other).send("GET", "/users/me", as: .session(kim.token))
                    }
                    #expect(answers.allSatisfy { $0.status == 200 })
                }
                try await age(400)
                try await use()
                #expect(try await server.texts("SELECT n::text FROM extensions").isEmpty)
                try await age(600)
                try await use()
                let lives = try await Self.lives(server)
                #expect(lives.allSatisfy { $0 > 900 })
                #expect(try await server.texts("SELECT n::text FROM extensions") == ["1"])
            }
        }
    }

    @Test("Without extendSessionOnUse, requests don't extend sessions; expired ones stay expired")
    func notExtending() async throws {
        try await TestServer.run(["sessionLength": 1000, "cacheTTL": 0]) { server in
            let kim = try await server.signUp("kim")
            try await server.execute(
                """
                UPDATE "_Session" SET "updatedAt" = now() - interval '900 s', "expiresAt" = now() + interval '100 s'
                """)
            #expect(try await server.send("GET", "/users/me", as: .session(kim.token)).status == 200)
            let lives = try await Self.lives(server)
            #expect(lives.allSatisfy { $0 <= 100 })
            try await server.execute("UPDATE \"_Session\" SET \"expiresAt\" = now() - interval '1 s'")
            let ended = try await server.send("GET", "/users/me", as: .session(kim.token))
            #expect(ended.code == 209 && ended.error == "Session token is expired.", "\(ended.text)")
        }
    }

    @Test("On start, deletes sessions that expired more than a day ago, and no others")
    func sweeping() async throws {
        try await TestServer.run { server in
            try await server.execute(
                """
                INSERT INTO "_Session" ("objectId", "sessionToken", "expiresAt")
                SELECT 'old' || n, 'r:old' || n, now() - interval '25 h' FROM generate_series(1, 2500) AS n;
                INSERT INTO "_Session" ("objectId", "sessionToken", "expiresAt") VALUES
                    ('recent', 'r:recent', now() - interval '23 h'), ('live', 'r:live', now() + interval '1 h'),
                    ('endless', 'r:endless', NULL)
                """)
            // Servers delete expired sessions when they start.
            try await server.alongside { other in
                let isSwept = try await eventually {
                    try await other.texts("SELECT \"objectId\" FROM \"_Session\" ORDER BY 1")
                        == ["endless", "live", "recent"]
                }
                #expect(isSwept)
            }
        }
    }
}
