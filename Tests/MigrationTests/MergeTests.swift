import FileStorage
import Foundation
import JSON
import Migration
import TestSupport
import Testing

/// Imports into classes with objects, and repeated imports.
@Suite struct MergeTests {
    private static func object(_ id: String, _ title: String, _ day: Int) -> String {
        "{\"objectId\":\"\(id)\",\"title\":\"\(title)\",\"createdAt\":\"2020-01-0\(day)T00:00:00.000Z\","
            + "\"updatedAt\":\"2020-01-0\(day)T00:00:00.000Z\"}\n"
    }

    private static func titles(_ server: TestServer) async throws -> [String] {
        try await server.texts("SELECT \"objectId\" || ' ' || \"title\" FROM \"Song\" ORDER BY 1")
    }

    @Test("Refuses an import before loading anything if a selected class already has objects")
    func full() async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                try folder.write("Song.json", Self.object("s1", "one", 1))
                try await folder.load(into: server)
                try folder.write("Song.json", Self.object("s2", "two", 1))
                try folder.write("Album.json", Self.object("a1", "album", 1))
                let refusal = await #expect(throws: ImportRun.Refusal.self) { try await folder.load(into: server) }
                #expect(refusal?.description.contains("these classes already have objects: Song.") == true)
                #expect(try await Self.titles(server) == ["s1 one"])
                #expect(try await server.send("GET", "/schemas/Album", as: .master).status != 200)
                // Classes that weren't selected are not read.
                try await folder.load(into: server) { $0.classes = ["Album"] }
                #expect(try await server.find("Album")["results"]?.arrayValue?.count == 1)
                #expect(try await Self.titles(server) == ["s1 one"])
            }
        }
    }

    @Test("Merging keeps the version of an object that changed last, and merging again changes nothing")
    func merge() async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                try folder.write(
                    "Song.json",
                    Self.object("s1", "old", 2) + Self.object("s2", "new", 5) + Self.object("s3", "same", 3))
                try await folder.load(into: server)
                try folder.write(
                    "Song.json",
                    Self.object("s1", "newer", 3) + Self.object("s2", "older", 4) + Self.object("s3", "equal", 3)
                        + Self.object("s4", "fresh", 1))
                for _ in 0..<2 {
                    let report = try await folder.load(into: server) { $0.merges = true }
                    #expect(report.exitCode == 0)
                    #expect(try await Self.titles(server) == ["s1 newer", "s2 new", "s3 same", "s4 fresh"])
                }
                let again = try await folder.load(into: server)
                #expect(again.wasDone)
                let made = try await server.send("POST", "/classes/Song", ["title": "by a client"])
                #expect(made.status == 201)
            }
        }
    }

    @Test("Replacing a class leaves only the source's objects, and keeps its columns and indexes")
    func replace() async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                _ = try await server.send(
                    "POST", "/schemas",
                    [
                        "className": "Song", "fields": ["title": ["type": "String"], "plays": ["type": "Number"]],
                        "indexes": ["byTitle": ["title": 1]],
                    ], as: .master)
                _ = try await server.create("Song", ["title": "gone", "plays": 3])
                let indexes = "SELECT indexname || indexdef FROM pg_indexes WHERE tablename = 'Song' ORDER BY 1"
                let before = try await server.texts(indexes)
                try folder.write("Song.json", Self.object("s1", "one", 1))
                try await folder.load(into: server) { $0.replaces = ["Song"] }
                #expect(try await Self.titles(server) == ["s1 one"])
                #expect(try await server.texts(indexes) == before)
                #expect(before.contains { $0.contains("byTitle") })
                let song = try await server.send("PUT", "/classes/Song/s1", ["plays": 4])
                #expect(song.status == 200, "columns of the class that the source lacks are still there")
            }
        }
    }

    @Test("A view on a class still works after the class was replaced")
    func dependents() async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                _ = try await server.create("Song", ["title": "gone"])
                try await server.execute("CREATE VIEW song_titles AS SELECT \"title\" FROM \"Song\"")
                try folder.write("Song.json", Self.object("s1", "one", 1))
                try await folder.load(into: server) { $0.replaces = ["Song"] }
                #expect(try await server.texts("SELECT \"title\" FROM song_titles") == ["one"])
            }
        }
    }

    @Test("Merging leaves out and reports users whose names are taken, or with --strict merges no user")
    func conflicts() async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                let ann = try await server.signUp("ann")
                try folder.write(
                    "_User.json",
                    "{\"objectId\":\"u1\",\"username\":\"ann\"}\n{\"objectId\":\"u2\",\"username\":\"bob\"}\n")
                let strict = try await folder.load(into: server) { ($0.merges, $0.isStrict) = (true, true) }
                #expect(strict.exitCode == 1 && strict.classes.first?.failure?.contains("unique value") == true)
                #expect(try await server.texts("SELECT \"objectId\" FROM \"_User\"") == [ann.id])
                let report = try await folder.load(into: server) { $0.merges = true }
                #expect(report.exitCode == 2 && report.classes.first?.rows == 1)
                let line = try #require(try folder.rejects().first)
                #expect(line["id"] == "u1" && line["class"] == "_User")
                let names = try await server.texts(
                    "SELECT \"objectId\" || \"username\" FROM \"_User\" ORDER BY \"username\"")
                #expect(names == [ann.id + "ann", "u2bob"])
            }
        }
    }

    @Test("Merging keeps an object whose newer version violates a unique index, and reports it")
    func conflictingChanges() async throws {
        @Sendable func user(_ id: String, _ name: String, _ day: Int) -> String {
            "{\"objectId\":\"\(id)\",\"username\":\"\(name)\",\"updatedAt\":\"2020-01-0\(day)T00:00:00.000Z\"}\n"
        }
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                try folder.write("_User.json", user("u1", "ann", 1) + user("u2", "bob", 1) + user("u3", "eve", 1))
                try await folder.load(into: server)
                try folder.write("_User.json", user("u1", "bob", 2) + user("u2", "bob", 1) + user("u3", "zoe", 2))
                let report = try await folder.load(into: server) { $0.merges = true }
                #expect(report.isComplete && report.exitCode == 2, "\(report.json.text)")
                #expect(try folder.rejects().map { $0["id"] } == ["u1"])
                let names = try await server.texts(
                    "SELECT \"objectId\" || \"username\" FROM \"_User\" ORDER BY 1")
                #expect(names == ["u1ann", "u2bob", "u3zoe"])
            }
        }
    }

    @Test("Merging system classes again changes nothing, and replacing them restores the source's objects")
    func systemClasses() async throws {
        let tables = [
            "Everything", "_Join:r:Everything", "_User", "_Session", "_Role", "_Join:users:_Role", "_Hooks",
            "_Installation", "_GlobalConfig", "_Audience", "_JobSchedule", "_PushStatus",
        ]
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                let source = ImportFolder.samples + "/dump"
                try await folder.load(source, into: server)
                var before: [[String]] = []
                for table in tables { before.append(try await server.table(table)) }
                for _ in 0..<2 {
                    let report = try await folder.load(source, into: server) { $0.merges = true }
                    #expect(report.isComplete && report.rejectCount == 0, "\(report.json.text)")
                    for (table, rows) in zip(tables, before) {
                        #expect(try await server.table(table) == rows, "\(table) was merged")
                    }
                }
                let stranger = try await server.signUp("stranger")
                _ = try await server.send("PUT", "/config", ["params": ["greeting": "bye", "x": 1]], as: .master)
                _ = try await server.create("_Audience", ["name": "none", "query": "{}"], as: .master)
                let indexes = "SELECT indexdef FROM pg_indexes WHERE tablename LIKE '\\_%' ORDER BY 1"
                let made = try await server.texts(indexes)
                let report = try await folder.load(source, into: server) {
                    $0.replaces = Set(tables.map { Name($0) }.filter { !$0.hasPrefix("_Join:") })
                }
                #expect(report.isComplete && report.rejectCount == 0, "\(report.json.text)")
                for (table, rows) in zip(tables, before) {
                    #expect(try await server.table(table) == rows, "\(table) was replaced")
                }
                #expect(try await server.texts(indexes) == made)
                let gone = try await server.send("GET", "/users/\(stranger.id)", as: .master)
                #expect(gone.status == 404)
                let login = try await server.send("POST", "/login", ["username": "ann", "password": "correct horse"])
                #expect(login.status == 200, "\(login.text)")
                #expect(try await server.send("GET", "/config", as: .master)["params"]?["greeting"] == "hello")
            }
        }
    }

    @Test("Refuses an import whose options name a class that the source doesn't have")
    func unknownClass() async throws {
        let changes: [@Sendable (inout ImportOptions) -> Void] = [
            { $0.classes = ["Sogn"] }, { $0.replaces = ["Sogn", "Song"] }, { $0.types = ["Sogn": ["a": .number]] },
        ]
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                try folder.write("Song.json", Self.object("s1", "one", 1))
                for change in changes {
                    let refusal = await #expect(throws: ImportRun.Refusal.self) {
                        try await folder.load(into: server, change)
                    }
                    #expect(refusal?.description == "the source has no class Sogn")
                }
            }
        }
    }

    @Test("Imports users with the same name, and reports that the unique index can't be created")
    func uniqueIndex() async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                try folder.write(
                    "_User.json",
                    "{\"objectId\":\"u1\",\"username\":\"ann\"}\n{\"objectId\":\"u2\",\"username\":\"ann\"}\n")
                let report = try await folder.load(into: server)
                #expect(report.exitCode == 2 && report.classes.first?.rows == 2)
                let reason = try #require(try folder.rejects().first?["reason"]?.stringValue)
                #expect(reason.contains("the index _User_unique_username can't be created"))
                #expect(try await server.texts("SELECT \"username\" FROM \"_User\"") == ["ann", "ann"])
            }
        }
    }

    @Test("Refuses an import before loading anything if a field's type differs from the class's")
    func otherType() async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                _ = try await server.send(
                    "POST", "/schemas", ["className": "Song", "fields": ["title": ["type": "Number"]]], as: .master)
                try folder.write("Song.json", Self.object("s1", "one", 1))
                let refusal = await #expect(throws: ImportRun.Refusal.self) { try await folder.load(into: server) }
                #expect(refusal?.description.contains("schema mismatch for Song.title") == true)
                #expect(try await server.table("Song").isEmpty)
            }
        }
    }

    @Test("Leaves out and reports invalid class and field names and unknown relations")
    func names() async throws {
        let long = String(repeating: "x", count: 64)
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                try folder.write("\(long).json", Self.object("s1", "one", 1))
                try folder.write("1st.json", Self.object("s1", "one", 1))
                try folder.write("_Join:nothing:Song.json", "{\"owningId\":\"s1\",\"relatedId\":\"s2\"}")
                try folder.write(
                    "Song.json", "{\"objectId\":\"s1\",\"\(long)\":1,\"a.b\":2,\"$c\":3,\"ctid\":4,\"ok\":5}")
                try folder.write("song.json", "{\"objectId\":\"s1\",\"ok\":6}")
                let report = try await folder.load(into: server)
                #expect(report.exitCode == 2)
                let notes = report.notes.joined(separator: "\n")
                for expected in [
                    "\(long) is skipped: its name is longer than 63 bytes",
                    "1st is skipped: its name is not a valid class name",
                    "_Join:nothing:Song is skipped: no class of the source has this relation",
                    "Song.a.b has an invalid field name",
                    "Song.\(long) has a name that is longer than 63 bytes",
                ] { #expect(notes.contains(expected), "\(notes)") }
                let told = try folder.rejects().map { $0["field"]?.stringValue ?? "" }
                #expect(Set(told) == [long, "a.b", "$c", "ctid"])
                #expect(try await server.row("Song", "s1")["ok"] == 5)
                #expect(try await server.row("song", "s1")["ok"] == 6, "names are told apart by their case")
            }
        }
    }

    @Test("An import that failed while storing files resumes with them, and is done only then")
    func files() async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                try folder.write("Song.json", Self.object("s1", "one", 1) + "{\"title\":\"no id\"}")
                try folder.write("files/a.txt", "first")
                try folder.write("files/b.txt", "second")
                // A folder instead of the file.
                let obstacle = folder.path + "/files/b.txt"
                try FileManager.default.createDirectory(
                    atPath: obstacle + "/inner", withIntermediateDirectories: true)
                for _ in 0..<2 {
                    await #expect(throws: (any Error).self) { try await folder.load(into: server) }
                    #expect(try await Self.titles(server) == ["s1 one"])
                }
                try FileManager.default.removeItem(atPath: obstacle)
                let report = try await folder.load(into: server)
                #expect(!report.wasDone && report.files == 1, "\(report.json.text)")
                #expect(try folder.rejects().count == 1, "what is told is not lost either")
                #expect(try await folder.files.open(name: "a.txt")?.size == 5)
                #expect(try await folder.files.open(name: "b.txt")?.size == 6)
                #expect(try await folder.load(into: server).wasDone)
            }
        }
    }

    @Test("Restarts an unfinished import if a newly set type adds a field")
    func begunOtherwise() async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                try folder.write(
                    "Song.json", "{\"objectId\":\"s1\",\"mixed\":1}\n{\"objectId\":\"s2\",\"mixed\":\"x\"}")
                let stopped = try await folder.load(into: server) { $0.isStrict = true }
                #expect(stopped.exitCode == 1)
                let report = try await folder.load(into: server) { $0.types = ["Song": ["mixed": .number]] }
                #expect(report.isComplete && report.rejectCount == 1, "\(report.json.text)")
                #expect(try await server.row("Song", "s1")["mixed"] == 1)
            }
        }
    }

    @Test("Refuses an import while another import into the database is running")
    func twoAtOnce() async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                try await server.whileLocked("SELECT pg_advisory_lock(\(0x526F_6F73_744D))") {
                    try folder.write("Song.json", Self.object("s1", "one", 1))
                    let refusal = await #expect(throws: ImportRun.Refusal.self) { try await folder.load(into: server) }
                    #expect(refusal?.description == "another import into this database is running")
                }
            }
        }
    }

    @Test("Of two simultaneous imports, one completes and the other is refused or finds it done")
    func sideBySide() async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                let objects = (1...3000).map { Self.object("s\($0)", "t", 1) }.joined()
                try folder.write("Song.json", objects)
                let outcomes = await withTaskGroup(of: String.self) { group in
                    for _ in 0..<2 {
                        group.addTask {
                            do {
                                return try await folder.load(into: server).wasDone ? "found done" : "done"
                            } catch {
                                return "\(error)"
                            }
                        }
                    }
                    var outcomes: [String] = []
                    for await outcome in group { outcomes.append(outcome) }
                    return outcomes.sorted()
                }
                #expect(
                    outcomes == ["another import into this database is running", "done"]
                        || outcomes == ["done", "found done"], "\(outcomes)")
                #expect(try await server.table("Song").count == 3000)
            }
        }
    }
}
