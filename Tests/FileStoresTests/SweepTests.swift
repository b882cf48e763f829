import FileStorage
import FileStores
import Foundation
import JSON
import Logging
import ParseStorage
import Postgres
import TestSupport
import Testing

/// Files that no object mentions.
@Suite("Orphans among files")
struct SweepTests {
    private static func sweep(
        _ storage: any FileStorage, _ uri: String, olderThan seconds: Int = -10, deletes: Bool = false,
        _ found: (ListedFile) -> Void = { _ in }
    ) async throws -> [String] {
        let client = PostgresClient(
            configuration: PostgresConfiguration(connectionString: uri), logger: TestServer.quietLogger)
        try await client.start()
        let sweep = FileSweep(storage, FileReferences(client: client), olderThan: seconds)
        do {
            let report = try await sweep.run(deletes: deletes, found)
            await client.shutdown()
            return report.orphans.map(\.name).sorted()
        } catch {
            await client.shutdown()
            throw error
        }
    }

    @Test("Mentions are fields, nested files, the configuration and addresses in texts; all else is an orphan")
    func mentions() async throws {
        let folder = DiskStorage(
            directory: FileManager.default.temporaryDirectory.path + "/roost-sweep-\(UUID().uuidString)")
        for name in ["field.txt", "nested.txt", "listed.txt", "global.txt", "dir/in text.txt", "orphan.txt"] {
            try await folder.write(name: name, bytes: [1])
        }
        try await TestServer.run { server in
            func file(_ name: String) -> JSONValue { ["__type": "File", "name": .string(name)] }
            _ = try await server.create(
                "Song",
                [
                    "cover": file("field.txt"), "extra": ["deep": ["cover": file("nested.txt")]],
                    "list": [[file("listed.txt")]],
                    "note": "see http://x.example/parse/files/app/dir/in%20text.txt, or not",
                    "other": "orphan.txt is no mention",
                ])
            _ = try await server.send("PUT", "/config", ["params": ["logo": file("global.txt")]], as: .master)
                .succeeded()
            let recent = try await Self.sweep(folder, server.databaseURI, olderThan: 3600)
            #expect(recent.isEmpty)
            let found = try await Self.sweep(folder, server.databaseURI)
            #expect(found == ["orphan.txt"])
            let all = try await folder.names()
            #expect(all.count == 6)
            _ = try await Self.sweep(folder, server.databaseURI, deletes: true)
            let left = try await folder.names()
            #expect(left.count == 5)
            #expect(!left.contains("orphan.txt"))
        }
    }

