import Doctor
import JSON
import Postgres
import TestSupport
import Testing

/// `roost doctor` finds each fault, and repairs it if that is harmless.
@Suite struct DoctorTests {
    struct Fault: CustomTestStringConvertible, Sendable {
        let name: String
        /// The statements that create the fault.
        let sql: String
        let kind: Finding.Kind
        let severity: Finding.Severity
        let subject: String
        /// Words that the finding must contain.
        var words = ""
        var examples: [String] = []
        var isFixable = false

        var testDescription: String { name }
    }

    private static let faults: [Fault] = [
        Fault(
            name: "a class without a table", sql: "DROP TABLE \"Song\"", kind: .missingTable, severity: .error,
            subject: "Song", isFixable: true),
        Fault(
            name: "a field without a column", sql: "ALTER TABLE \"Song\" DROP COLUMN \"title\"", kind: .missingColumn,
            severity: .error, subject: "Song.title", isFixable: true),
        Fault(
            name: "a missing permission column", sql: "ALTER TABLE \"Song\" DROP COLUMN \"_rperm\"",
            kind: .missingColumn, severity: .error, subject: "Song._rperm", isFixable: true),
        Fault(
            name: "a _User column that older servers don't create",
            sql: "ALTER TABLE \"_User\" DROP COLUMN \"_password_history\"", kind: .startChange, severity: .note,
            subject: "_User", words: "\"_password_history\" jsonb"),
        Fault(
            name: "a column of the wrong type",
            sql: "ALTER TABLE \"Song\" ALTER COLUMN \"plays\" TYPE text USING \"plays\"::text", kind: .columnType,
            severity: .error, subject: "Song.plays", words: "the type text, but the field needs double precision"),
        Fault(
            name: "a column without a field", sql: "ALTER TABLE \"Song\" ADD COLUMN \"left\" int",
            kind: .unknownColumn,
            severity: .note, subject: "Song.left", words: "integer"),
        Fault(
            name: "a field of an unknown type",
            sql: """
                UPDATE "_SCHEMA" SET "schema" = jsonb_set("schema", '{fields,x}', '{"type":"Colour"}')
                WHERE "className" = 'Song'
                """,
            kind: .unknownType, severity: .error, subject: "Song.x", words: "Colour"),
        Fault(
            name: "a relation without a table", sql: "DROP TABLE \"_Join:fans:Song\"", kind: .missingRelation,
            severity: .warning, subject: "Song.fans", isFixable: true),
        Fault(
            name: "orphaned relation rows",
            sql: """
                INSERT INTO "_Join:fans:Song" ("owningId", "relatedId") VALUES ('song1', 'gone'), ('gone', 'kim'),
                    ('song1', 'kim')
                """,
            kind: .orphanedRelationRows, severity: .warning, subject: "Song.fans", words: ": 2",
            examples: ["gone → kim", "song1 → gone"], isFixable: true),
        Fault(
            name: "a dangling pointer",
            sql: "UPDATE \"Song\" SET \"artist\" = 'gone' WHERE \"objectId\" = 'song2'", kind: .danglingPointers,
            severity: .warning, subject: "Song.artist", words: ": 1", examples: ["song2"]),
        Fault(
            name: "classes whose names differ only in case",
            sql: """
                INSERT INTO "_SCHEMA" VALUES ('SONG', '{"fields":{}}', true);
                CREATE TABLE "SONG" ("objectId" text PRIMARY KEY, "createdAt" timestamptz, "updatedAt" timestamptz,
                    "_rperm" text[], "_wperm" text[]);
                """,
            kind: .sameInAnyCase, severity: .warning, subject: "SONG, Song"),
        Fault(
            name: "fields whose names differ only in case",
            sql: """
                ALTER TABLE "Song" ADD COLUMN "Title" text;
                UPDATE "_SCHEMA" SET "schema" = jsonb_set("schema", '{fields,Title}', '{"type":"String"}')
                WHERE "className" = 'Song';
                """,
            kind: .sameInAnyCase, severity: .warning, subject: "Song: Title, title"),
        Fault(
            name: "users whose names differ only in case",
            sql: "INSERT INTO \"_User\" (\"objectId\", \"username\") VALUES ('kim2', 'KIM')", kind: .sameInAnyCase,
            severity: .warning, subject: "_User.username"),
        Fault(
            name: "an operation stored as data",
            sql: """
                UPDATE "Song" SET "data" = '{"a": {"b": {"__op": "Increment", "amount": 1}}}'
                WHERE "objectId" = 'song1';
                UPDATE "Song" SET "data" = '{"text": "\\"__op\\": only told of"}' WHERE "objectId" = 'song2';
                """,
            kind: .literalOperations, severity: .warning, subject: "Song.data", words: ": 1",
            examples: ["song1"]),
        Fault(
            name: "a password hash that isn't bcrypt",
            sql: "INSERT INTO \"_User\" (\"objectId\", \"_hashed_password\") VALUES ('odd', 'secret')",
            kind: .oddHashes,
            severity: .error, subject: "_User", words: ": 1", examples: ["odd"]),
        Fault(
            name: "an unowned table", sql: "CREATE TABLE \"notes\" (a int)", kind: .unownedTable, severity: .note,
            subject: "notes"),
        Fault(
            name: "a relation table without a field",
            sql: "CREATE TABLE \"_Join:old:Song\" (\"relatedId\" varchar(120), \"owningId\" varchar(120))",
            kind: .unownedTable, severity: .note, subject: "_Join:old:Song"),
        Fault(
            name: "a relation table without an index on its owners", sql: "DROP INDEX \"roost_owner:fans:Song\"",
            kind: .missingIndex, severity: .warning, subject: "Song.fans", isFixable: true),
        Fault(
            name: "an invalid index",
            sql: """
                CREATE INDEX "half" ON "Song" ("plays");
                UPDATE pg_index SET indisvalid = false WHERE indexrelid = '"half"'::regclass;
                """,
            kind: .invalidIndex, severity: .warning, subject: "Song: half", isFixable: true),
        Fault(
            name: "a table with autovacuum disabled", sql: "ALTER TABLE \"Song\" SET (autovacuum_enabled = false)",
            kind: .setting, severity: .warning, subject: "Song: autovacuum_enabled", isFixable: true),
        Fault(
            name: "a missing function", sql: "DROP FUNCTION roost_increment", kind: .startChange,
            severity: .note, subject: "functions", words: "creates roost_increment when it starts"),
        Fault(
            name: "a missing index created at startup", sql: "DROP INDEX \"_Role_unique_name\"", kind: .startChange,
            severity: .note, subject: "indexes", words: "_Role_unique_name"),
        Fault(
            name: "a class without a date index",
            sql: "DROP INDEX \"roost_created:Song\"", kind: .startChange, severity: .note, subject: "indexes by date",
            words: "Song"),
        Fault(
            name: "a missing volatile table", sql: "DROP TABLE \"_Audience\"", kind: .startChange,
            severity: .note, subject: "_Audience", words: "creates the table"),
    ]

