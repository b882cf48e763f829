import Doctor
import JSON
import Postgres
import TestSupport
import Testing

/// Classes whose table an operator has partitioned.
@Suite struct PartitionedClassTests {
    /// Creates the class `Reading` with two hash partitions by object id.
    private static func divide(_ server: TestServer) async throws {
        _ = try await server.send(
            "POST", "/schemas/Reading",
            ["className": "Reading", "fields": ["value": ["type": "Number"], "sensor": ["type": "String"]]], as: .master
        ).succeeded()
        try await server.execute(
            """
            ALTER TABLE "Reading" RENAME TO "old";
            CREATE TABLE "Reading" (LIKE "old", PRIMARY KEY ("objectId")) PARTITION BY HASH ("objectId");
            CREATE TABLE "Reading_0" PARTITION OF "Reading" FOR VALUES WITH (MODULUS 2, REMAINDER 0);
            CREATE TABLE "Reading_1" PARTITION OF "Reading" FOR VALUES WITH (MODULUS 2, REMAINDER 1);
            DROP TABLE "old";
            """)
    }

    @Test("A partitioned class works like any other, but its unique indexes need the partition columns")
    func life() async throws {
        try await TestServer.run { server in
            try await Self.divide(server)
            let id = try await server.create("Reading", ["value": 1, "sensor": "a"])
            _ = try await server.send("PUT", "/classes/Reading/\(id)", ["value": 2, "new": true]).succeeded()
            #expect(try await server.send("GET", "/classes/Reading/\(id)")["value"] == 2)
            let refused = try await server.send(
                "PUT", "/schemas/Reading",
                ["className": "Reading", "indexes": ["bySensor": ["sensor": 1, "$unique": true]]], as: .master)
            #expect(refused.status == 400)
            #expect(
                refused.json == [
                    "code": 102,
                    "error": .string(
                        "Index bySensor can't be unique: the table of Reading is partitioned (HASH (\"objectId\")). "
                            + "Add the partition columns to the index."),
                ], "\(refused.text)")
            let made = try await server.send(
                "PUT", "/schemas/Reading",
                [
                    "className": "Reading",
                    "indexes": ["bySensor": ["sensor": 1], "byId": ["objectId": 1, "$unique": true]],
                ],
                as: .master)
            #expect(made.status == 200, "\(made.text)")
            _ = try await server.send("DELETE", "/classes/Reading/\(id)").succeeded()
            #expect(try await server.find("Reading").results.isEmpty)
        }
    }

    @Test("The doctor reports tables without a class, but not the partitions of a class")
    func doctor() async throws {
        try await TestServer.run { server in
            try await Self.divide(server)
            try await server.execute("CREATE TABLE \"notes\" (a int)")
            var configuration = PostgresConfiguration(connectionString: server.databaseURI)
            configuration.sharedConnections = 1
            let client = PostgresClient(configuration: configuration, logger: TestServer.quietLogger)
            let findings = try await Doctor(client: client, rows: 1000).examine().findings
            await client.shutdown()
            #expect(findings.filter { $0.kind == .unownedTable }.map(\.subject) == ["notes"])
            #expect(findings.filter { $0.severity == .error && $0.kind != .setting }.isEmpty, "\(findings)")
        }
    }
}
