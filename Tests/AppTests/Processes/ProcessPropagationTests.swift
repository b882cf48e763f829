import JSON
import TestSupport
import Testing

/// Several processes on one database. Changes through one apply to all. `SessionPropagationTests` is a separate suite
/// because the tests of each run one after another.
@Suite("Changes in several processes", .serialized, .timeLimit(.minutes(10)))
struct ProcessPropagationTests {
    @Test("Changes, deletions and recreations of a class apply in all processes within a second", arguments: [2, 4])
    func classes(count: Int) async throws {
        try await ServerProcesses.run(count) { processes in
            try await processes.expectObeyed("a new class") {
                _ = try await processes[0].create("Song", ["title": "a"])
            } isObeyed: {
                try await $0.find("Song").results.count == 1
            }
            try await processes.expectObeyed("a field that a write makes") {
                _ = try await processes[1].create("Song", ["title": "b", "year": 2000])
            } isObeyed: {
                try await $0.find("Song").results.contains { $0["year"] == 2000 }
            }
            try await processes.expectObeyed("a field of the schemas API") {
                _ = try await Self.change(processes[2], ["fields": ["label": ["type": "Boolean"]]])
            } isObeyed: {
                try await Self.schema($0)["fields"]?["label"] != nil
            }
            for server in processes.servers {
                #expect(try await server.send("POST", "/classes/Song", ["label": "text"]).code == 111)
            }
            try await processes.expectObeyed("a closed class") {
                _ = try await Self.change(processes[3], ["classLevelPermissions": ["get": ["*": true]]])
            } isObeyed: {
                try await $0.find("Song").code == 119
            }
            try await processes.expectObeyed("a protected field") {
                let permissions: JSONValue = ["find": ["*": true], "protectedFields": ["*": ["year"]]]
                _ = try await Self.change(processes[4], ["classLevelPermissions": permissions])
            } isObeyed: {
                let found = try await $0.find("Song").results
                return found.count == 2 && found.allSatisfy { $0["year"] == nil }
            }
            try await processes.expectObeyed("a field that is removed") {
                _ = try await Self.change(processes[5], ["fields": ["year": ["__op": "Delete"]]])
            } isObeyed: {
                let found = try await $0.find("Song", as: .master).succeeded().results
                let isShown = found.contains { $0["year"] != nil }
                let isListed = try await Self.schema($0)["fields"]?["year"] != nil
                return !isShown && !isListed
            }
            try await processes.expectObeyed("a class that is removed") {
                _ = try await processes[6].send("DELETE", "/purge/Song", as: .master).succeeded()
                _ = try await processes[6].send("DELETE", "/schemas/Song", as: .master).succeeded()
            } isObeyed: {
                try await Self.schema($0).code == 103
            }
            try await processes.expectObeyed("a class that is made again") {
                _ = try await processes[7].create("Song", ["title": 5])
            } isObeyed: {
                try await $0.find("Song").results.first?["title"] == 5
            }
            for server in processes.servers {
                #expect(try await server.send("POST", "/classes/Song", ["title": "text"]).code == 111)
            }
        }
    }

    @Test("All processes serve a file stored in the database until one deletes it")
    func files() async throws {
        try await ServerProcesses.run(3, ["filesAdapter": "postgres"]) { processes in
            let stored = try await processes[0].send("POST", "/files/a.txt", bytes: Array("0123".utf8), as: .master)
                .succeeded()
            let name = try stored.string("name")
            func ask(_ server: TestServer) async throws -> TestAnswer {
                try await server.send("GET", "/files/\(TestServer.applicationID)/\(name)", as: .nobody)
            }
            for server in processes.servers {
                let answer = try await ask(server)
                #expect(answer.status == 200 && answer.text == "0123")
            }
            _ = try await processes[1].send("DELETE", "/files/\(name)", as: .master).succeeded()
            for server in processes.servers {
                let answer = try await ask(server)
                #expect(answer.status == 404)
            }
        }
    }

