import App
import FileStorage
import Foundation
import JSON
import Migration
import ParseModel
import TestSupport
import Testing

@Suite struct ExportTests {
    private static let everything: JSONObject = [
        "s": "text with \"quotes\" and \u{1F984}", "n": 0.1, "m": -12_345_678_901, "b": false,
        "d": .date("1969-12-31T23:59:59.999Z"),
        "o": ["b": 1, "a": [.null, ["deep": .date("2020-01-01T00:00:00.000Z")]]],
        "l": [1, "two", .pointer("_User", "someone")], "y": ["__type": "Bytes", "base64": "AQID"],
        "g": ["__type": "GeoPoint", "latitude": 52.5, "longitude": 13.4],
        "q": ["__type": "Polygon", "coordinates": [[0, 0], [0, 10], [10, 10], [0, 0]]],
        "f": ["__type": "File", "name": "0_a b.txt", "url": "http://elsewhere/x"],
        "p": .pointer("Everything", "nowhere"), "ACL": ["*": ["read": true], "role:x": ["write": true]],
    ]

    @Test("Exports objects as the REST API returns them, with hidden fields such as password hashes")
    func objects() async throws {
        try await TestServer.run { server in
            let id = try await server.create("Everything", Self.everything, as: .master)
            let other = try await server.create("Everything", ["s": "", "ACL": [:]], as: .master)
            _ = try await server.send(
                "PUT", "/classes/Everything/\(id)", ["r": .operation("AddRelation", [.pointer("Everything", other)])],
                as: .master
            ).succeeded()
            let user = try await server.signUp("kim", ["email": "kim@example.com"])
            _ = try await server.create("_Role", ["name": "x", "ACL": ["*": ["read": true]]], as: .master)
            _ = try await server.send("PUT", "/config", ["params": ["greeting": "hello"]], as: .master).succeeded()
            _ = try await server.send(
                "POST", "/hooks/functions", ["functionName": "f", "url": "https://f.example"], as: .master
            ).succeeded()
            try await ExportFolder.run(server.databaseURI) { folder in
                let report = try await folder.export()
                #expect(report.unreadable.isEmpty)
                let objects = try folder.objects("Everything.json")
                #expect(Set(objects.keys) == [id, other])
                for (id, object) in objects {
                    var shown = try await server.send("GET", "/classes/Everything/\(id)", as: .master).json
                    if case .object(var members) = shown, members["f"] != nil {
                        members["f"] = [
                            "__type": "File", "name": "0_a b.txt",
                            "url": "http://files.example/parse/files/testApp/0_a%20b.txt",
                        ]
                        shown = .object(members)
                    }
                    #expect(same(object, shown), "\(object.text) is not \(shown.text)")
                }
                #expect(
                    try folder.json("_Join:r:Everything.json") == [
                        "results": [["owningId": .string(id), "relatedId": .string(other)]]
                    ])
                let kim = try #require(try folder.objects("_User.json")[user.id])
                let hash = try await server.texts("SELECT \"_hashed_password\" FROM \"_User\"")
                #expect(kim["_hashed_password"]?.stringValue == hash.first)
                #expect(kim["email"] == "kim@example.com")
                let session = try #require(try folder.objects("_Session.json").values.first)
                #expect(session["sessionToken"]?.stringValue == user.token)
                #expect(session["user"] == .pointer("_User", user.id))
                #expect(try folder.objects("_GlobalConfig.json")["1"]?["params"]?["greeting"] == "hello")
                #expect(
                    try folder.json("_Hooks.json") == [
                        "results": [["functionName": "f", "url": "https://f.example"]]
                    ])
                #expect(try folder.entries("out").isSuperset(of: ["_Audience.json", "_JobSchedule.json"]))
                let manifest = try folder.json("roost-export.json")
                #expect(manifest["format"] == "roost-export")
                #expect(manifest["version"] == 1)
                #expect(manifest["isWhole"] == true)
                #expect(manifest["appId"] == "testApp")
                #expect(manifest["classes"]?["Everything"] == ["file": "Everything.json", "rows": 2])
                #expect(manifest["classes"]?["_Join:r:Everything"]?["rows"] == 1)
            }
        }
    }

    @Test("Exports classes in the schemas API's format, with permissions, indexes and field options")
    func schema() async throws {
        try await TestServer.run { server in
            let made: JSONValue = [
                "className": "Song",
                "fields": [
                    "title": ["type": "String", "required": true, "defaultValue": "none"],
                    "fans": ["type": "Relation", "targetClass": "_User"],
                ],
                "classLevelPermissions": ["find": ["*": true], "get": ["requiresAuthentication": true]],
                "indexes": ["byTitle": ["title": -1]],
            ]
            _ = try await server.send("POST", "/schemas", made, as: .master).succeeded()
            _ = try await server.create("Plain", ["a": 1])
            try await ExportFolder.run(server.databaseURI) { folder in
                try await folder.export()
                let classes = try folder.json("_SCHEMA.json")["results"]?.arrayValue ?? []
                let names = classes.compactMap { $0["className"]?.stringValue }
                #expect(names == names.sorted())
                let song = try #require(classes.first { $0["className"] == "Song" })
                let shown = try await server.send("GET", "/schemas/Song", as: .master).json
                #expect(same(song["fields"], shown["fields"]))
                #expect(song["classLevelPermissions"]?["get"] == ["requiresAuthentication": true])
                #expect(song["indexes"]?["byTitle"] == ["title": -1])
                let plain = try #require(classes.first { $0["className"] == "Plain" })
                #expect(plain["classLevelPermissions"] == nil, "none were ever set")
                #expect(try folder.json("_Join:fans:Song.json") == ["results": []])
            }
        }
    }

    /// Values that clients can't create but old databases may contain.
    private static let oddities = """
        CREATE TABLE "_SCHEMA" ("className" varchar(120) PRIMARY KEY, "schema" jsonb, "isParseClass" bool);
        INSERT INTO "_SCHEMA" VALUES ('Odd', '{"fields": {"n": {"type": "Number"}, "t": {"type": "Number"},
            "gone": {"type": "String"}}}', true), ('NoTable', '{"fields": {}}', true);
        CREATE TABLE "Odd" ("objectId" text PRIMARY KEY, "createdAt" timestamptz, "updatedAt" timestamptz,
            "_rperm" text[], "_wperm" text[], "n" float8, "t" text, "left" int8, "raw" bytea,
            "twice" float8 GENERATED ALWAYS AS (n * 2) STORED);
        INSERT INTO "Odd" ("objectId", "n", "t", "left", "raw", "_rperm", "_wperm") VALUES
            ('nan', 'NaN', 'five', 9007199254740993, '\\x0102', NULL, '{a}'),
            ('infinite', '-Infinity', NULL, NULL, NULL, '{}', '{}'),
            ('order', 1, NULL, NULL, NULL, '{a,b}', '{b,a}'),
            ('plain', 1, NULL, NULL, NULL, '{a,b}', '{a,b,c}');
        """

    @Test("Keeps what REST can't express: NaN, mistyped or undeclared columns, permissions beyond ACLs")
    func oddities() async throws {
        try await TestServer.withDatabase { uri in
            try await TestServer.execute(Self.oddities, on: uri)
            try await ExportFolder.run(uri) { folder in
                try await folder.export()
                let rows = try folder.objects("Odd.json")
                let nan: JSONValue = [
                    "objectId": "nan", "n": ["$numberDouble": "NaN"], "t": "five", "left": 9_007_199_254_740_993,
                    "raw": "\\x0102", "ACL": ["a": ["write": true]], "_rperm": .null, "_wperm": ["a"],
                ]
                #expect(same(rows["nan"], nan), "\(rows["nan"]?.text ?? "")")
                let text = try String(contentsOfFile: folder.path + "/out/Odd.json", encoding: .utf8)
                #expect(text.contains("9007199254740993"), "all digits")
                #expect(rows["infinite"]?["n"] == ["$numberDouble": "-Infinity"])
                #expect(rows["infinite"]?["ACL"] == [:])
                #expect(rows["infinite"]?["_rperm"] == nil)
                #expect(rows["order"]?["_wperm"] == ["b", "a"])
                #expect(rows["plain"]?["_wperm"] == nil)
                #expect(try folder.json("NoTable.json") == ["results": []])
            }
        }
    }

    @Test("Copies files decrypted with metadata and valid checksums, and reports unreadable ones")
    func files() async throws {
        try await TestServer.run { server in
            try await ExportFolder.run(server.databaseURI) { folder in
                let disk = DiskStorage(directory: folder.path + "/data/files")
                let storage = EncryptedStorage(disk, cipher: FileCipher(secret: "key"))
                let large = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
                try await storage.write(name: "0_a b.txt", bytes: Array("hello".utf8))
                try await storage.write(
                    name: "dir/large.bin", details: FileDetails(metadata: ["a": 1], tags: ["t": "x"]), bytes: large)
                try await disk.write(name: "foreign.txt", bytes: Array("not encrypted, and long enough to try".utf8))
                let report = try await folder.export("out", ["--encryptionKey", "key"])
                #expect(report.unreadable == ["foreign.txt"])
                #expect(report.files.count == 2)
                let copy = DiskStorage(directory: folder.path + "/out/files")
                let stored = try #require(try await copy.open(name: "dir/large.bin"))
                var bytes: [UInt8] = []
                try await stored.give(0..<stored.size) { bytes += $0.readableBytesView }
                #expect(bytes == large)
                #expect(
                    try await copy.details(name: "dir/large.bin")
                        == FileDetails(metadata: ["a": 1], tags: ["t": "x"]))
                let check = try await ExportFolder.command(
                    ["/usr/bin/sha256sum", "--quiet", "--strict", "-c", "SHA256SUMS"], in: folder.path + "/out")
                #expect(check.status == 0, "\(check.output)")
                #expect(try folder.json("roost-export.json")["files"]?["unreadable"] == ["foreign.txt"])
                try await folder.export("without") { $0.withFiles = false }
                let without = try folder.entries("without")
                #expect(!without.contains("files"))
            }
        }
    }

    @Test("Exports all classes from one snapshot while clients write")
    func oneMoment() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Alpha", ["pair": 0])
            _ = try await server.create("Omega", ["pair": 0])
            try await server.execute(
                """
                INSERT INTO "Alpha" ("objectId", "pair") SELECT 'a' || i, i FROM generate_series(1, 20000) i;
                INSERT INTO "Omega" ("objectId", "pair") SELECT 'o' || i, i FROM generate_series(1, 20000) i;
                """)
            let stop = StopSign()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask {
                    var number = 20001
                    while !stop.isShown {
                        try await server.execute(
                            """
                            BEGIN; INSERT INTO "Alpha" ("objectId", "pair") VALUES ('a\(number)', \(number));
                            INSERT INTO "Omega" ("objectId", "pair") VALUES ('o\(number)', \(number));
                            DELETE FROM "Alpha" WHERE "objectId" = 'a\(number - 20000)';
                            DELETE FROM "Omega" WHERE "objectId" = 'o\(number - 20000)'; COMMIT;
                            """)
                        number += 1
                    }
                }
                defer { stop.show() }
                try await ExportFolder.run(server.databaseURI) { folder in
                    _ = try await folder.export { $0.classes = ["Omega", "Alpha"] }
                    func pairs(_ name: String) throws -> [Double] {
                        try folder.objects(name).values.compactMap { $0["pair"]?.numberValue }.sorted()
                    }
                    let alpha = try pairs("Alpha.json")
                    #expect(alpha.count >= 20000)
                    #expect(try pairs("Omega.json") == alpha)
                    let entries = try folder.entries("out")
                    #expect(!entries.contains("_User.json"))
                    #expect(try folder.json("_SCHEMA.json")["results"]?.arrayValue?.count == 2)
                }
                stop.show()
                try await tasks.waitForAll()
            }
        }
    }

    @Test("With the since option, exports only objects updated since then or without an update time")
    func since() async throws {
        try await TestServer.run { server in
            let old = try await server.create("Song", ["title": "old"])
            let new = try await server.create("Song", ["title": "new"])
            try await server.execute(
                """
                UPDATE "Song" SET "updatedAt" = '2020-01-01T00:00:00Z' WHERE "objectId" = '\(old)';
                INSERT INTO "_JobStatus" ("objectId", "jobName", "updatedAt") VALUES ('job', 'j', NULL);
                """)
            try await ExportFolder.run(server.databaseURI) { folder in
                try await folder.export { $0.since = ParseDate(iso: "2020-01-01T00:00:00.001Z") }
                #expect(Set(try folder.objects("Song.json").keys) == [new])
                #expect(Set(try folder.objects("_JobStatus.json").keys) == ["job"])
                #expect(try folder.json("roost-export.json")["since"] == "2020-01-01T00:00:00.001Z")
                #expect(try folder.json("roost-export.json")["isWhole"] == false)
                try await folder.export("all") { $0.since = ParseDate(iso: "2020-01-01T00:00:00.000Z") }
                #expect(Set(try folder.objects("Song.json", in: "all").keys) == [old, new])
            }
        }
    }

    @Test("Refuses missing classes, non-empty targets and databases without classes, and leaves no files")
    func refusals() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["title": "x"])
            try await ExportFolder.run(server.databaseURI) { folder in
                await #expect(throws: DatabaseExport.Refusal.self) {
                    try await folder.export { $0.classes = ["Song", "Nothing"] }
                }
                try FileManager.default.createDirectory(
                    atPath: folder.path + "/full/inner", withIntermediateDirectories: true)
                await #expect(throws: CommandFailure.self) { try await folder.export("full") }
                await #expect(throws: CommandFailure.self) { try await folder.export("full/inner/../../full") }
                try Data().write(to: URL(fileURLWithPath: folder.path + "/file"))
                await #expect(throws: CommandFailure.self) { try await folder.export("file") }
                #expect(try folder.entries() == ["data", "full", "file"])
                // An empty target folder is allowed.
                try FileManager.default.createDirectory(
                    atPath: folder.path + "/empty", withIntermediateDirectories: true)
                try await folder.export("empty")
                #expect(try folder.objects("Song.json", in: "empty").count == 1)
                #expect(try folder.entries() == ["data", "full", "file", "empty"])
            }
        }
        try await TestServer.withDatabase { uri in
            try await ExportFolder.run(uri) { folder in
                await #expect(throws: DatabaseExport.Refusal.self) { try await folder.export() }
                let entries = try folder.entries()
                #expect(entries == ["data"])
            }
        }
    }
}
