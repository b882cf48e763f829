import Foundation
import JSON
import Migration
import TestSupport
import Testing

/// The same data in every source format.
@Suite struct SourceFormTests {
    @Test(
        "A dump imports as the same rows if compressed, in an archive, or in any kind of extended JSON",
        arguments: ["packed", "dump.archive.gz", "canonical", "relaxed", "legacy"])
    func forms(form: String) async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                try await folder.load(ImportFolder.samples + "/dump", into: server)
                let tables =
                    form == "packed"
                    ? ["Everything"]
                    : [
                        "Everything", "_Join:r:Everything", "_User", "_Session", "_Role", "_Join:users:_Role", "_Hooks",
                        "_Installation", "_GlobalConfig", "_Audience", "_JobSchedule", "_PushStatus",
                    ]
                var expected: [[String]] = []
                for table in tables { expected.append(try await server.table(table)) }
                let wanted = expected
                try await TestServer.withDatabase { uri in
                    let other = TestServer(url: "", databaseURI: uri)
                    let report = try await folder.load("\(ImportFolder.samples)/\(form)", into: other)
                    #expect(report.isComplete && report.rejectCount == 0, "\(report.json.text)")
                    for (table, rows) in zip(tables, wanted) {
                        let found = try await other.table(table)
                        #expect(found == rows, "\(table)")
                        #expect(!rows.isEmpty)
                    }
                }
            }
        }
    }

    @Test("Imports symbols of a dump without a schema as strings")
    func symbols() async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                try folder.write("Song.json", #"{"_id":"s1","title":{"$symbol":"one"},"tags":[{"$symbol":"two"}]}"#)
                let report = try await folder.load(into: server)
                #expect(report.rejectCount == 0, "\(report.json.text)")
                let row = try await server.row("Song", "s1")
                #expect(row["title"] == "one" && row["tags"] == ["two"], "\(row)")
            }
        }
    }

    @Test("Imports a Parse.com export with types derived from its values, and reports conflicting types")
    func parseExport() async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                let zip = ImportFolder.samples + "/parse.zip"
                let report = try await folder.load(zip, into: server)
                #expect(report.exitCode == 2)
                #expect(
                    report.notes == [
                        "Artist.mixed is skipped because its values have several types: Number (1 objects), "
                            + "String (1 objects). To import it, set its type with --type Artist.mixed=TYPE",
                        "the session tokens in _User are skipped: users whose session is not in _Session must log in again",
                    ])
                let song = try await server.send("GET", "/classes/Song/song000001?include=artist", as: .master).json
                #expect(song["at"] == .date("2020-01-02T03:04:05.003Z"))
                #expect(song["artist"]?["name"] == "Them")
                #expect(song["cover"]?["name"] == "tfss-cover.png")
                #expect(song["place"]?["latitude"] == 52.5)
                #expect(song["raw"]?["base64"] == "AQID")
                #expect(song["area"]?["__type"] == "Polygon")
                #expect(song["tags"] == ["a", "b"] && song["info"] == ["a": ["b": 1]])
                #expect(song["createdAt"] == "2020-01-02T03:04:05.001Z")
                #expect(song["ACL"] == ["*": ["read": true], "role:x": ["write": true]])
                #expect(try await server.find("Song", ["where": ["objectId": "song000002"]])["results"] == [])
                let fans = try await server.find(
                    "_User",
                    ["where": ["$relatedTo": ["object": .pointer("Song", "song000001"), "key": "fans"]]], as: .master)
                #expect(fans["results"]?.arrayValue?.first?["username"] == "ann")
                let login = try await server.send("POST", "/login", ["username": "ann", "password": "correct horse"])
                #expect(login.status == 200)
                let session = "r:0123456789abcdef0123456789abcdef"
                #expect(try await server.send("GET", "/users/me", as: .session(session))["username"] == "ann")
                let installation = try await server.send("GET", "/installations/inst000001", as: .master)
                #expect(installation["deviceToken"] == "token-1" && installation["badge"] == 4)
                #expect(try await server.row("_PushStatus", "push000001")["sentPerType"] == ["ios": 3])
                let role = try await server.send(
                    "POST", "/classes/_Role",
                    ["_method": "GET", "where": ["users": .pointer("_User", "user000001")]], as: .master)
                #expect(role["results"]?.arrayValue?.first?["name"] == "x")
                let lines = try folder.rejects()
                #expect(Set(lines.map { $0["field"] }) == ["mixed"] && lines.count == 2)
                // With an explicit type, only the mismatching value is reported.
                let typed = try await folder.load(zip, into: server) {
                    $0.types = ["Artist": ["mixed": .number]]
                    $0.replaces = ["Artist"]
                }
                #expect(typed.classes.first { $0.name == "Artist" }?.rejects == 1)
                #expect(try await server.row("Artist", "arti000001")["mixed"] == 1)
                #expect(try await server.row("Artist", "arti000002")["mixed"] == .null)
            }
        }
    }

    @Test("Takes collection names that are truncated in file names from each file's metadata")
    func cutNames() async throws {
        try await ImportFolder.run { folder in
            for (letter, name) in [("a", "Song"), ("b", "Album"), ("c", "Artist")] {
                let stem = String(repeating: letter, count: 208) + "%24abcdefghijklmnopqrstuvwxyz"
                try folder.write("\(stem).bson", [])
                try folder.write("\(stem).metadata.json", "{\"collectionName\":\"\(name)\",\"indexes\":[]}")
            }
            let report = try await folder.look()
            #expect(report.classes.map(\.name) == ["Album", "Artist", "Song"] && report.notes.isEmpty)
        }
    }

    @Test("The sample dump has 18 collections, with encoded names")
    func samples() throws {
        let folder = ImportFolder.samples + "/dump/parse"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(names.filter { $0.hasSuffix(".bson") }.count == 18)
        #expect(names.contains("_Join%3Ausers%3A_Role.bson"))
    }
}
