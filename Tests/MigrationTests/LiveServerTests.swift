import Foundation
import JSON
import Migration
import Outgoing
import ServerConfiguration
import TestSupport
import Testing

/// Imports from a running server through its REST API.
@Suite struct LiveServerTests {
    static func address(_ server: TestServer, maintenance: Bool = true) -> LiveServer.Address {
        LiveServer.Address(
            url: server.url, applicationID: TestServer.applicationID, masterKey: TestServer.masterKey,
            maintenanceKey: maintenance ? TestServer.maintenanceKey : nil)
    }

    static func download(
        _ address: LiveServer.Address, to folder: ImportFolder, _ name: String = "live"
    ) async throws -> [String] {
        let (configuration, _) = try Configuration.load(
            file: Array("{\"appId\":\"a\",\"masterKey\":\"m\"}".utf8), environment: [:], flags: [])
        let caller = try HTTPCaller(configuration.outgoing)
        let download = LiveDownload(
            LiveServer(address, caller), to: folder.path + "/" + name, classes: nil, progress: ImportProgress())
        do {
            let notes = try await download.run()
            await caller.shutdown()
            return notes
        } catch {
            await caller.shutdown()
            throw error
        }
    }

    @Test("Imports classes, relations, password hashes, sessions, config, webhooks and files from a server")
    func everything() async throws {
        try await TestServer.run { server in
            let photo = Array("the bytes of a photo".utf8)
            let file = try await server.send(
                "POST", "/files/photo.txt", bytes: photo, as: .master, headers: ["Content-Type": "text/plain"])
            let name = try #require(file["name"])
            let url = try #require(file["url"])
            let first = try await server.create(
                "Song",
                ["title": "one", "cover": ["__type": "File", "name": name, "url": url], "ACL": ["*": ["read": true]]],
                as: .master)
            // Many objects with the same date, so that pages end between them.
            try await server.execute(
                """
                INSERT INTO "Song" ("objectId", "title", "createdAt", "updatedAt")
                SELECT 's' || i, 'x', '2020-01-01T00:00:00Z'::timestamptz + (i / 1500) * interval '1 ms',
                    date_trunc('milliseconds', now())
                FROM generate_series(1, 2300) i;
                INSERT INTO "Song" ("objectId", "title") VALUES ('undated', 'x');
                """)
            _ = try await server.send(
                "PUT", "/classes/Song/\(first)",
                ["similar": .operation("AddRelation", [.pointer("Song", "s1"), .pointer("Song", "s2")])], as: .master)
            _ = try await server.signUp("kim", password: "correct horse")
            _ = try await server.send("PUT", "/config", ["params": ["greeting": "hello"]], as: .master)
            _ = try await server.send(
                "POST", "/hooks/functions", ["functionName": "f", "url": "https://f.example"], as: .master)
            try await ImportFolder.run { folder in
                let notes = try await Self.download(Self.address(server), to: folder)
                #expect(notes.isEmpty, "\(notes)")
                // The second run finds everything already downloaded.
                _ = try await Self.download(Self.address(server), to: folder)
                try await TestServer.withDatabase { uri in
                    let other = TestServer(url: "", databaseURI: uri)
                    let report = try await folder.load(folder.path + "/live", into: other)
                    let told = try folder.rejects()
                    #expect(report.exitCode == 0, "\(report.json.text) \(told)")
                    for table in ["Song", "_Join:similar:Song", "_User", "_Session", "_GlobalConfig", "_Hooks"] {
                        let before = try await server.table(table)
                        let after = try await other.table(table)
                        #expect(before == after, "\(table): \(before.count) and \(after.count) rows")
                        #expect(!before.isEmpty)
                    }
                    let stored = try #require(try await folder.files.open(name: name.stringValue ?? ""))
                    #expect(stored.size == Int64(photo.count))
                }
            }
        }
    }

    @Test("Reuses an earlier run's download only with the same keys, and says so")
    func earlierRun() async throws {
        try await TestServer.run { server in
            _ = try await server.signUp("kim", password: "correct horse")
            try await ImportFolder.run { folder in
                let without = try await Self.download(Self.address(server, maintenance: false), to: folder)
                #expect(without.count == 1 && without[0].contains("maintenance key"), "\(without)")
                let with = try await Self.download(Self.address(server), to: folder)
                #expect(with.isEmpty, "\(with)")
                let users = try String(contentsOfFile: folder.path + "/live/_User.json", encoding: .utf8)
                #expect(users.contains("_hashed_password"))
                let again = try await Self.download(Self.address(server), to: folder)
                #expect(again.count == 1 && again[0].contains("an earlier run"), "\(again)")
            }
        }
    }