    private static func prepare(_ server: TestServer) async throws {
        let fields: JSONValue = [
            "className": "Song",
            "fields": [
                "title": ["type": "String"], "plays": ["type": "Number"], "data": ["type": "Object"],
                "artist": ["type": "Pointer", "targetClass": "_User"],
                "fans": ["type": "Relation", "targetClass": "_User"],
            ],
        ]
        _ = try await server.send("POST", "/schemas", fields, as: .master).succeeded()
        try await server.execute(
            """
            INSERT INTO "_User" ("objectId", "username", "_hashed_password") VALUES
                ('kim', 'kim', '$2b$10$abcdefghijklmnopqrstuuWcVrKqXMxzGzVwk7FvD1F6j8aLh7qbm');
            INSERT INTO "Song" ("objectId", "artist", "data") VALUES ('song1', 'kim', '{"a":1}'), ('song2', NULL, NULL);
            INSERT INTO "_Join:fans:Song" ("owningId", "relatedId") VALUES ('song2', 'kim');
            """)
    }

    private static func withDoctor<R: Sendable>(
        _ uri: String, rows: Int = 100_000, _ body: (Doctor) async throws -> R
    ) async throws -> R {
        var configuration = PostgresConfiguration(connectionString: uri)
        configuration.sharedConnections = 1
        let client = PostgresClient(configuration: configuration, logger: TestServer.quietLogger)
        do {
            let result = try await body(Doctor(client: client, rows: rows))
            await client.shutdown()
            return result
        } catch {
            await client.shutdown()
            throw error
        }
    }

    /// The findings except those about settings of the tests' PostgreSQL.
    private static func findings(_ report: Doctor.Report) -> [Finding] {
        report.findings.filter { $0.kind != .setting || $0.remedy != nil }
    }

    @Test("Reports no problems in a database that Roost created, without writing to it")
    func healthy() async throws {
        try await TestServer.run { server in
            try await Self.prepare(server)
            // The session is read-only, so a writing statement would fail.
            let reading = server.databaseURI + "?options=-c%20default_transaction_read_only%3Don"
            try await Self.withDoctor(reading) { doctor in
                let report = try await doctor.examine()
                #expect(Self.findings(report) == [])
                let song = try #require(report.classes.first { $0.name == "Song" })
                #expect(song.rows == 2)
                #expect(!song.isEstimate)
                #expect(song.bytes > 0)
                #expect(report.classes.contains { $0.name == "_Join:fans:Song" && $0.rows == 1 })
            }
        }
    }

