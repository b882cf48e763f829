import JSON
import TestSupport
import Testing

/// Parse Dashboard's calls, in the format of its JavaScript SDK.
@Suite struct DashboardTests {
    /// Sends a request like a browser: a POST of plain text with method and keys in the body.
    private static func call(_ server: TestServer, _ method: String, _ path: String, _ parameters: JSONObject = [:])
        async throws -> TestAnswer
    {
        var body = parameters
        body["_ApplicationId"] = .string(TestServer.applicationID)
        body["_MasterKey"] = .string(TestServer.masterKey)
        body["_ClientVersion"] = "js3.5.1"
        body["_InstallationId"] = "9d2ce4ba-7f0f-4f0b-b4ac-3f1cf2bca5bf"
        if method != "POST" { body["_method"] = .string(method) }
        return try await server.send(
            "POST", "/" + path, bytes: JSONValue.object(body).serialized(), as: .nobody,
            headers: ["Content-Type": "text/plain", "Origin": "http://dashboard.example"])
    }

    private struct Call {
        let method: String
        let path: String
        let parameters: JSONObject
        let status: Int
        let holds: @Sendable (TestAnswer) -> Bool

        init(
            _ method: String, _ path: String, _ parameters: JSONObject = [:], status: Int = 200,
            _ holds: @escaping @Sendable (TestAnswer) -> Bool = { _ in true }
        ) {
            self.method = method
            self.path = path
            self.parameters = parameters
            self.status = status
            self.holds = holds
        }
    }

    private static let systemFields = ["objectId", "createdAt", "updatedAt", "ACL"]

    private static let schemas: [Call] = [
        Call("GET", "schemas/") { answer in
            let classes = answer.results.compactMap { $0["className"]?.stringValue }
            return ["_User", "_Role", "_Session", "_Installation"].allSatisfy(classes.contains)
                && answer.results.allSatisfy { result in
                    systemFields.allSatisfy { result["fields"]?[$0]?["type"] != nil }
                        && result["classLevelPermissions"]?["find"] != nil
                }
        },
        Call("POST", "schemas/Song", ["className": "Song"]) {
            $0["className"] == "Song" && $0["fields"]?["ACL"]?["type"] == "ACL"
        },
        Call(
            "PUT", "schemas/Song",
            [
                "className": "Song",
                "fields": ["title": ["type": "String", "required": true, "defaultValue": "untitled"]],
            ]
        ) {
            $0["fields"]?["title"]?["defaultValue"] == "untitled"
        },
        Call(
            "PUT", "schemas/Song",
            [
                "className": "Song",
                "fields": [
                    "plays": ["type": "Number"], "on": ["type": "Boolean"], "at": ["type": "Date"],
                    "meta": ["type": "Object"],
                    "tags": ["type": "Array"], "cover": ["type": "File"], "place": ["type": "GeoPoint"],
                    "area": ["type": "Polygon"],
                    "raw": ["type": "Bytes"], "by": ["type": "Pointer", "targetClass": "_User"],
                    "fans": ["type": "Relation", "targetClass": "_User"], "unused": ["type": "String"],
                ],
            ]
        ) { $0["fields"]?.objectValue?.count == 17 },
        Call("PUT", "schemas/Song", ["className": "Song", "fields": ["unused": ["__op": "Delete"]]]) {
            $0["fields"]?["unused"] == nil
        },
        Call(
            "PUT", "schemas/Song",
            [
                "className": "Song",
                "classLevelPermissions": [
                    "find": ["*": true], "get": ["requiresAuthentication": true], "protectedFields": ["*": ["raw"]],
                ],
            ]
        ) {
            $0["classLevelPermissions"]?["get"] == ["requiresAuthentication": true]
                && $0["classLevelPermissions"]?["delete"] == [:]
        },
        Call("GET", "schemas/Song") { $0["classLevelPermissions"]?["protectedFields"] == ["*": ["raw"]] },
        Call("POST", "schemas/Empty", ["className": "Empty"]), Call("DELETE", "schemas/Empty") { $0.json == [:] },
    ]