    @Test("Class changes that parse-server announces apply in all processes within a second", arguments: [2, 4])
    func parseServer(count: Int) async throws {
        try await ServerProcesses.run(count) { processes in
            _ = try await processes[0].create("Song", ["title": "a"])
            try await processes.expectObeyed("the class") { try await $0.find("Song").results.count == 1 }
            for turn in 1...6 {
                let isClosed = turn % 2 == 1
                let permissions = isClosed ? #"{"get":{"*":true}}"# : #"{"find":{"*":true}}"#
                try await processes.expectObeyed("permissions, change \(turn)") {
                    try await processes[turn].execute(
                        """
                        UPDATE "_SCHEMA" SET "schema" = json_object_set_key("schema", 'classLevelPermissions'::text,
                            '\(permissions)'::jsonb) WHERE "className" = 'Song';
                        NOTIFY "schema.change", '{"senderId":"parse-server \(turn)"}';
                        """)
                } isObeyed: {
                    try await ($0.find("Song").code == 119) == isClosed
                }
            }
            try await processes.expectObeyed("a field") {
                try await processes[0].execute(
                    """
                    ALTER TABLE "Song" ADD COLUMN IF NOT EXISTS "year" double precision;
                    UPDATE "Song" SET "year" = 2000;
                    UPDATE "_SCHEMA" SET "schema" = jsonb_set("schema", '{fields,year}', '{"type":"Number"}')
                        WHERE "className" = 'Song';
                    NOTIFY "schema.change", '{"senderId":"parse-server field"}';
                    """)
            } isObeyed: {
                try await $0.find("Song").results.first?["year"] == 2000
            }
            try await processes.expectObeyed("no class") {
                try await processes[0].execute(
                    """
                    DROP TABLE "Song";
                    DELETE FROM "_SCHEMA" WHERE "className" = 'Song';
                    NOTIFY "schema.change", '{"senderId":"parse-server class"}';
                    """)
            } isObeyed: {
                try await Self.schema($0).code == 103
            }
        }
    }

    @Test("Processes that change one class concurrently agree on it within a second")
    func contest() async throws {
        try await ServerProcesses.run(4) { processes in
            _ = try await processes[0].create("Song", ["title": "a"])
            try await processes.expectObeyed("the class") { try await $0.find("Song").results.count == 1 }
            for round in 1...15 {
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for turn in 0..<8 {
                        tasks.addTask {
                            let permissions: JSONValue = [
                                "find": turn % 2 == 0 ? ["*": true] : [:],
                                "protectedFields": ["*": [.string("f\(round)_\(turn)")]],
                            ]
                            let field: JSONValue = ["f\(round)_\(turn)": ["type": "Number"]]
                            _ = try await Self.change(
                                processes[turn], ["fields": field, "classLevelPermissions": permissions])
                        }
                    }
                    try await tasks.waitForAll()
                }
                let row = try await processes[0].texts(
                    "SELECT \"schema\"::text FROM \"_SCHEMA\" WHERE \"className\" = 'Song'")
                let stored = try JSONValue(parsing: Array(row.joined().utf8))
                let permissions = try #require(stored["classLevelPermissions"])
                let isOpen = permissions["find"] == ["*": true]
                try await processes.expectObeyed("round \(round)") { server in
                    let shown = try await Self.schema(server)
                    let isListed = (0..<8).allSatisfy { shown["fields"]?["f\(round)_\($0)"] != nil }
                    let isSame = same(
                        shown["classLevelPermissions"]?["protectedFields"], permissions["protectedFields"])
                    let isFound = try await server.find("Song").status == 200
                    return isListed && isSame && isFound == isOpen
                }
            }
        }
    }

    private static func schema(_ server: TestServer) async throws -> TestAnswer {
        try await server.send("GET", "/schemas/Song", as: .master)
    }

    private static func change(_ server: TestServer, _ body: JSONValue) async throws -> TestAnswer {
        try await server.send("PUT", "/schemas/Song", body, as: .master).succeeded()
    }
}
