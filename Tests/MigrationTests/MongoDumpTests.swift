import Foundation
import JSON
import Migration
import TestSupport
import Testing

/// Imports of a mongodump of a parse-server database.
@Suite struct MongoDumpTests {
    @Test("Converts every field type for parse-server's columns, with ids, dates, permissions and relations")
    func fields() async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                let report = try await folder.load(ImportFolder.samples + "/dump", into: server)
                #expect(report.isComplete, "\(report.json.text)")
                let row = try await server.row("Everything", "every0001")
                let expected: JSONObject = [
                    "s": "text with \"quotes\" and \u{1F984}", "n": 12.5, "big": 9_007_199_254_740_991, "dec": 0.1,
                    "b": true, "d": "1969-12-31T23:59:59.999+00:00",
                    "o": [
                        "a": ["deep": ["__type": "Date", "iso": "2020-01-02T03:04:05.007Z"]],
                        "list": [1, "two", .null], "$dollar": 2, "with.dot": 1,
                    ],
                    "l": [
                        ["__type": "Pointer", "objectId": "user000001", "className": "_User"],
                        ["__type": "Date", "iso": "2020-01-02T03:04:05.008Z"], 3, 4,
                    ],
                    "y": ["__type": "Bytes", "base64": "AQID"], "g": "(13.4,52.5)",
                    "q": "((0,0),(10,0),(10,10),(0,0))", "f": "abc_photo 1.jpg", "p": "user000001", "m": [:],
                    "_rperm": ["*"], "_wperm": ["role:editors", "user000001"],
                    "createdAt": "2020-01-02T03:04:05.001+00:00", "updatedAt": "2020-01-02T03:04:05.002+00:00",
                ]
                for (name, value) in expected {
                    let found = row[name] ?? .null
                    #expect(Self.sorted(found) == Self.sorted(value), "\(name): \(found.text)")
                }
                let closed = try await server.row("Everything", "every0002")
                #expect(closed["_rperm"] == [] && closed["_wperm"] == [])
                let old = try await server.row("Everything", "every0003")
                #expect(old["_rperm"] == ["user000001", "*"] && old["_wperm"] == ["user000001"])
                let bare = try await server.row("Everything", "every0004")
                #expect(bare["createdAt"] == .null && bare["_rperm"] == .null)
                let pairs = try await server.texts(
                    "SELECT \"owningId\" || ' ' || \"relatedId\" FROM \"_Join:r:Everything\" ORDER BY 1")
                #expect(pairs == ["every0001 every0002", "every0001 every0003"])
            }
        }
    }

    private static func sorted(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let object):
            var result: JSONObject = [:]
            for key in object.keys.sorted() { result[key] = object[key].map(sorted) }
            return .object(result)
        case .array(let list): return .array(list.map(sorted))
        default: return value
        }
    }

    @Test("Keeps class permissions, indexes, required fields and defaults, and creates empty classes")
    func schemas() async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                let report = try await folder.load(ImportFolder.samples + "/dump", into: server)
                #expect(report.notes == ["Everything: the index ttlOfD is skipped: PostgreSQL has no equivalent"])
                let answer = try await server.send("GET", "/schemas/Everything", as: .master)
                #expect(answer["fields"]?["s"] == ["type": "String", "required": true, "defaultValue": "none"])
                #expect(answer["fields"]?["r"] == ["type": "Relation", "targetClass": "Everything"])
                #expect(answer["fields"]?["m"] == ["type": "Object"])
                #expect(answer["classLevelPermissions"]?["get"] == ["requiresAuthentication": true])
                #expect(answer["classLevelPermissions"]?["protectedFields"] == ["*": ["s"]])
                #expect(answer["indexes"]?["byNumber"] == ["n": -1, "p": 1])
                #expect(answer["indexes"]?["byText"] == ["s": 1, "$unique": true])
                #expect(try await server.send("GET", "/schemas/Empty", as: .master).status == 200)
                let stored = try await server.texts(
                    "SELECT \"schema\"->'indexes'->>'_id_' FROM \"_SCHEMA\" WHERE \"className\" = 'Everything'")
                #expect(stored == ["{\"_id\": 1}"], "the primary key has no second index")
                let indexes = try await server.texts(
                    "SELECT indexname::text FROM pg_indexes WHERE tablename = 'Everything' "
                        + "AND NOT starts_with(indexname, 'roost_') ORDER BY 1")
                #expect(indexes == ["Everything_pkey", "byNumber", "byText"], "\(indexes)")
                let names = try await server.texts(
                    "SELECT relname::text FROM pg_class WHERE relname LIKE 'roost-import:%' OR relname = 'Everything_pkey'"
                )
                #expect(names == ["Everything_pkey"], "nothing is left of what was loaded beside the class")
            }
        }
    }

    @Test("Passwords, sessions, device tokens and files still work after an import")
    func accounts() async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                let report = try await folder.load(ImportFolder.samples + "/dump", into: server)
                #expect(report.files == 1)
                for name in ["ann", "bob"] {
                    // In the sample, Ann's account is locked until a date in the past.
                    let login = try await server.send(
                        "POST", "/login", ["username": .string(name), "password": "correct horse"])
                    #expect(login.status == 200, "\(name): \(login.json.text)")
                }
                let me = try await server.send(
                    "GET", "/users/me", as: .session("r:0123456789abcdef0123456789abcdef"))
                #expect(me["objectId"] == "user000001")
                #expect(me["authData"]?["facebook"]?["id"] == "f1")
                let providers = try await server.row("_User", "user000001")["authData"]?.objectValue
                #expect(providers?["anonymous"] == .null, "one that was unlinked stays so")
                let installation = try await server.send("GET", "/installations/inst000001", as: .master)
                #expect(installation["deviceToken"] == "token-1")
                #expect(installation["user"]?["objectId"] == "user000001")
                let role = try await server.send(
                    "POST", "/classes/_Role",
                    ["_method": "GET", "where": ["users": .pointer("_User", "user000001")]], as: .master)
                #expect(role["results"]?.arrayValue?.first?["name"] == "editors")
                #expect(try await server.send("GET", "/config")["params"]?["greeting"] == nil)
                let config = try await server.send("GET", "/config", as: .master)
                #expect(config["params"]?["greeting"] == "hello")
                #expect(config["params"]?["since"]?["iso"] == "2020-01-02T03:04:05.012Z")
                let hooks = try await server.send("GET", "/hooks/functions", as: .master)
                #expect(hooks.json.arrayValue?.first?["url"] == "https://hooks.example/f")
                let file = try #require(try await folder.files.open(name: "abc_photo 1.jpg"))
                #expect(file.size == 1024)
                let user = try await server.row("_User", "user000001")
                #expect(user["_email_verify_token"] == "evt" && user["_failed_login_count"] == 2)
                #expect(user["_password_history"]?.arrayValue?.count == 1)
                #expect(try await server.row("_Audience", "audi000001")["timesUsed"] == 3)
                #expect(try await server.row("_JobSchedule", "jobs000001")["repeatMinutes"] == 60)
                #expect(try await server.row("_PushStatus", "push000001")["sentPerType"] == ["ios": 3])
            }
        }
    }

    @Test("Reports each value that doesn't fit, and keeps everything else")
    func misfits() async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                let report = try await folder.load(ImportFolder.samples + "/misfits", into: server)
                #expect(report.isComplete && report.exitCode == 2)
                let told = try folder.rejects().map { line in
                    "\(line["id"]?.stringValue ?? "-") \(line["field"]?.stringValue ?? "-"): "
                        + (line["reason"]?.stringValue ?? "")
                }
                #expect(
                    told
                        == [
                            "miss000001 s: expected String, found number",
                            "miss000003 o.x: inf inside an object, which JSON can't represent: it becomes null",
                            "miss000004 n: an integer beyond 2^53: it is rounded",
                            "miss000005 d: a date that is out of range",
                            "miss000007 s: a string with NUL characters: they are removed",
                            "miss000008 unknown: the class has no such field",
                            "miss000008 _tombstone: the class has no such field",
                            "miss000009 l.0: a regex, which Parse can't store: it becomes null",
                            "miss000009 l.1: a javascript, which Parse can't store: it becomes null",
                            "miss000009 l.2: a timestamp, which Parse can't store: it becomes null",
                            "miss000009 l.3: a minKey, which Parse can't store: it becomes null",
                            "miss000009 l.4: a maxKey, which Parse can't store: it becomes null",
                            "miss000010 p: expected Pointer<_User>, found string",
                            "miss000011 dec: a decimal number: it is rounded",
                            "miss000013 dec: a decimal number: it is rounded",
                            "- objectId: an object without an id: it is skipped",
                            "miss000012 o.n: an integer beyond 2^53: it is rounded",
                            "miss000001 -: duplicate id: the object is skipped",
                        ].map { $0.replacing("miss000010 p:", with: "miss000010 _p_p:") })
                let rejects = try folder.rejects()
                #expect(rejects.first?["value"] == 5)
                #expect(rejects[2]["value"] == "9007199254740993")
                #expect(rejects[4]["value"] == "a\u{0}b")
                #expect(try await server.row("Everything", "miss000007")["s"] == "ab")
                #expect(try await server.row("Everything", "miss000001")["s"] == .null, "the first of its id stays")
                #expect(try await server.row("Everything", "miss000002")["n"] == "NaN")
                #expect(
                    try await server.row("Everything", "miss000006")["d"] == "10000-01-01T00:00:00+00:00")
                #expect(try await server.row("Everything", "5f0000000000000000000001")["s"] == "an ObjectId")
                #expect(try await server.table("Everything").count == 14)
            }
        }
    }

    @Test("A dry run counts the GridFS files after an unreadable one")
    func filesAfterUnreadable() async throws {
        try await ImportFolder.run { folder in
            try folder.write("Song.json", #"{"_id":"song"}"#)
            try folder.write(
                "fs.files.json",
                #"{"_id":"x",}"# + "\n" + #"{"_id":"a","filename":"a.txt","length":0,"chunkSize":600}"#)
            try folder.write("fs.chunks.json", #"{"_id":"b"}"#)
            #expect(try await folder.look().files == 1)
        }
    }

    @Test("A dry run reports what an import would, and --strict stops at the first misfit")
    func lookAndStrict() async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                let looked = try await folder.look(ImportFolder.samples + "/misfits")
                #expect(looked.classes.map(\.rows) == [15] && looked.rejectCount == 17)
                #expect(try folder.rejects().count == 17)
                #expect(try await folder.look(ImportFolder.samples + "/dump").files == 1)
                let strict = try await folder.load(ImportFolder.samples + "/misfits", into: server) {
                    $0.isStrict = true
                }
                #expect(strict.exitCode == 1)
                #expect(strict.classes.first?.failure?.contains("stopped by --strict") == true)
                #expect(try await server.table("Everything").isEmpty, "a class shows all of its rows or none")
                // Without `--strict`, the same import continues.
                let loose = try await folder.load(ImportFolder.samples + "/misfits", into: server)
                #expect(loose.exitCode == 2)
                #expect(try await server.table("Everything").count == 14)
            }
        }
    }
}
