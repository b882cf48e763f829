import ParseModel
import ParseStorage
import Testing

@Suite struct ExpiredSessionTests {
    /// Plans without which PostgreSQL would repeat a sub-query of IN for each row and lock other rows each time.
    private static let plans = ["hashjoin", "mergejoin", "hashagg", "sort", "material", "indexscan", "bitmapscan"]

    @Test("Deletes at most 1,000 expired sessions per statement, whatever the plan")
    func pieces() async throws {
        try await TestStore.run { test in
            try await test.client.execute(
                script: """
                    INSERT INTO "_Session" ("objectId", "sessionToken", "expiresAt")
                    SELECT 'old' || n, 'r:old' || n, '2020-01-01' FROM generate_series(1, 2500) AS n;
                    CREATE TABLE removals (n bigint);
                    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
                        $$ BEGIN INSERT INTO removals SELECT count(*) FROM gone; RETURN NULL; END $$;
                    CREATE TRIGGER noted AFTER DELETE ON "_Session" REFERENCING OLD TABLE AS gone
                        FOR EACH STATEMENT EXECUTE FUNCTION note()
                    """)
            let options = Self.plans.map { "-c%20enable_\($0)%3Doff" }.joined(separator: "%20")
            try await TestStore.open("\(test.uri)?options=\(options)") { other in
                try await other.store.sessions.remove(endedBefore: ParseDate(milliseconds: 1_600_000_000_000))
            }
            let rows = try await test.client.query("SELECT r.n::text FROM removals AS r ORDER BY r.n DESC")
            #expect((0..<rows.rowCount).map { rows.string($0, 0) } == ["1000", "1000", "500"])
        }
    }
}
