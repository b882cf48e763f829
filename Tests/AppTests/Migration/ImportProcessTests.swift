import FileStorage
import Foundation
import JSON
import Subprocess
import TestSupport
import TestTools
import Testing

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// `roost import` as a process: its output, its exit status, and recovery after it was killed.
@Suite struct ImportProcessTests {
    /// A folder with a dump to import.
    private struct Stand: Sendable {
        let folder: String

        static func run(_ body: (Stand) async throws -> Void) async throws {
            let folder = FileManager.default.temporaryDirectory.path + "/roost-import-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try await body(Stand(folder: folder))
        }

        /// Creates a dump with MongoDB's own encoder.
        ///
        /// - Parameter what: `rows` for objects of ten fields, `app` for an app with all kinds of classes, files and
        ///   users.
        func makeDump(_ count: Int, _ what: String = "rows") async throws {
            let script = Checkout.path("Tests/MigrationTests/make_dump.py")
            let result = try await Subprocess.run(
                .name("python3"), arguments: [script, what, folder + "/dump", "\(count)"],
                environment: .inherit.updating(["PYTHONPATH": Checkout.pythonLibraries]), output: .discarded,
                error: .string(limit: 4096))
            try #require(result.terminationStatus.isSuccess, "\(result.standardError)")
        }

        func command(_ uri: String, _ arguments: [String] = []) throws -> [String] {
            [try CrashServer.findBinary(), "import", folder + "/dump"] + arguments + [
                "--rejects", folder + "/rejects.jsonl", "--databaseURI", uri, "--dataDir", folder + "/data",
            ]
        }

        func run(_ uri: String, _ arguments: [String] = []) async throws -> (status: CrashProcess.End?, output: String)
        {
            let path = folder + "/output-\(UUID().uuidString)"
            let process = try await CrashProcess.start(try command(uri, arguments), output: path)
            _ = try await eventually(within: .seconds(120)) { !process.isRunning }
            return (process.end, try String(contentsOfFile: path, encoding: .utf8))
        }
    }

    /// The rows of all classes and relations, and the class definitions.
    private static func contents(_ server: TestServer) async throws -> [String] {
        let tables = try await server.texts(
            """
            SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
            AND NOT starts_with(relname, '_roost') AND NOT starts_with(relname, 'roost-') ORDER BY 1
            """)
        var contents: [String] = []
        for table in tables {
            contents += try await server.texts(
                """
                SELECT concat_ws(' ', '\(table)', count(*), md5(string_agg(to_jsonb(t)::text, '' ORDER BY to_jsonb(t)::text))) FROM "\(table)" t
                """)
        }
        return contents
    }

    /// Checks that an imported app works for its users.
    private static func isAlive(_ server: TestServer, files: String) async throws {
        for name in ["ann", "bob"] {
            let login = try await server.send(
                "POST", "/login", ["username": .string(name), "password": "correct horse"])
            #expect(login.status == 200, "\(name): \(login.text)")
        }
        let me = try await server.send("GET", "/users/me", as: .session("r:0123456789abcdef0123456789abcdef"))
        #expect(me["objectId"] == "user000001", "\(me.text)")
        let device = try await server.send("GET", "/installations/inst000001", as: .master)
        #expect(device["deviceToken"] == "token-1", "\(device.text)")
        let storage = DiskStorage(directory: files)
        let file = try #require(try await storage.open(name: "abc_photo 1.jpg"))
        var bytes: [UInt8] = []
        try await file.give(0..<file.size) { bytes += $0.readableBytesView }
        #expect(bytes == (0..<1024).map { UInt8(truncatingIfNeeded: $0) })
        #expect(try FileManager.default.contentsOfDirectory(atPath: files).filter { !$0.hasPrefix(".") }.count == 1)
    }

    private static func rows(_ server: TestServer) async throws -> [String] {
        try await server.texts(
            "SELECT count(*)::text || ' ' || coalesce(md5(string_agg(t::text, '' ORDER BY \"objectId\")), '') FROM \"Game\" t"
        )
    }

    @Test("On a terminal, redraws one line with the progress")
    func terminal() async throws {
        let script = Checkout.path("Tests/AppTests/Migration/at_terminal.py")
        try await Stand.run { stand in
            try await stand.makeDump(20)
            let command = try stand.command("postgres://127.0.0.1:1/unused", ["--dry-run"])
            let run = try await ExportFolder.command(["/usr/bin/env", "python3", script, ""] + command, in: "/")
            #expect(run.status == 0, "\(run.output)")
            #expect(run.output.contains("\u{1B}[K") && !run.output.contains("\u{FFFD}"), "\(run.output)")
            let results = "\u{1B}[KGame: 20 objects, 20 rows, 0 rejects\nwould import 20 rows of 1 classes"
            #expect(run.output.contains(results), "\(run.output)")
        }
    }

