import App
import Foundation
import JSON
import Migration
import TestSupport
import Testing

/// Moving out of one Roost and into another.
@Suite struct ExportImportTests {
    /// Every table of classes and relations with all of its rows.
    private static func tables(_ server: TestServer) async throws -> [String: [String]] {
        let names = try await server.texts(
            "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE 'roost%'")
        var tables: [String: [String]] = [:]
        for name in names {
            tables[name] = try await server.texts("SELECT to_jsonb(t)::text FROM \"\(name)\" t ORDER BY 1")
        }
        return tables
    }

    @Test("What is exported and imported elsewhere is the same row by row, and its files byte by byte")
    func roundTrip() async throws {
        try await TestServer.run { server in
            _ = try await server.send(
                "POST", "/schemas",
                [
                    "className": "Everything",
                    "fields": [
                        "s": ["type": "String", "required": true, "defaultValue": "none"], "n": ["type": "Number"],
                        "r": ["type": "Relation", "targetClass": "Everything"], "y": ["type": "Bytes"],
                    ],
                    "classLevelPermissions": ["find": ["*": true], "get": ["requiresAuthentication": true]],
                    "indexes": ["byText": ["s": -1]],
                ], as: .master
            ).succeeded()
            let object: JSONObject = [
                "s": "text \u{1F984}", "n": 0.1, "b": false, "d": .date("1969-12-31T23:59:59.999Z"),
                "o": ["b": 1, "a": [.null, ["deep": .date("2020-01-01T00:00:00.000Z")]]],
                "l": [1, "two", .pointer("_User", "someone")], "y": ["__type": "Bytes", "base64": "AQID"],
                "g": ["__type": "GeoPoint", "latitude": 52.5, "longitude": 13.4],
                "q": ["__type": "Polygon", "coordinates": [[0, 0], [0, 10], [10, 10], [0, 0]]],
                "f": ["__type": "File", "name": "0_a b.txt", "url": "http://elsewhere/x"],
                "p": .pointer("Everything", "nowhere"), "ACL": ["*": ["read": true], "role:x": ["write": true]],
            ]
            let id = try await server.create("Everything", object, as: .master)
            let other = try await server.create("Everything", ["s": "", "ACL": [:]], as: .master)
            _ = try await server.send(
                "PUT", "/classes/Everything/\(id)", ["r": .operation("AddRelation", [.pointer("Everything", other)])],
                as: .master
            ).succeeded()
            // What only other servers leave: half of an ACL, no dates, numbers that JSON does not have.
            try await server.execute(
                """
                UPDATE "Everything" SET "_rperm" = NULL, "createdAt" = NULL, "n" = 'NaN' WHERE "objectId" = '\(other)';
                """)
            _ = try await server.signUp("kim", ["email": "kim@example.com"])
            _ = try await server.create("_Role", ["name": "x", "ACL": ["*": ["read": true]]], as: .master)
            _ = try await server.send("PUT", "/config", ["params": ["greeting": "hello"]], as: .master).succeeded()
            _ = try await server.send(
                "POST", "/hooks/functions", ["functionName": "f", "url": "https://f.example"], as: .master
            ).succeeded()
            try await ExportFolder.run(server.databaseURI) { folder in
                let files = folder.path + "/data/files"
                try FileManager.default.createDirectory(atPath: files + "/.metadata", withIntermediateDirectories: true)
                let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
                try bytes.write(to: URL(fileURLWithPath: files + "/photo%20%C3%A9.bin"))
                try Data("{\"metadata\":{\"a\":1},\"tags\":{},\"contentType\":\"x/y\"}".utf8).write(
                    to: URL(fileURLWithPath: files + "/.metadata/photo%20%C3%A9.bin"))
                try await folder.export()
                try await TestServer.withDatabase { uri in
                    let copy = TestServer(url: "", databaseURI: uri)
                    let deployment = try Deployment(
                        arguments: ["--databaseURI", uri, "--dataDir", folder.path + "/copy"], environment: [:],
                        needsKeys: false)
                    var options = ImportOptions()
                    options.rejects = folder.path + "/rejects.jsonl"
                    let report = try await DataImport(
                        deployment, from: .path(folder.path + "/out"), options, progress: ImportProgress(),
                        logger: TestServer.quietLogger
                    ).run()
                    #expect(report.exitCode == 0 && report.files == 1, "\(report.json.text)")
                    let before = try await Self.tables(server)
                    let after = try await Self.tables(copy)
                    #expect(Set(before.keys) == Set(after.keys))
                    for (name, rows) in before { #expect(after[name] == rows, "\(name)") }
                    #expect(before["Everything"]?.count == 2)
                    for file in ["photo%20%C3%A9.bin", ".metadata/photo%20%C3%A9.bin"] {
                        let copied = FileManager.default.contents(atPath: "\(folder.path)/copy/files/\(file)")
                        #expect(copied == FileManager.default.contents(atPath: "\(files)/\(file)"), "\(file)")
                    }
                }
            }
        }
    }
}