    @Test("Files of an object that lies in the trash of the console are kept")
    func trash() async throws {
        let folder = DiskStorage(
            directory: FileManager.default.temporaryDirectory.path + "/roost-sweep-\(UUID().uuidString)")
        for name in ["field.txt", "nested.txt", "text.txt", "orphan.txt"] {
            try await folder.write(name: name, bytes: [1])
        }
        try await TestServer.run { server in
            func file(_ name: String) -> JSONValue { ["__type": "File", "name": .string(name)] }
            let song = try await server.create(
                "Song",
                [
                    "cover": file("field.txt"), "extra": ["cover": file("nested.txt")],
                    "note": "http://x.example/parse/files/app/text.txt",
                ])
            let root = server.url.dropLast("/parse".count) + "/console/api"
            let session = try await server.send(
                "POST", root + "/session", ["masterKey": .string(TestServer.masterKey)], as: .nobody)
            let deleted = try await server.send(
                "DELETE", root + "/parse/classes/Song/\(song)", as: .nobody,
                headers: [
                    "X-Roost-Console": session.string("token"),
                    "Cookie": String(try #require(session.headers["set-cookie"]).prefix { $0 != ";" }),
                ])
            try #require(deleted.headers["x-roost-trash"] != nil, "\(deleted.text)")
            #expect(try await Self.sweep(folder, server.databaseURI) == ["orphan.txt"])
        }
    }

    @Test("A mention that goes from one class to another while they are read keeps its file")
    func moved() async throws {
        let folder = DiskStorage(
            directory: FileManager.default.temporaryDirectory.path + "/roost-sweep-\(UUID().uuidString)")
        for name in ["kept.txt", "moved.txt", "orphan.txt"] { try await folder.write(name: name, bytes: [1]) }
        try await TestServer.run { server in
            func file(_ name: String) -> JSONValue { ["__type": "File", "name": .string(name)] }
            let first = try await server.create("Apple", ["cover": file("kept.txt")])
            _ = try await server.create("Zebra", ["cover": file("moved.txt")])
            let sweep = try await server.whileLocked(
                "LOCK TABLE \"Zebra\" IN ACCESS EXCLUSIVE MODE",
                last: "UPDATE \"Zebra\" SET \"cover\" = NULL", commits: true
            ) {
                let sweep = Task { try await Self.sweep(folder, server.databaseURI, deletes: true) }
                // It has read the other class.
                let waits = try await server.waitsForLocks()
                #expect(waits)
                try await server.execute(
                    "UPDATE \"Apple\" SET \"cover\" = 'moved.txt' WHERE \"objectId\" = '\(first)'")
                try await server.execute(
                    """
                    INSERT INTO "Apple" ("objectId", "createdAt", "updatedAt", "cover")
                    VALUES ('second', now(), now(), 'kept.txt')
                    """)
                return sweep
            }
            let removed = try await sweep.value
            #expect(removed == ["orphan.txt"])
            let left = try await folder.names().sorted()
            #expect(left == ["kept.txt", "moved.txt"])
        }
    }

    @Test("A file that is stored anew while others are removed stays")
    func renewed() async throws {
        let folder = DiskStorage(
            directory: FileManager.default.temporaryDirectory.path + "/roost-sweep-\(UUID().uuidString)")
        let names = ["kept.txt", "one.txt", "two.txt"]
        for name in names {
            try await folder.write(name: name, bytes: [1])
            try FileManager.default.setAttributes(
                [.modificationDate: Date().addingTimeInterval(-86_400)], ofItemAtPath: "\(folder.directory)/\(name)")
        }
        try await TestServer.run { server in
            _ = try await server.create("Song", ["cover": ["__type": "File", "name": "kept.txt"]])
            // While the one that comes first is removed, a client stores the other.
            let removed = try await Self.sweep(folder, server.databaseURI, olderThan: 3600, deletes: true) { file in
                let other = file.name == "one.txt" ? "two.txt" : "one.txt"
                try? Data([2]).write(to: URL(fileURLWithPath: "\(folder.directory)/\(other)"))
            }
            #expect(removed.count == 1)
            let left = try await folder.names()
            #expect(left.count == 2)
            for name in left where name != "kept.txt" {
                let bytes = try await folder.read(name)
                #expect(bytes == [2])
            }
        }
    }

    @Test("Names in texts are found behind the path of files, with what follows cut off")
    func texts() {
        for (text, name) in [
            ("http://a/parse/files/app/x_y.txt", "x_y.txt"), ("<img src=\"/files/app/a%20b.png\">", "a b.png"),
            ("(http://a/files/app/x.txt).", "x.txt"), ("/files/app/dir/x.txt?v=1", "dir/x.txt"),
            ("see http://a/files/app/x.txt.", "x.txt"), ("http://a/files/app/x.txt!", "x.txt"),
            ("http://a/files/app/x'(1).txt", "x'(1).txt"), ("http://a/files/app/x.txt\u{3000}", "x.txt"),
            (#"{"a":"{\"url\":\"http://a/files/app/x.txt\"}"}"#, "x.txt"),
            ("http://a/files/app/x.txt,http://a/files/app/y.txt", "y.txt"),
            ("https://bucket.s3.amazonaws.com/x.txt", "x.txt"),
            ("https://cdn.example/bucket/prefix/dir/x%20y.txt", "dir/x y.txt"),
        ] {
            var names: Set<String> = []
            FileSweep.Mentioned.visitNames(in: text) { names.insert($0) }
            #expect(names.contains(name), "\(text)")
        }
        FileSweep.Mentioned.visitNames(in: "/files/") { Issue.record("\($0) is no name") }
    }

    @Test("How many names a text may mean grows with its length, and none of them is long", arguments: [5000, 10_000])
    func manyTexts(count: Int) {
        var (names, longest) = (0, 0)
        FileSweep.Mentioned.visitNames(in: String(repeating: "/files/a/,", count: count)) { name in
            names += 1
            longest = max(longest, name.utf8.count)
        }
        #expect(names <= count * 17 && longest <= 3072)
    }

    @Test("A database that mentions no file at all is another's, and nothing is removed")
    func another() async throws {
        let folder = DiskStorage(
            directory: FileManager.default.temporaryDirectory.path + "/roost-sweep-\(UUID().uuidString)")
        try await folder.write(name: "a.txt", bytes: [1])
        try await TestServer.run { server in
            let found = try await Self.sweep(folder, server.databaseURI)
            #expect(found == ["a.txt"])
            await #expect(throws: FileSweep.NothingMentioned.self) {
                _ = try await Self.sweep(folder, server.databaseURI, deletes: true)
            }
            let left = try await folder.names()
            #expect(left == ["a.txt"])
        }
    }
}
