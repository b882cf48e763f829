import FileStorage
import Foundation
import JSON
import TestSupport
import TestTools
import Testing

/// `roost export` and `roost import` of its output preserve all rows and files.
@Suite struct BetweenRoostsTests {
    /// Values that only SQL can create.
    private static let oddities = """
        INSERT INTO "Everything" ("objectId", "createdAt", "updatedAt", "n", "_rperm", "_wperm", "d") VALUES
            ('odd0000001', '2020-01-01T00:00:00.001Z', '2020-01-01T00:00:00.002Z', 'NaN', NULL, '{a}', NULL),
            ('odd0000002', '2020-01-01T00:00:00.003Z', NULL, '-Infinity', '{a,b}', '{b,a}', '12020-01-01T00:00:00Z'),
            ('odd0000003', '2020-01-01T00:00:00.003Z', NULL, 1e300, '{}', '{}', '0020-01-01T00:00:00Z BC'),
            ('odd0000004', NULL, NULL, 0.1, '{}', NULL, NULL);
        UPDATE "_User" SET "_failed_login_count" = 2, "_perishable_token" = 'token',
            "_perishable_token_expires_at" = '2030-01-01T00:00:00.123Z', "_password_history" = '["$2b$10$x"]',
            "_account_lockout_expires_at" = '2030-01-01T00:00:00.5Z', "_password_changed_at" = '2020-01-01T00:00:00Z',
            "_email_verify_token" = 'verify', "authData" = '{"anonymous": {"id": "one"}, "facebook": null}';
        INSERT INTO "_JobSchedule" ("objectId", "createdAt", "jobName", "params", "daysOfWeek", "repeatMinutes")
            VALUES ('job0000001', '2020-01-01T00:00:00Z', 'clean', '{}', '["1","2"]', 5);
        INSERT INTO "_JobStatus" ("objectId", "createdAt", "jobName", "params", "finishedAt")
            VALUES ('job0000002', '2020-01-01T00:00:00Z', 'clean', '{"a":1}', '2020-01-01T00:00:00.999Z');
        INSERT INTO "_PushStatus" ("objectId", "createdAt", "status", "numSent", "sentPerType")
            VALUES ('push000001', '2020-01-01T00:00:00Z', 'succeeded', 3, '{"ios":3}');
        """

    private static let everything: JSONObject = [
        "s": "text with \"quotes\", \u{1F984}\n", "n": 0.1, "b": false, "d": .date("1969-12-31T23:59:59.999Z"),
        "o": ["b": 1, "a": [.null, ["at": .date("2020-01-01T00:00:00.000Z")]], "p": .pointer("_User", "x")],
        "l": [1, "two", .pointer("_User", "someone"), [:], []], "y": ["__type": "Bytes", "base64": "AQID"],
        "g": ["__type": "GeoPoint", "latitude": 52.5, "longitude": 13.4],
        "q": ["__type": "Polygon", "coordinates": [[0, 0], [0, 10], [10, 10], [0, 0]]],
        "f": ["__type": "File", "name": "0_a b.txt", "url": "http://elsewhere/x"],
        "p": .pointer("Everything", "nowhere"), "ACL": ["*": ["read": true], "role:x": ["write": true]],
    ]