    private static let objects: [Call] = [
        Call(
            "POST", "classes/Song",
            ["title": "a", "plays": 1, "tags": ["x"], "raw": ["__type": "Bytes", "base64": "AQ=="]], status: 201
        ) { $0["objectId"] != nil },
        Call("POST", "classes/Song", ["ACL": ["*": ["read": true]]], status: 201) { $0["title"] == "untitled" },
        Call("GET", "classes/Song", ["where": [:], "limit": 0, "count": 1]) { $0["count"] == 2 && $0.results.isEmpty },
        Call(
            "GET", "classes/Song",
            ["where": ["title": "a"], "limit": 100, "skip": 0, "order": "-createdAt", "include": "by"]
        ) {
            $0.results.count == 1 && $0.results.first?["raw"]?["base64"] == "AQ=="
        },
        Call("GET", "classes/Song", ["where": ["fans": .pointer("_User", "nobody")], "limit": 0, "count": 1]) {
            $0["count"] == 0
        },
        Call("GET", "aggregate/Song", ["distinct": "title"]) { $0.results == ["a", "untitled"] },
        Call("GET", "aggregate/Song", ["pipeline": [["$group": ["_id": "$title"]]]]) { $0.results.count == 2 },
        Call(
            "POST", "batch",
            [
                "requests": [
                    ["method": "POST", "path": "/parse/classes/Song", "body": ["title": "b"]],
                    ["method": "DELETE", "path": "/parse/classes/Song/nosuch", "body": [:]],
                ]
            ]
        ) {
            $0.json.arrayValue?.first?["success"]?["objectId"] != nil
                && $0.json.arrayValue?.last?["error"]?["code"] == 101
        },
        Call("POST", "files/cover.png", ["base64": "iVBORw0KGgo=", "_ContentType": "image/png"], status: 201) {
            $0["name"]?.stringValue?.hasSuffix("_cover.png") == true
        },
        Call("DELETE", "purge/Song") { $0.json == [:] },
        Call("GET", "classes/Song", ["where": [:], "limit": 0, "count": 1]) { $0["count"] == 0 },
        Call("GET", "classes/_User", ["where": [:], "limit": 100, "order": "-createdAt"]) { $0["results"] != nil },
        Call("POST", "users", ["username": "kim", "password": "secret"], status: 201) { $0["objectId"] != nil },
        Call("GET", "classes/_Session", ["where": [:], "limit": 100, "include": "user"]) { $0["results"] != nil },
        Call("POST", "classes/_Role", ["name": "Staff", "ACL": [:]], status: 201),
        Call("GET", "classes/_Installation") { $0["results"] != nil },
        Call("GET", "classes/_PushStatus", ["order": "-createdAt", "limit": 10]) { $0.results.isEmpty },
        Call("GET", "classes/_JobStatus", ["order": "-createdAt", "limit": 10]) { $0.results.isEmpty },
        Call("GET", "classes/_Audience", ["where": [:], "count": 1]) { $0["count"] == 0 },
        Call("POST", "loginAs", ["userId": "nosuch"], status: 404) { $0.code == 101 },
    ]

    private static let screens: [Call] = [
        Call("GET", "serverInfo") { answer in
            let features = answer["features"]
            let browser = [
                "addField", "removeField", "addClass", "removeClass", "clearAllDataFromClass",
                "editClassLevelPermissions",
            ]
            return answer["parseServerVersion"] == "9.10.4" && features?["push"]?.objectValue != nil
                && browser.allSatisfy { features?["schemas"]?[$0] == true }
                && features?["globalConfig"]?["update"] == true
        },
        Call("GET", "config") { $0["params"] == [:] },
        Call("PUT", "config", ["params": ["a": 1, "b": "two"], "masterKeyOnly": ["b": true]]) { $0["result"] == true },
        Call("PUT", "config", ["params": ["a": ["__op": "Delete"]], "masterKeyOnly": ["a": false]]) {
            $0["result"] == true
        },
        Call("GET", "config") { $0["params"] == ["b": "two"] && $0["masterKeyOnly"]?["b"] == true },
        Call("GET", "hooks/functions") { $0.json == [] }, Call("GET", "hooks/triggers") { $0.json == [] },
        Call("POST", "hooks/functions", ["functionName": "f", "url": "https://a.example"]) {
            $0["url"] == "https://a.example"
        },
        Call("PUT", "hooks/functions/f", ["url": "https://b.example"]) { $0["url"] == "https://b.example" },
        Call("PUT", "hooks/functions/f", ["__op": "Delete"]) { $0.json == [:] },
        Call("POST", "hooks/triggers", ["className": "Song", "triggerName": "afterSave", "url": "https://a.example"]) {
            $0["triggerName"] == "afterSave"
        },
        Call("PUT", "hooks/triggers/Song/afterSave", ["__op": "Delete"]) { $0.json == [:] },
        Call("GET", "cloud_code/jobs", ["per_page": 50]) { $0.json == [] },
        Call("GET", "cloud_code/jobs/data") { $0["jobs"] == [] && $0["in_use"] == [] },
        Call("POST", "jobs", ["jobName": "clean", "when": 0], status: 400) { $0.code == 141 },
        Call("GET", "push_audiences", ["limit": 10]) { $0.results.isEmpty },
        Call("POST", "push_audiences", ["name": "All", "query": "{\"deviceType\":{\"$in\":[\"ios\"]}}"], status: 201),
        Call("GET", "push_audiences", ["limit": 10]) { $0.results.first?["query"]?["deviceType"]?["$in"] == ["ios"] },
        Call("GET", "security") {
            $0["report"]?["groups"]?.arrayValue?.isEmpty == false && $0["report"]?["state"] != nil
        },
    ]

