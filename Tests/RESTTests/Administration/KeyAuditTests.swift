import JSON
import TestSupport
import Testing

@Suite("Audit log of server keys")
struct KeyAuditTests {
    private static let anna = ["X-Parse-Master-Key": "anna-key"]
    private static let options: JSONObject = [
        "adminKeys": ["anna": "c2ee7195c6e40b50ba61576394dd66f870e592e2333947c51c39cc11bd332f7a"],
        "audit": ["events": ["write", "schema", "config", "hooks", "role", "file"]],
    ]

    private static func rows(_ server: TestServer, _ query: String = "") async throws -> [JSONValue] {
        let answer = try await server.send("GET", "/audit\(query)", as: .master)
        #expect(answer.status == 200, "\(answer.text)")
        return try #require(answer["rows"]?.arrayValue).reversed()
    }

    @Test("Deletes entries older than 90 days at startup, even if the console is disabled")
    func sweeping() async throws {
        var options = Self.options
        options["console"] = ["enabled": false]
        try await TestServer.run(options) { server in
            let song = try await server.send("POST", "/classes/Song", ["title": "a"], as: .master)
            #expect(song.status == 201)
            try await server.execute(
                """
                INSERT INTO "_roost_audit" ("at", "operator", "role", "address", "requestId", "method", "path")
                VALUES (now() - interval '91 days', 'old', 'key', '', '', 'POST', 'classes/Song'),
                    (now() - interval '89 days', 'recent', 'key', '', '', 'POST', 'classes/Song')
                """)
            // Servers delete old entries when they start.
            try await server.alongside { other in
                let isSwept = try await eventually {
                    try await other.texts("SELECT \"operator\" FROM \"_roost_audit\" ORDER BY \"at\"")
                        == ["recent", "masterKey"]
                }
                #expect(isSwept)
            }
        }
    }