    @Test("Values of all types and all system classes arrive unchanged")
    func allTypes() async throws {
        try await TestServer.run { server in
            try await ImportFolder.run { folder in
                try await folder.load(ImportFolder.samples + "/dump", into: server)
                // The sample's file is not on this server.
                let notes = try await Self.download(Self.address(server), to: folder)
                #expect(notes.count == 1 && notes[0].contains("abc_photo 1.jpg"), "\(notes)")
                try await TestServer.withDatabase { uri in
                    let other = TestServer(url: "", databaseURI: uri)
                    let report = try await folder.load(folder.path + "/live", into: other)
                    let told = try folder.rejects()
                    #expect(report.exitCode == 0, "\(report.json.text) \(told)")
                    for table in [
                        "Everything", "_Join:r:Everything", "_User", "_Session", "_Role", "_Join:users:_Role", "_Hooks",
                        "_Installation", "_GlobalConfig", "_Audience", "_JobSchedule", "_PushStatus",
                    ] {
                        // The REST API doesn't return unlinked providers, which are null in the database.
                        let rows = "SELECT jsonb_strip_nulls(to_jsonb(t))::text FROM \"\(table)\" t"
                        let before = Set(try await server.texts(rows))
                        let after = Set(try await other.texts(rows))
                        #expect(after.symmetricDifference(before).isEmpty, "\(table)")
                        #expect(!before.isEmpty, "\(table)")
                    }
                    // Missing permissions are returned as the default ones.
                    let classes = """
                        SELECT "className" || ("schema"->'fields')::text FROM "_SCHEMA" UNION ALL
                        SELECT concat("schema"->'indexes', "schema"#>'{classLevelPermissions,get}',
                            "schema"#>'{classLevelPermissions,protectedFields}') FROM "_SCHEMA" WHERE "className" = 'Everything'
                        """
                    let (before, after) = (try await server.texts(classes), try await other.texts(classes))
                    #expect(Set(after).symmetricDifference(before).isEmpty)
                }
            }
        }
    }

    @Test("A malicious server can't write outside the folder or keep an import running forever")
    func hostile() async throws {
        let page: JSONValue = [
            "results": [["objectId": "s1", "createdAt": "2020-01-01T00:00:00.000Z", "title": "x"]]
        ]
        try await WebhookServer.run { server in
            let address = LiveServer.Address(
                url: String(server.url("").dropLast()), applicationID: "a", masterKey: "m", maintenanceKey: "m")
            @Sendable func schemas(_ names: [String]) {
                let classes = names.map { name -> JSONValue in
                    ["className": .string(name), "fields": ["../../r": ["type": "Relation", "targetClass": "Song"]]]
                }
                let answer: JSONValue = ["results": .array(classes)]
                server.on("schemas") { _ in .text(answer.text) }
            }
            schemas(["../../escaped", "/tmp/roost-escaped", "Song"])
            // The second page is empty.
            server.on("classes/Song") { call in
                .text(call["where"]?["createdAt"]?["$exists"] == true ? page.text : "{\"results\":[]}")
            }
            try await ImportFolder.run { folder in
                let notes = try await Self.download(address, to: folder)
                #expect(notes.filter { $0.contains("its name is not a valid class name") }.count == 2, "\(notes)")
                #expect(
                    try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["live", "source"])
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/live")
                #expect(!names.contains { $0.hasPrefix("_Join") }, "\(names)")
                #expect(try await folder.look(folder.path + "/live").classes.first { $0.name == "Song" }?.rows == 1)
            }
            // The same page repeatedly, a page without objects, invalid JSON, and a truncated response.
            let lies: [(WebhookServer.Answer, String)] = [
                (.text(page.text), "the same objects repeatedly"),
                (.text("{\"results\":5}"), "returned no list of objects"),
                (.text("<html>", status: 404), "404 without an answer that is JSON"),
                (.text("{\"error\":\"unauthorized\"}", status: 403), "403 unauthorized"),
            ]
            for (answer, expected) in lies {
                server.on("classes/Song") { _ in answer }
                try await ImportFolder.run { folder in
                    let failure = await #expect(throws: LiveServer.Failure.self) {
                        try await Self.download(address, to: folder)
                    }
                    #expect(failure?.description.contains(expected) == true, "\(failure?.description ?? "-")")
                }
            }
        }
    }

    @Test("Notes missing hashes without the maintenance key, keeps downloads private and reports a wrong key")
    func keys() async throws {
        try await TestServer.run { server in
            _ = try await server.signUp("kim")
            try await ImportFolder.run { folder in
                let notes = try await Self.download(Self.address(server, maintenance: false), to: folder)
                #expect(notes.count == 1 && notes[0].hasPrefix("without the old server's maintenance key"))
            }
            // The data folder may not exist yet. It must be accessible to PostgreSQL's user, but the download only to
            // its owner.
            try await ImportFolder.run { folder in
                _ = try await Self.download(Self.address(server), to: folder, "data/import/live")
                func mode(_ path: String) throws -> Int? {
                    let attributes = try FileManager.default.attributesOfItem(atPath: folder.path + "/" + path)
                    return (attributes[.posixPermissions] as? NSNumber)?.intValue
                }
                try FileManager.default.createDirectory(
                    atPath: folder.path + "/other", withIntermediateDirectories: false)
                #expect(try mode("data") == mode("other"))
                #expect(try mode("data/import/live") == 0o700)
                #expect(try mode("data/import/live/_User.json") == 0o600)
            }
            try await ImportFolder.run { folder in
                let wrong = LiveServer.Address(
                    url: server.url, applicationID: TestServer.applicationID, masterKey: "wrong", maintenanceKey: nil)
                let failure = await #expect(throws: LiveServer.Failure.self) {
                    try await Self.download(wrong, to: folder)
                }
                #expect(failure?.description.contains("/schemas: 403 ") == true, "\(failure?.description ?? "")")
            }
        }
    }
}