    @Test("roost import exits with 0, 1 or 64, prints a summary, and changes nothing when repeated")
    func output() async throws {
        try await TestServer.run { server in
            try await Stand.run { stand in
                try await stand.makeDump(200)
                let looked = try await stand.run(server.databaseURI, ["--dry-run"])
                #expect(looked.status == .exit(status: 0), "\(looked.output)")
                #expect(looked.output.contains("Game: 200 objects, 200 rows, 0 rejects"))
                let first = try await stand.run(server.databaseURI)
                #expect(first.status == .exit(status: 0), "\(first.output)")
                #expect(first.output.contains("Game: 200 rows"))
                #expect(first.output.contains("imported 200 rows of 1 classes"))
                let rows = try await Self.rows(server)
                let second = try await stand.run(server.databaseURI, ["--json"])
                #expect(second.status == .exit(status: 0))
                let event = try JSONValue(parsing: second.output)
                #expect(event["alreadyImported"] == true && event["event"] == "done")
                #expect(try await Self.rows(server) == rows)
                try await stand.makeDump(201)
                let full = try await stand.run(server.databaseURI)
                #expect(full.status == .exit(status: 1))
                #expect(full.output.contains("these classes already have objects: Game. --merge"), "\(full.output)")
                #expect(try await stand.run(server.databaseURI, ["--merge"]).status == .exit(status: 0))
                #expect(try await Self.rows(server).first?.hasPrefix("201 ") == true)
                for wrong in [["--type", "Game"], ["--jobs", "0"], ["--type", "Game.x=Nothing"]] {
                    #expect(try await stand.run(server.databaseURI, wrong).status == .exit(status: 64))
                }
            }
        }
    }

    @Test("On a full disk, fails with an error, leaves no partial file, and resumes once there is space")
    func fullDisk() async throws {
        try await TestServer.run { server in
            try await Stand.run { stand in
                let archive = Checkout.path("Tests/MigrationTests/Samples/dump.archive.gz")
                let further = ["--databaseURI", server.databaseURI, "--dataDir", stand.folder + "/data"]
                let roost = [try CrashServer.findBinary(), "import", archive] + further
                // Simulates a full disk by limiting the file size to a few kilobytes.
                let limited = try await ExportFolder.command(
                    ["/bin/sh", "-c", "trap '' XFSZ; ulimit -f 4; exec \"$@\"", "sh"] + roost, in: stand.folder)
                #expect(limited.status == 1, "\(limited.output)")
                #expect(limited.output.contains("it can't be written"), "\(limited.output)")
                let left = try FileManager.default.contentsOfDirectory(atPath: stand.folder + "/data/import")
                #expect(left.isEmpty, "\(left)")
                // The rejects file is written last. Without it, the import is not complete.
                let misfits = Checkout.path("Tests/MigrationTests/Samples/misfits")
                let command = [try CrashServer.findBinary(), "import", misfits] + further
                let untold = try await ExportFolder.command(
                    ["/bin/sh", "-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "sh"] + command, in: stand.folder)
                #expect(untold.status == 1, "\(untold.output)")
                #expect(untold.output.contains("roost-rejects.jsonl: it can't be written"), "\(untold.output)")
                // A link, such as to a device, is not replaced.
                let link = stand.folder + "/roost-rejects.jsonl"
                try FileManager.default.removeItem(atPath: link)
                try FileManager.default.createSymbolicLink(
                    atPath: link, withDestinationPath: stand.folder + "/elsewhere.jsonl")
                let told = try await ExportFolder.command(command, in: stand.folder)
                #expect(told.status == 2, "\(told.output)")
                let rejects = try String(contentsOfFile: stand.folder + "/elsewhere.jsonl", encoding: .utf8)
                #expect(rejects.split(separator: "\n").count == 18)
                let whole = try await ExportFolder.command(roost + ["--replace", "Everything"], in: stand.folder)
                #expect(whole.status == 2, "one index of the sample has no counterpart: \(whole.output)")
                #expect(try await server.texts("SELECT \"objectId\" FROM \"_User\"").count == 2)
            }
        }
    }

    @Test("An import killed ten times and resumed each time gives the same result as an uninterrupted one")
    func killed() async throws {
        try await TestServer.run { server in
            try await TestServer.withDatabase { uri in
                let untouched = TestServer(url: "", databaseURI: uri)
                try await Stand.run { stand in
                    try await stand.makeDump(20_000, "app")
                    let whole = try await stand.run(untouched.databaseURI)
                    // Status 2, because an index of the sample has no equivalent.
                    try #require(whole.status == .exit(status: 2), "\(whole.output)")
                    try FileManager.default.removeItem(atPath: stand.folder + "/data")
                    for number in 0..<10 {
                        let process = try await CrashProcess.start(
                            try stand.command(server.databaseURI), output: stand.folder + "/killed.txt")
                        // Kills each run at a point further along than the previous one.
                        let isThere = try await eventually {
                            let loaded = try? await server.texts(
                                "SELECT coalesce(max(\"documents\"), 0)::text FROM \"roost-import\"")
                            return Int(loaded?.first ?? "") ?? -1 >= number * 2000 || !process.isRunning
                        }
                        #expect(isThere)
                        try await Task.sleep(for: .milliseconds(Int.random(in: 0...150)))
                        kill(process.identifier, SIGKILL)
                        #expect(try await eventually { !process.isRunning })
                        // Before the class is created, the table doesn't exist.
                        let count = (try? await server.texts("SELECT count(*)::text FROM \"Game\""))?.first ?? "0"
                        #expect(["0", "20000"].contains(count), "half of a class was seen: \(count)")
                    }
                    // The database connections of killed processes may outlive them.
                    let isDone = try await eventually {
                        let last = try await stand.run(server.databaseURI)
                        return last.status == .exit(status: 2)
                    }
                    #expect(isDone)
                    #expect(try await Self.contents(server) == Self.contents(untouched))
                    #expect(try await Self.rows(server).first?.hasPrefix("20000 ") == true)
                    try await Self.isAlive(server, files: stand.folder + "/data/files")
                    let left = try await server.texts(
                        "SELECT relname::text FROM pg_class WHERE relname LIKE 'roost-import:%'")
                    #expect(left.isEmpty)
                    let indexes = "SELECT indexdef FROM pg_indexes WHERE tablename = 'Game' ORDER BY 1"
                    #expect(try await server.texts(indexes) == untouched.texts(indexes))
                }
            }
        }
    }
}
