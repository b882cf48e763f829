import Foundation
import JSON
import TestSupport
import Testing

@Suite struct DefinedSchemaTests {
    private static func options(_ definitions: [JSONValue], _ more: JSONObject? = nil) -> JSONObject {
        var schema: JSONObject = ["definitions": .array(definitions)]
        for (name, value) in more ?? [:] { schema[name] = value }
        return ["schema": .object(schema)]
    }

    private static func definition(_ fields: JSONValue, indexes: JSONValue = [:]) -> JSONValue {
        [
            "className": "Song", "fields": fields, "indexes": indexes,
            "classLevelPermissions": ["find": ["*": true], "create": ["*": true], "addField": ["*": true]],
        ]
    }

    private static func schema(_ server: TestServer, _ name: String = "Song") async throws -> TestAnswer {
        try await server.send("GET", "/schemas/\(name)", as: .master)
    }

    /// Returns the error of a server's start on the same database, or nil if it starts.
    private static func refusal(_ server: TestServer, _ options: JSONObject) async -> String? {
        do {
            return try await server.alongside(options, logger: UnwrittenLog.logger()) { _ in nil }
        } catch {
            return "\(error)"
        }
    }

    private static func realIndexes(_ server: TestServer) async throws -> [String] {
        try await server.texts(
            "SELECT indexname::text FROM pg_indexes WHERE tablename = 'Song' AND indexname NOT LIKE '%pkey' "
                + "AND indexname NOT LIKE 'roost%' ORDER BY 1")
    }

    @Test("Null classLevelPermissions in a definition deny clients access, like missing ones")
    func nullPermissions() async throws {
        for permissions: JSONObject in [[:], ["classLevelPermissions": .null]] {
            let definition: JSONObject = ["className": "Song", "fields": ["title": ["type": "String"]]]
            let declared: JSONValue = .object(definition.merging(permissions) { $1 })
            try await TestServer.run(Self.options([declared])) { server in
                let found = try await server.send("GET", "/classes/Song")
                #expect(found.code == 119, "\(permissions): \(found.text)")
                let made = try await server.send("POST", "/classes/Song", ["title": "a"])
                #expect(made.code == 119, "\(permissions): \(made.text)")
            }
        }
    }

    @Test("Creates defined classes and indexes at startup, and clients can't add fields")
    func made() async throws {
        let fields: JSONValue = [
            "title": ["type": "String", "required": true], "n": ["type": "Number", "defaultValue": 7],
            "objectId": ["type": "Number"], "fans": ["type": "Relation", "targetClass": "_User"],
        ]
        let options = Self.options(
            [Self.definition(fields, indexes: ["byTitle": ["title": 1]]), ["className": "Bare"]])
        try await TestServer.run(options) { server in
            let song = try await Self.schema(server)
            #expect(song["fields"]?["title"] == ["type": "String", "required": true])
            #expect(song["fields"]?["n"] == ["type": "Number", "defaultValue": 7])
            #expect(song["fields"]?["objectId"] == ["type": "String"])
            #expect(song["classLevelPermissions"]?["addField"] == [:])
            #expect(song["classLevelPermissions"]?["find"] == ["*": true])
            #expect(song["classLevelPermissions"]?["delete"] == [:])
            #expect(song["indexes"]?["byTitle"] == ["title": 1])
            #expect(try await Self.realIndexes(server) == ["byTitle"])
            let made = try await server.send("POST", "/classes/Song", ["title": "x"])
            #expect(made.status == 201)
            #expect(made["n"] == 7)
            #expect(try await server.send("POST", "/classes/Song", ["title": "x", "fresh": 1]).code == 119)
            #expect(try await server.find("Bare").code == 119)
            let user = try await Self.schema(server, "_User")
            #expect(user["classLevelPermissions"]?["addField"] == [:])
            #expect(user["classLevelPermissions"]?["find"] == ["*": true])
        }
    }