    @Test("Records which key changed what, without values")
    func changes() async throws {
        try await TestServer.run(Self.options) { server in
            let song = try await server.send(
                "POST", "/classes/Song", ["title": "hidden value", "plays": 1], headers: Self.anna)
            #expect(song.status == 201, "\(song.text)")
            let id = try song.string("objectId")
            _ = try await server.send("PUT", "/classes/Song/\(id)", ["title": "hidden value"], as: .master)
            let batch: JSONValue = [
                "requests": [
                    ["method": "POST", "path": "/parse/classes/Song", "body": ["title": "hidden value"]],
                    ["method": "DELETE", "path": .string("/parse/classes/Song/\(id)")],
                    ["method": "GET", "path": "/parse/classes/Song"],
                ]
            ]
            _ = try await server.send("POST", "/batch", batch, headers: Self.anna)
            _ = try await server.send("PUT", "/config", ["params": ["limit": 5]], headers: Self.anna)
            _ = try await server.send("POST", "/schemas/Album", ["className": "Album"], headers: Self.anna)
            let role: JSONValue = ["name": "admins", "ACL": ["*": ["read": true]]]
            _ = try await server.send("POST", "/roles", role, headers: Self.anna)
            let stored = try await server.send(
                "POST", "/files/a.txt", bytes: Array("hidden value".utf8), as: .anonymous, headers: Self.anna)
            let name = try stored.string("name")
            _ = try await server.send("DELETE", "/files/\(name)", headers: Self.anna)
            let rows = try await Self.rows(server)
            let paths = rows.map { "\($0["method"]?.stringValue ?? "") \($0["path"]?.stringValue ?? "")" }
            #expect(
                paths == [
                    "POST classes/Song", "PUT classes/Song/\(id)", "POST batch", "PUT config", "POST schemas/Album",
                    "POST roles", "POST files/a.txt", "DELETE files/\(name)",
                ])
            #expect(rows.map { $0["operator"] } == rows.indices.map { $0 == 1 ? "masterKey" : "anna" })
            #expect(rows.map { $0["status"] } == [201, 200, 200, 200, 200, 201, 201, 200])
            #expect(rows[0]["className"] == "Song")
            #expect(rows[0]["ids"] == [.string(id)])
            #expect(rows[0]["fields"] == ["plays", "title"])
            #expect(rows[0]["role"] == "key")
            #expect(rows[0]["requestId"] == song.headers["x-request-id"].map { .string($0) })
            #expect(rows[2]["count"] == 2)
            #expect(rows[2]["ids"]?.arrayValue?.count == 2)
            #expect(rows[3]["fields"] == ["limit"])
            #expect(rows[4]["className"] == "Album" && rows[5]["className"] == "_Role")
            #expect(rows[6]["ids"] == [.string(name)])
            #expect(!JSONValue.array(rows).text.contains("hidden"))
            let ofRole = try await Self.rows(server, "?className=_Role")
            #expect(ofRole.count == 1)
            #expect(try await server.send("GET", "/audit").status == 403)
        }
    }

    @Test("A failed update of an entry leaves its status empty and doesn't fail the request")
    func incomplete() async throws {
        let log = LogLines()
        try await TestServer.run(Self.options, logger: log.logger) { server in
            _ = try await server.send("POST", "/classes/Song", ["plays": 1], as: .master).succeeded()
            try await server.execute(
                """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
                CREATE TRIGGER refuse BEFORE UPDATE ON "_roost_audit" FOR EACH ROW EXECUTE FUNCTION refuse();
                """)
            let made = try await server.send("POST", "/classes/Song", ["plays": 2], as: .master)
            #expect(made.status == 201 && made["objectId"] != nil, "\(made.text)")
            let rows = try await Self.rows(server)
            #expect(rows.map { $0["status"] ?? .null } == [201, .null])
            #expect(
                log.all.contains { $0.hasPrefix("error could not store the result of an audit entry") }, "\(log.all)")
        }
    }

    @Test("Records failed writes with their status, but no reads, client requests or unselected events")
    func others() async throws {
        var options = Self.options
        options["audit"] = ["events": ["write"]]
        try await TestServer.run(options) { server in
            let made = try await server.send("POST", "/classes/Song", ["plays": 1], as: .master)
            #expect(made.status == 201)
            let refused = try await server.send("PUT", "/classes/Song/none", ["plays": 2], headers: Self.anna)
            #expect(refused.status == 404)
            #expect(refused.code == 101)
            _ = try await server.send("GET", "/classes/Song", headers: Self.anna)
            let client = try await server.send("POST", "/classes/Song", ["plays": 1])
            #expect(client.status == 201, "\(client.text)")
            _ = try await server.send("PUT", "/config", ["params": ["limit": 5]], headers: Self.anna)
            let wrong = try await server.send(
                "POST", "/classes/Song", ["plays": 1], headers: ["X-Parse-Master-Key": "anna"])
            #expect(wrong.status == 201)
            let rows = try await Self.rows(server)
            #expect(rows.map { $0["status"] } == [201, 404])
        }
    }

    @Test("Records a rolled-back batch as one entry with its status, and changes to hooks and schemas")
    func undone() async throws {
        try await TestServer.run(Self.options) { server in
            _ = try await server.send("POST", "/schemas/Song", ["className": "Song"], headers: Self.anna).succeeded()
            let fields: JSONValue = ["className": "Song", "fields": ["plays": ["type": "Number"]]]
            _ = try await server.send("PUT", "/schemas/Song", fields, headers: Self.anna).succeeded()
            let hook: JSONValue = ["functionName": "hello", "url": "http://127.0.0.1:9/hidden"]
            _ = try await server.send("POST", "/hooks/functions", hook, headers: Self.anna).succeeded()
            let batch: JSONValue = [
                "transaction": true,
                "requests": [
                    ["method": "POST", "path": "/parse/classes/Song", "body": ["plays": 1]],
                    ["method": "PUT", "path": "/parse/classes/Song/none", "body": ["plays": 2]],
                ],
            ]
            let undone = try await server.send("POST", "/batch", batch, headers: Self.anna)
            #expect(undone.status >= 400, "\(undone.text)")
            let left = try await server.find("Song", as: .master).json["results"]?.arrayValue
            #expect(left?.isEmpty == true)
            _ = try await server.send("DELETE", "/hooks/functions/hello", headers: Self.anna).succeeded()
            _ = try await server.send("DELETE", "/schemas/Song", headers: Self.anna).succeeded()
            let rows = try await Self.rows(server)
            #expect(
                rows.map { "\($0["method"]?.stringValue ?? "") \($0["path"]?.stringValue ?? "")" } == [
                    "POST schemas/Song", "PUT schemas/Song", "POST hooks/functions", "POST batch",
                    "DELETE hooks/functions/hello", "DELETE schemas/Song",
                ])
            #expect(rows.map { $0["status"] } == [200, 200, 200, .number(Double(undone.status)), 200, 200])
            #expect(rows[3]["count"] == 2)
            #expect(!JSONValue.array(rows).text.contains("hidden"))
        }
    }

    @Test("Records the maintenance key's changes and rejected requests, but not its reads")
    func maintenance() async throws {
        try await TestServer.run(Self.options) { server in
            let user = try await server.signUp("kim")
            let id = user.id
            let changed = try await server.send(
                "PUT", "/users/\(id)", ["_failed_login_count": 1], as: .maintenance)
            #expect(changed.status == 200, "\(changed.text)")
            let refused = try await server.send(
                "POST", "/schemas/Album", ["className": "Album"], as: .maintenance)
            #expect(refused.status == 403, "\(refused.text)")
            let batch: JSONValue = [
                "requests": [["method": "POST", "path": "/parse/classes/Song", "body": ["title": "hidden value"]]]
            ]
            _ = try await server.send("POST", "/batch", batch, as: .maintenance).succeeded()
            let stored = try await server.send("POST", "/files/a.txt", bytes: Array("a".utf8), as: .maintenance)
            #expect(stored.status == 201, "\(stored.text)")
            _ = try await server.send("GET", "/classes/_User/\(id)", as: .maintenance).succeeded()
            let rows = try await Self.rows(server, "?operator=maintenanceKey")
            #expect(
                rows.map { "\($0["method"]?.stringValue ?? "") \($0["path"]?.stringValue ?? "")" } == [
                    "PUT users/\(id)", "POST schemas/Album", "POST batch", "POST files/a.txt",
                ])
            #expect(rows.map { $0["status"] } == [200, 403, 200, 201])
            #expect(rows[0]["className"] == "_User")
            #expect(rows[0]["fields"] == ["_failed_login_count"])
            #expect(!JSONValue.array(rows).text.contains("hidden"))
            #expect(try await Self.rows(server).count == rows.count)
        }
    }

    @Test("Records nothing by default")
    func off() async throws {
        try await TestServer.run { server in
            _ = try await server.send("POST", "/classes/Song", ["plays": 1], as: .master)
            let rows = try await Self.rows(server)
            #expect(rows.isEmpty)
        }
    }
}