    private static func fill(_ server: TestServer) async throws {
        let declared: JSONValue = [
            "className": "Everything",
            "fields": [
                "s": ["type": "String", "required": false, "defaultValue": "none"],
                "r": ["type": "Relation", "targetClass": "Everything"],
            ],
            "classLevelPermissions": ["find": ["*": true], "get": ["requiresAuthentication": true]],
            "indexes": ["byText": ["s": 1]],
        ]
        _ = try await server.send("POST", "/schemas", declared, as: .master).succeeded()
        var ids: [String] = []
        for number in 0..<20 {
            var object = everything
            object["n"] = .number(Double(number))
            ids.append(try await server.create("Everything", object, as: .master))
        }
        _ = try await server.send(
            "PUT", "/classes/Everything/\(ids[0])",
            ["r": .operation("AddRelation", ids.dropFirst().map { .pointer("Everything", $0) })], as: .master
        ).succeeded()
        let user = try await server.signUp("kim", ["email": "kim@example.com", "age": 3])
        _ = try await server.send(
            "POST", "/roles",
            [
                "name": "Admins", "ACL": ["*": ["read": true]],
                "users": .operation("AddRelation", [.pointer("_User", user.id)]),
            ], as: .master
        ).succeeded()
        _ = try await server.send(
            "POST", "/installations", ["installationId": "i", "deviceType": "ios", "deviceToken": "t"]
        ).succeeded()
        _ = try await server.send(
            "PUT", "/config", ["params": ["a": 1, "secret": [1]], "masterKeyOnly": ["secret": true]], as: .master
        ).succeeded()
        _ = try await server.send(
            "POST", "/hooks/functions", ["functionName": "f", "url": "https://f.example"], as: .master
        ).succeeded()
        _ = try await server.send(
            "POST", "/push_audiences", ["name": "all", "query": "{\"deviceType\":\"ios\"}"], as: .master
        ).succeeded()
        try await server.execute(oddities)
    }

    private static func rows(_ server: TestServer) async throws -> [String: [String]] {
        let tables = try await server.texts(
            """
            SELECT relname::text FROM pg_class WHERE relkind = 'r' AND pg_table_is_visible(oid)
            AND relnamespace <> 'pg_catalog'::regnamespace AND relname NOT IN ('_SCHEMA', '_Idempotency')
            AND NOT starts_with(relname, '_roost') AND NOT starts_with(relname, 'roost-')
            """)
        var rows: [String: [String]] = [:]
        for table in tables {
            rows[table] = try await server.texts("SELECT to_jsonb(t)::text AS row FROM \"\(table)\" t ORDER BY 1")
        }
        rows["_SCHEMA"] = try await server.texts(
            "SELECT \"className\" || \"schema\"::text FROM \"_SCHEMA\" ORDER BY \"className\"")
        return rows
    }