    @Test("Ignores Roost's internal tables and generated columns")
    func ours() async throws {
        try await TestServer.run { server in
            try await Self.prepare(server)
            try await server.execute(
                """
                ALTER TABLE "Song" ADD COLUMN "twice" float8 GENERATED ALWAYS AS ("plays" * 2) STORED;
                CREATE TABLE "roost-import" (a int);
                CREATE TABLE "_roost_mail" (a int);
                """)
            let found = try await Self.withDoctor(server.databaseURI) { Self.findings(try await $0.examine()) }
            #expect(found == [])
        }
    }

    @Test("Reports each fault and repairs those that can be repaired safely", arguments: faults)
    func fault(fault: Fault) async throws {
        try await TestServer.run { server in
            try await Self.prepare(server)
            try await server.execute(fault.sql)
            try await Self.withDoctor(server.databaseURI) { doctor in
                let findings = Self.findings(try await doctor.examine())
                let found = try #require(
                    findings.first { $0.kind == fault.kind && $0.subject == fault.subject }, "\(findings)")
                #expect(found.severity == fault.severity)
                if !fault.words.isEmpty { #expect(found.words.contains(fault.words), "\(found.words)") }
                if !fault.examples.isEmpty { #expect(found.examples == fault.examples) }
                #expect((found.remedy != nil) == fault.isFixable)
                guard fault.isFixable else { return }
                var left = findings
                // Dangling references into a missing table are found only after the table has been created.
                for _ in 1...2 {
                    for finding in left { if let remedy = finding.remedy { try await doctor.apply(remedy) } }
                    left = Self.findings(try await doctor.examine())
                }
                #expect(!left.contains { $0.kind == fault.kind }, "\(left)")
                #expect(!left.contains { $0.remedy != nil }, "\(left)")
            }
        }
    }

    @Test("Removing orphaned relation rows keeps the valid ones")
    func keepsRelations() async throws {
        try await TestServer.run { server in
            try await Self.prepare(server)
            try await server.execute("INSERT INTO \"_Join:fans:Song\" VALUES ('gone', 'song1'), ('kim', 'song1')")
            try await Self.withDoctor(server.databaseURI) { doctor in
                for finding in try await doctor.examine().findings {
                    if let remedy = finding.remedy { try await doctor.apply(remedy) }
                }
            }
            let rows = try await server.texts(
                "SELECT \"owningId\" || \"relatedId\" FROM \"_Join:fans:Song\" ORDER BY 1")
            #expect(rows == ["song1kim", "song2kim"])
        }
    }

    @Test("Reports a parse-server database's problems and pending startup changes, which startup then applies")
    func parseServer() async throws {
        try await TestServer.withDatabase { uri in
            try await TestServer.execute(ParseServerDatabase.script, on: uri)
            try await Self.withDoctor(uri) { doctor in
                let report = try await doctor.examine()
                let found = Self.findings(report)
                #expect(found.contains { $0.kind == .startChange && $0.subject == "functions" })
                #expect(found.contains { $0.kind == .startChange && $0.subject == "indexes by date" })
                #expect(found.contains { $0.kind == .literalOperations && $0.subject == "Everything.o" })
                #expect(found.contains { $0.kind == .missingIndex && $0.subject == "Everything.r" })
                #expect(!found.contains { $0.severity == .error }, "\(found)")
                #expect(!found.contains { $0.kind == .startChange && $0.subject.hasPrefix("_J") }, "\(found)")
            }
            try await TestServer.run(on: uri) { _ in
                // The server builds its date indexes in the background.
                try await Self.withDoctor(uri) { doctor in
                    let isMade = try await eventually {
                        let found = Self.findings(try await doctor.examine())
                        return !found.contains { $0.kind == .startChange }
                    }
                    #expect(isMade, "after Roost's start nothing is left to be made")
                }
            }
        }
    }

    @Test("Examines a database without Parse tables, samples large classes and lists at most 5 examples")
    func limits() async throws {
        try await TestServer.withDatabase { uri in
            try await TestServer.execute("CREATE TABLE \"t\" (a int)", on: uri)
            let found = try await Self.withDoctor(uri) { Self.findings(try await $0.examine()) }
            #expect(found.contains { $0.kind == .startChange && $0.subject == "_SCHEMA" })
            #expect(found.contains { $0.kind == .unownedTable && $0.subject == "t" })
        }
        try await TestServer.run { server in
            try await Self.prepare(server)
            try await server.execute(
                """
                INSERT INTO "Song" ("objectId", "artist") SELECT 's' || i, 'nobody' FROM generate_series(1, 50) i
                """)
            let found = try await Self.withDoctor(server.databaseURI, rows: 20) { try await $0.examine().findings }
            let dangling = try #require(found.first { $0.kind == .danglingPointers })
            #expect(dangling.words.hasSuffix(": 19") || dangling.words.hasSuffix(": 20"), "\(dangling.words)")
            #expect(dangling.examples.count == 5)
        }
    }
}
