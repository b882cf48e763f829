import Doctor
import Foundation
import JSON
import LocalPostgres
import Postgres
import TestSupport
import TestTools
import Testing

/// `roost doctor` as a process, including checks that need a separate PostgreSQL.
@Suite struct DoctorProcessTests {
    private static func doctor(_ arguments: [String]) async throws -> (status: Int32, output: String) {
        try await ExportFolder.command([CrashServer.findBinary(), "doctor"] + arguments, in: "/")
    }

    @Test(
        "Prints a table or JSON, exits with 2 if there are problems, and fixes them with --fix --yes")
    func output() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["title": "x"])
            let database = ["--databaseURI", server.databaseURI]
            // The tests' PostgreSQL is tuned for speed, which the doctor reports.
            let plain = try await Self.doctor(database)
            #expect(plain.status == 2, "\(plain.output)")
            #expect(plain.output.contains("error   setting  fsync"), "\(plain.output)")
            #expect(plain.output.split(separator: "\n").contains { $0.hasPrefix("Song ") && $0.contains(" 1 ") })
            #expect(plain.output.contains("--fix can fix 0"))

            try await server.execute("ALTER TABLE \"Song\" DROP COLUMN \"title\"")
            let script = try await Self.doctor(["--json"] + database)
            #expect(script.status == 2)
            let report = try JSONValue(parsing: script.output.split(separator: "\n").last.map(String.init) ?? "")
            let findings = report["findings"]?.arrayValue ?? []
            let column = try #require(findings.first { $0["kind"] == "missing-column" })
            #expect(column["subject"] == "Song.title")
            #expect(column["severity"] == "error")
            #expect(column["fix"]?.arrayValue?.count == 1)
            #expect(report["classes"]?.arrayValue?.contains { $0["name"] == "Song" && $0["rows"] == 1 } == true)

            let asking = try await Self.doctor(["--fix"] + database)
            #expect(asking.status == 64, "nobody is there to be asked: \(asking.output)")
            let fixed = try await Self.doctor(["--fix", "--yes", "--json"] + database)
            #expect(fixed.output.contains("\"event\":\"fixed\",\"kind\":\"missing-column\""), "\(fixed.output)")
            let again = try await Self.doctor(["--json"] + database)
            #expect(!again.output.contains("missing-column"))
            #expect(try await server.find("Song").results.count == 1)
        }
    }

    @Test(
        "On a terminal, shows the statements of each fix and runs only the confirmed ones")
    func terminal() async throws {
        let script = Checkout.path("Tests/AppTests/Migration/at_terminal.py")
        try await TestServer.run { server in
            _ = try await server.create("Song", ["title": "x", "plays": 1])
            try await server.execute("ALTER TABLE \"Song\" DROP COLUMN \"title\", DROP COLUMN \"plays\"")
            let columns = """
                SELECT attname::text FROM pg_attribute WHERE attrelid = '"Song"'::regclass AND NOT attisdropped
                AND attname IN ('title', 'plays')
                """
            func run(_ answers: String, _ further: [String] = []) async throws -> (status: Int32, output: String) {
                let command = [try CrashServer.findBinary(), "doctor", "--fix", "--databaseURI", server.databaseURI]
                return try await ExportFolder.command(
                    ["/usr/bin/env", "python3", script, answers] + command + further, in: "/")
            }
            // An empty line, the end of input and any word except yes mean no.
            for answers in [",", "end", "no,yess"] {
                let kept = try await run(answers)
                #expect(kept.status == 2, "\(kept.output)")
                #expect(kept.output.contains("[y/N]"), "\(kept.output)")
                #expect(try await server.texts(columns).isEmpty, "\(answers): \(kept.output)")
            }
            let asked = try await run("n,Y")
            #expect(asked.output.components(separatedBy: "[y/N]").count == 3, "each is asked for: \(asked.output)")
            let made = try await server.texts(columns)
            #expect(made.count == 1, "one was confirmed: \(asked.output)")
            let column = try #require(made.first)
            let named = try #require(asked.output.range(of: "ADD COLUMN IF NOT EXISTS \"\(column)\""))
            let question = try #require(asked.output.range(of: "[y/N] Y"))
            #expect(named.lowerBound < question.lowerBound, "the statement is told before the question")
            #expect(asked.output.contains("fixed: "), "\(asked.output)")
            let all = try await run("", ["--yes"])
            #expect(!all.output.contains("[y/N]"), "\(all.output)")
            #expect(try await server.texts(columns).count == 2)
        }
    }

    @Test("Exits with 1 if the database is unreachable or the folder has no database")
    func unreachable() async throws {
        let gone = try await Self.doctor(["--databaseURI", "postgres://nobody@127.0.0.1:1/nothing"])
        #expect(gone.status == 1, "\(gone.output)")
        let empty = try await Self.doctor(["--dataDir", "/tmp/roost-nothing-\(UUID().uuidString)", "--json"])
        #expect(empty.status == 1)
        #expect(empty.output.contains("no database in"), "\(empty.output)")
    }

    @Test("Reports slow statements and harmful settings")
    func slowStatements() async throws {
        let folder = ClusterFolder.path("doctor")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let database = LocalPostgres(dataFolder: folder + "/postgres", logger: TestServer.quietLogger)
        for setting in ["shared_preload_libraries = 'pg_stat_statements'", "autovacuum = off"] {
            let uri = try await database.start()
            try await TestServer.execute("ALTER SYSTEM SET \(setting)", on: uri)
            await database.stop()
        }
        let uri = try await database.start()
        do {
            try await Self.examineSlowStatements(uri)
        } catch {
            await database.stop()
            throw error
        }
        await database.stop()
    }

    private static func examineSlowStatements(_ uri: String) async throws {
        try await TestServer.execute("CREATE EXTENSION pg_stat_statements", on: uri)
        try await TestServer.run(on: uri) { server in
            _ = try await server.create("Song", ["title": "x", "plays": 1])
            // A statement of this size should not take as long.
            let slow = """
                SELECT "title" FROM "Song" WHERE "title" = 'x' AND "plays" >= 1 AND pg_sleep(0.2) IS NOT NULL
                """
            _ = try await server.texts(slow)
            let client = PostgresClient(
                configuration: PostgresConfiguration(connectionString: uri), logger: TestServer.quietLogger)
            let report = try await Doctor(client: client).examine()
            let found = try #require(
                report.findings.first { $0.kind == .slowQuery && $0.words.contains("pg_sleep") })
            #expect(found.words.hasPrefix("1 calls, 2") && found.remedy == nil, "\(found.words)")
            #expect(report.findings.contains { $0.kind == .setting && $0.subject == "autovacuum" })
            #expect(!report.findings.contains { $0.kind == .setting && $0.subject == "fsync" })
            await client.shutdown()
        }
    }
}