    private static let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 17) }
    private static let details = FileDetails(metadata: ["k": "v"], tags: ["t": "1"])

    /// Parses every line with MongoDB's own library, encodes it as BSON and converts it back. The result must equal the
    /// input.
    private static let mongoCheck = """
        import bson, json, sys
        from bson.json_util import CANONICAL_JSON_OPTIONS, DatetimeConversion, dumps, loads
        # Years beyond 9999, which Python's dates do not have, stay numbers.
        dates = DatetimeConversion.DATETIME_MS
        options = CANONICAL_JSON_OPTIONS.with_options(datetime_conversion=dates)
        codec = bson.CodecOptions(tz_aware=True, datetime_conversion=dates)
        lines = 0
        for path in sys.argv[1:]:
            for line in open(path, encoding="utf-8"):
                document = bson.decode(bson.encode(loads(line, json_options=options)), codec)
                again = json.loads(dumps(document, json_options=options))
                if again != json.loads(line):
                    sys.exit(f"{path}: {line} became {again}")
                lines += 1
        print(lines)
        """

    private static func withFolder(_ body: (String) async throws -> Void) async throws {
        let path = FileManager.default.temporaryDirectory.path + "/roost-between-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path + "/data", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await body(path)
    }

    @Test(
        "Both export formats import with identical rows and files; MongoDB's library reads the mongo format"
    )
    func isSame() async throws {
        try await Self.withFolder { path in
            let storage = DiskStorage(directory: path + "/data/files")
            try await storage.write(name: "0_a b.txt", details: Self.details, bytes: Self.bytes)
            try await storage.write(name: "dir/other.bin", bytes: [])
            let before = try await TestServer.run { source in
                try await Self.fill(source)
                let folder = ExportFolder(path: path, databaseURI: source.databaseURI)
                try await folder.export()
                try await folder.export("mongo") { $0.form = .mongo }
                return try await Self.rows(source)
            }
            try await Self.checkMongo(path + "/mongo")
            for form in ["out", "mongo"] {
                try await TestServer.run { target in
                    let imported = try await Self.bring(path, form, into: target)
                    #expect(imported.status == 0, "\(form): \(imported.output)")
                    let after = try await Self.rows(target)
                    #expect(Set(after.keys) == Set(before.keys))
                    for (table, rows) in before {
                        #expect(after[table] == rows, "\(form): \(table)")
                        #expect(!rows.isEmpty || ["_Join:roles:_Role", "_GraphQLConfig"].contains(table), "\(table)")
                    }
                    let login = try await target.send("POST", "/login", ["username": "kim", "password": "secret"])
                    #expect(login.status == 200, "\(form): \(login.text)")
                    let device = try await target.send("GET", "/installations", as: .master)
                    #expect(device.results.first?["deviceToken"] == "t")
                }
                let copy = DiskStorage(directory: "\(path)/\(form)-data/files")
                let file = try #require(try await copy.open(name: "0_a b.txt"))
                var read: [UInt8] = []
                try await file.give(0..<file.size) { read += $0.readableBytesView }
                #expect(read == Self.bytes)
                #expect(try await copy.details(name: "0_a b.txt") == Self.details)
                #expect(try await copy.open(name: "dir/other.bin")?.size == 0)
            }
        }
    }

    private static func bring(
        _ path: String, _ name: String, into target: TestServer, _ further: [String] = []
    ) async throws -> (status: Int32, output: String) {
        try await ExportFolder.command(
            [
                CrashServer.findBinary(), "import", path + "/" + name, "--databaseURI", target.databaseURI, "--dataDir",
                "\(path)/\(name)-data",
            ] + further, in: path)
    }

    @Test("Import rejects an export with a damaged or missing file and names the file")
    func checksums() async throws {
        try await Self.withFolder { path in
            try await DiskStorage(directory: path + "/data/files").write(
                name: "0_a b.txt", details: Self.details, bytes: Self.bytes)
            try await TestServer.run { source in
                _ = try await source.create("Song", ["title": "one"])
                try await ExportFolder(path: path, databaseURI: source.databaseURI).export()
            }
            try await TestServer.run { target in
                for name in ["Song.json", "_SCHEMA.json", "files/0_a%20b.txt", "files/.metadata/0_a%20b.txt"] {
                    let file = URL(fileURLWithPath: "\(path)/out/\(name)")
                    let whole = try Data(contentsOf: file)
                    var bytes = whole
                    bytes[bytes.count / 2] ^= 1
                    try bytes.write(to: file)
                    for further in [[], ["--dry-run"]] {
                        let refused = try await Self.bring(path, "out", into: target, further)
                        #expect(refused.status == 1, "\(name): \(refused.output)")
                        #expect(refused.output.contains("\(name): it is damaged, or was changed"), "\(refused.output)")
                    }
                    try whole.write(to: file)
                }
                let song = URL(fileURLWithPath: path + "/out/Song.json")
                let whole = try Data(contentsOf: song)
                try FileManager.default.removeItem(at: song)
                let missing = try await Self.bring(path, "out", into: target)
                #expect(missing.status == 1 && missing.output.contains("Song.json: it is missing: SHA256SUMS lists it"))
                #expect(try await target.texts("SELECT relname::text FROM pg_class WHERE relname = 'Song'").isEmpty)
                // An export edited on purpose has no checksums.
                try Data(String(decoding: whole, as: UTF8.self).replacing("\"one\"", with: "\"two\"").utf8).write(
                    to: song)
                try FileManager.default.removeItem(atPath: path + "/out/SHA256SUMS")
                let imported = try await Self.bring(path, "out", into: target)
                #expect(imported.status == 0, "\(imported.output)")
                #expect(try await target.find("Song").results.first?["title"] == "two")
            }
        }
    }

    private static func checkMongo(_ folder: String) async throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { $0.hasSuffix(".json") && $0 != "roost-export.json" }
        let checked = try await ExportFolder.command(
            ["/usr/bin/env", "PYTHONPATH=\(Checkout.pythonLibraries)", "python3", "-c", mongoCheck] + files, in: folder)
        #expect(checked.status == 0, "\(checked.output)")
        #expect((Int(checked.output.filter(\.isNumber)) ?? 0) > 30, "\(checked.output)")
    }
}