    @Test("A later start adds or deletes fields and updates field options, permissions and indexes")
    func changed() async throws {
        let first = Self.definition(
            ["title": ["type": "String"], "old": ["type": "Number"]],
            indexes: ["a": ["title": 1, "old": 1], "b": ["old": 1], "c": ["title": 1]])
        try await TestServer.run(Self.options([first])) { server in
            _ = try await server.create("Song", ["title": "x", "old": 1])
            let second: JSONValue = [
                "className": "Song",
                "fields": ["title": ["type": "String", "required": true], "fresh": ["type": "Date"]],
                "indexes": ["a": ["old": 1, "title": 1], "b": ["title": -1]],
                "classLevelPermissions": ["get": ["*": true]],
            ]
            try await server.alongside(Self.options([second])) { other in
                let song = try await Self.schema(other)
                #expect(song["fields"]?["title"] == ["type": "String", "required": true])
                #expect(song["fields"]?["fresh"] == ["type": "Date"])
                #expect(song["fields"]?["old"] == ["type": "Number"])
                #expect(song["classLevelPermissions"]?["find"] == [:])
                #expect(song["classLevelPermissions"]?["get"] == ["*": true])
                #expect(
                    same(
                        song["indexes"], ["_id_": ["_id": 1], "a": ["title": 1, "old": 1], "b": ["title": -1]]))
                #expect(try await Self.realIndexes(other) == ["a", "b"])
                #expect(try await other.find("Song", as: .master).results.first?["old"] == 1)
            }
            try await server.alongside(
                Self.options([["className": "Song"]], ["deleteExtraFields": true, "keepUnknownIndexes": true])
            ) { other in
                let song = try await Self.schema(other)
                #expect(song["fields"]?["title"] == nil)
                #expect(song["fields"]?["old"] == nil)
                #expect(try await other.find("Song", as: .master).results.count == 1)
            }
        }
    }

    @Test("Servers that wait for an index at startup are live but not ready until it is built")
    func longIndex() async throws {
        let fields: JSONValue = ["title": ["type": "String"]]
        try await TestServer.run(Self.options([Self.definition(fields)])) { server in
            _ = try await server.create("Song", ["title": "a"])
            let ports = [try await FreePort.find(), try await FreePort.find()]
            @Sendable func ask(_ path: String, _ port: Int) async throws -> TestAnswer? {
                try? await TestServer(url: "http://127.0.0.1:\(port)", databaseURI: "").send("GET", path, as: .nobody)
            }
            let latch = Latch()
            defer { latch.open() }
            let starts = try await server.whileLocked("LOCK TABLE \"Song\" IN ROW EXCLUSIVE MODE") {
                let starts = ports.map { port in
                    Task {
                        let indexed = Self.definition(fields, indexes: ["byTitle": ["title": 1]])
                        var options = Self.options([indexed])
                        options["metrics"] = ["port": .number(Double(port))]
                        try await server.alongside(options) { _ in await latch.wait() }
                    }
                }
                for port in ports {
                    let isUnready = try await eventually(within: .seconds(60)) {
                        let answer = try await ask("/ready", port)
                        return answer?.status == 503 && answer?["phase"] == "starting"
                    }
                    #expect(isUnready)
                    let live = try await ask("/live", port)
                    #expect(live?.status == 200)
                }
                let waits = try await server.waitsForLocks()
                #expect(waits)
                for port in ports {
                    let ready = try await ask("/ready", port)
                    #expect(ready?.status == 503)
                }
                return starts
            }
            for port in ports {
                let isReady = try await eventually(within: .seconds(60)) {
                    try await ask("/ready", port)?.status == 200
                }
                #expect(isReady)
            }
            latch.open()
            for start in starts { try await start.value }
            let indexes = try await Self.realIndexes(server)
            #expect(indexes == ["byTitle"])
        }
    }

    @Test("Removes undefined indexes at startup unless keepUnknownIndexes is set")
    func unknownIndexes() async throws {
        let fields: JSONValue = ["title": ["type": "String"]]
        try await TestServer.run(Self.options([Self.definition(fields, indexes: ["a": ["title": 1]])])) { server in
            let bare = Self.definition(fields)
            try await server.alongside(Self.options([bare], ["keepUnknownIndexes": true])) { other in
                let kept = try await Self.realIndexes(other)
                #expect(kept == ["a"])
            }
            try await server.alongside(Self.options([bare])) { other in
                let kept = try await Self.realIndexes(other)
                #expect(kept == [])
            }
        }
    }

    @Test("Keeps a field's type and data if the definition differs, unless recreateModifiedFields is set")
    func otherTypes() async throws {
        let text = Self.definition(["f": ["type": "String"]], indexes: ["a": ["f": 1]])
        try await TestServer.run(Self.options([text])) { server in
            _ = try await server.create("Song", ["f": "x"])
            let number = Self.definition(["f": ["type": "Number"]], indexes: ["a": ["f": 1]])
            try await server.alongside(Self.options([number], ["strict": true])) { other in
                let song = try await Self.schema(other)
                #expect(song["fields"]?["f"] == ["type": "String"])
                #expect(try await other.find("Song").results.first?["f"] == "x")
            }
            try await server.alongside(Self.options([number], ["recreateModifiedFields": true])) { other in
                let song = try await Self.schema(other)
                #expect(song["fields"]?["f"] == ["type": "Number"])
                #expect(try await other.find("Song").results.first?["f"] == nil)
                _ = try await other.create("Song", ["f": 5])
                #expect(try await Self.realIndexes(other) == ["a"])
            }
        }
    }

    @Test("With lockSchemas, the API rejects creating and changing classes but allows deleting them")
    func locked() async throws {
        let options = Self.options([["className": "Song"]], ["lockSchemas": true])
        try await TestServer.run(options) { server in
            for (method, path) in [("POST", "/schemas/Other"), ("PUT", "/schemas/Song")] {
                let answer = try await server.send(method, path, ["fields": [:]], as: .master)
                #expect(answer.status == 400)
                #expect(answer.code == 119)
                #expect(answer.error == "Cannot perform this operation when schemas options is used.")
            }
            #expect(try await Self.schema(server).status == 200)
            #expect(try await server.send("DELETE", "/schemas/Song", as: .master).status == 200)
        }
    }

    @Test("Logs an invalid definition and creates the other classes; with strict, refuses to start")
    func failures() async throws {
        let bad: JSONValue = ["className": "Bad", "fields": ["1x": ["type": "String"]]]
        let definitions = [bad, ["className": "Good"]]
        try await TestServer.run(Self.options(definitions), logger: UnwrittenLog.logger()) { server in
            #expect(try await Self.schema(server, "Good").status == 200)
            #expect(try await Self.schema(server, "Bad").code == 103)
            let log = try await server.send("GET", "/scriptlog?level=error", as: .master)
            #expect(
                log.json.arrayValue?.first?["message"]
                    == "Failed to run migrations: Error during update of schema for type Bad: invalid field name: 1x")
            let refusal = await Self.refusal(server, Self.options(definitions, ["strict": true]))
            #expect(refusal?.hasSuffix("schema for type Bad: invalid field name: 1x") == true)
        }
    }

    @Test("Runs SQL files before and after the migration in order, and a failing one stops it")
    func scripts() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-migration-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        func file(_ name: String, _ sql: String) throws -> JSONValue {
            try Data(sql.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
            return .string("\(folder)/\(name)")
        }
        let before: JSONValue = [
            try file("1.sql", "CREATE TABLE notes (n serial, text text);"),
            try file("2.sql", "INSERT INTO notes (text) VALUES ('before');"),
        ]
        let after = try file(
            "3.sql", "INSERT INTO notes (text) SELECT \"className\" FROM \"_SCHEMA\" WHERE \"className\" = 'Song';")
        let options = Self.options(
            [["className": "Song"]], ["beforeMigration": before, "afterMigration": after, "strict": true])
        try await TestServer.run(options) { server in
            let notes = try await server.texts("SELECT text FROM notes ORDER BY n")
            #expect(notes == ["before", "Song"])
            // The table already exists, so the first file fails.
            #expect(await Self.refusal(server, options)?.contains("1.sql") == true)
            #expect(try await server.texts("SELECT text FROM notes ORDER BY n") == ["before", "Song"])
        }
    }

    @Test("Servers that start concurrently create defined classes and indexes once")
    func several() async throws {
        let fields: JSONValue = [
            "a": ["type": "String"], "b": ["type": "Number"], "c": ["type": "Relation", "targetClass": "_User"],
        ]
        let definitions = (0..<5).map { number -> JSONValue in
            [
                "className": .string("Song\(number)"), "fields": fields,
                "indexes": ["same": ["a": 1], "other\(number)": ["b": -1]],
            ]
        }
        try await TestServer.run { server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await server.alongside(Self.options(definitions, ["strict": true])) { other in
                            for number in 0..<5 {
                                let song = try await Self.schema(other, "Song\(number)")
                                #expect(song["fields"]?["b"] == ["type": "Number"])
                                #expect(song["indexes"]?["other\(number)"] == ["b": -1])
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let indexes = try await server.texts(
                "SELECT count(*)::text FROM pg_indexes WHERE tablename LIKE 'Song%' AND indexname ~ '^(same|other|roost_index)'"
            )
            #expect(indexes == ["10"])
        }
    }
}