    @Test(
        "Serves the requests of every Parse Dashboard screen, with CORS headers",
        arguments: ["schemas", "objects", "screens"])
    func calls(part: String) async throws {
        try await TestServer.run(["security": ["enableCheck": true]]) { server in
            var calls: [Call] = []
            switch part {
            case "schemas": calls = Self.schemas
            case "objects": calls = Array(Self.schemas.dropFirst()) + Self.objects
            default: calls = Self.screens
            }
            for call in calls {
                let answer = try await Self.call(server, call.method, call.path, call.parameters)
                #expect(answer.status == call.status, "\(call.method) \(call.path): \(answer.text)")
                #expect(call.holds(answer), "\(call.method) \(call.path) \(call.parameters): \(answer.text)")
                #expect(answer.headers["access-control-allow-origin"] == "*", "\(call.path)")
            }
        }
    }

    @Test("Saves and reads back pointers, relations, ACLs and deleted fields, and logs in as a user")
    func editing() async throws {
        try await TestServer.run { server in
            let user = try await Self.call(server, "POST", "users", ["username": "kim", "password": "secret"])
                .succeeded()
                .string("objectId")
            let song = try await Self.call(server, "POST", "classes/Song", ["title": "a"]).succeeded().string(
                "objectId")
            let changes: JSONObject = [
                "by": .pointer("_User", user), "tags": ["x", 1],
                "fans": .operation("AddRelation", [.pointer("_User", user)]),
                "ACL": .object([Name(user): ["read": true, "write": true]]), "at": .date("2020-01-01T00:00:00.000Z"),
            ]
            _ = try await Self.call(server, "PUT", "classes/Song/\(song)", changes).succeeded()
            let read = try await Self.call(server, "GET", "classes/Song/\(song)", ["include": "by"]).succeeded()
            #expect(read["by"]?["username"] == "kim")
            #expect(same(read["tags"], ["x", 1]))
            #expect(same(read["ACL"], changes["ACL"]))
            let related: JSONObject = ["$relatedTo": ["object": .pointer("Song", song), "key": "fans"]]
            let fans = try await Self.call(server, "GET", "classes/_User", ["where": .object(related), "count": 1])
                .succeeded()
            #expect(fans["count"] == 1)
            let session = try await Self.call(server, "POST", "loginAs", ["userId": .string(user)]).succeeded()
            #expect(session["sessionToken"]?.stringValue?.hasPrefix("r:") == true)
            _ = try await Self.call(server, "PUT", "classes/Song/\(song)", ["tags": ["__op": "Delete"]]).succeeded()
            #expect(try await Self.call(server, "GET", "classes/Song/\(song)")["tags"] == nil)
        }
    }

    @Test("Answers the CORS preflight of Parse Dashboard's browser")
    func preflight() async throws {
        try await TestServer.run { server in
            let answer = try await server.send(
                "OPTIONS", "/classes/Song", as: .nobody,
                headers: [
                    "Origin": "http://dashboard.example", "Access-Control-Request-Method": "POST",
                    "Access-Control-Request-Headers": "content-type",
                ])
            #expect(answer.status == 200)
            #expect(answer.headers["access-control-allow-headers"]?.contains("Content-Type") == true)
            #expect(answer.headers["access-control-allow-methods"]?.contains("POST") == true)
        }
    }
}
