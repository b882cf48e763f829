import Foundation
import JSON
import TestSupport
import Testing

/// Moving a whole app from one server to another with `scripts/copy_app.py`.
///
/// A server inside another's turn takes a second place of the gate: one test at a time does so, and always gets it.
@Suite(.serialized) struct CopyAppTests {
    /// Classes whose objects are compared.
    private static let classes = ["Song", "Artist", "Empty", "_User", "_Role", "_Installation", "_Session"]

    @Test("A copied app is the same app: classes, objects, relations, configuration, passwords and sessions")
    func copy() async throws {
        try await TestServer.run(["allowCustomObjectId": true]) { source in
            let kim = try await Self.fill(source)
            try await TestServer.run { target in
                let run = try await CopyAppProcess(source: source, target: target).run()
                #expect(run.status == 0, "\(run.output)")
                try await Self.compare(source, target)
                #expect(try await target.send("GET", "/users/me", as: .session(kim.token)).status == 200)
                #expect(run.files == ["cover.png\t\(source.url)/files/\(TestServer.applicationID)/cover.png"])
                // What only a role reads is read by its members on the new server too.
                let secret = try await target.find("Artist", ["where": ["name": "secret"]], as: .session(kim.token))
                #expect(secret.results.count == 1)
                #expect(try await target.find("Artist", ["where": ["name": "secret"]]).results.isEmpty)

                let again = try await CopyAppProcess(source: source, target: target).run()
                #expect(again.status == 0, "\(again.output)")
                try await Self.compare(source, target)
                let login = try await target.send("POST", "/login", ["username": "kim", "password": "secret"])
                #expect(login["objectId"] == .string(kim.id), "\(login.text)")
            }
        }
    }

    @Test("What cannot be copied is named, and the rest is copied")
    func refusals() async throws {
        try await TestServer.run(["allowCustomObjectId": true]) { source in
            for index in 0..<5 {
                _ = try await source.create("Song", ["objectId": .string("s\(index)"), "title": "x"], as: .master)
            }
            _ = try await source.create("Artist", ["objectId": "a", "name": "kim"], as: .master)
            try await TestServer.run { target in
                _ = try await target.create("Song", ["title": 5])
                let run = try await CopyAppProcess(source: source, target: target).run()
                #expect(run.status == 1)
                #expect(run.output.contains("not copied: field Song.title"), "\(run.output)")
                #expect(run.output.contains("not copied: Song s4: 111"), "\(run.output)")
                #expect(try await target.find("Artist").results.count == 1)
                #expect(try await target.find("Song").results.count == 1)
            }
        }
    }

    /// Fills a server with every kind of data, and gives a user whose password is `secret`.
    private static func fill(_ server: TestServer) async throws -> (id: String, token: String) {
        let kim = try await server.signUp("kim", ["email": "kim@example.com", "age": 30])
        let lou = try await server.signUp("lou")
        try await makeClasses(server)
        try await makeSongs(server, fans: [kim.id, lou.id])
        _ = try await server.create(
            "Artist",
            ["name": "secret", "ACL": ["role:Admins": ["read": true]], "detail": ["deep": [["x": nil], 1.5, true]]])
        let inner = try await server.create(
            "_Role",
            [
                "name": "Editors", "ACL": ["*": ["read": true]],
                "users": ["__op": "AddRelation", "objects": [.pointer("_User", kim.id)]],
            ], as: .master)
        _ = try await server.create(
            "_Role",
            [
                "name": "Admins", "ACL": [:], "roles": ["__op": "AddRelation", "objects": [.pointer("_Role", inner)]],
            ], as: .master)
        _ = try await server.create(
            "_Installation",
            ["installationId": "device", "deviceType": "ios", "deviceToken": "token", "channels": ["a"]], as: .master)
        _ = try await server.send(
            "PUT", "/config", ["params": ["open": [1, "x"], "closed": 2], "masterKeyOnly": ["closed": true]],
            as: .master
        ).succeeded()
        return kim
    }

    private static func makeClasses(_ server: TestServer) async throws {
        let song: JSONValue = [
            "fields": [
                "title": ["type": "String", "required": true], "plays": ["type": "Number", "defaultValue": 0],
                "fans": ["type": "Relation", "targetClass": "_User"], "secret": ["type": "String"],
            ],
            "classLevelPermissions": [
                "find": ["*": true], "get": ["*": true], "count": ["*": true], "create": ["role:Editors": true],
                "update": ["requiresAuthentication": true], "delete": [:], "addField": [:],
                "protectedFields": ["*": ["secret"]],
            ],
            "indexes": ["byTitle": ["title": 1, "plays": 1]],
        ]
        _ = try await server.send("POST", "/schemas/Song", song, as: .master).succeeded()
        _ = try await server.send(
            "POST", "/schemas/Empty", ["fields": ["area": ["type": "Polygon"]]], as: .master
        ).succeeded()
    }

    /// More songs than a page has, many of them of one millisecond, with every type among them.
    private static func makeSongs(_ server: TestServer, fans: [String]) async throws {
        let requests: [JSONValue] = (0..<60).map { index in
            var song: JSONObject = [
                "objectId": .string("song\(index)"), "title": .string("Title \(index) “é”"),
                "createdAt": .date(index < 40 ? "2015-01-02T03:04:05.678Z" : "2016-01-02T03:04:05.0\(index)Z"),
                "updatedAt": .date("2020-01-02T03:04:05.678Z"),
            ]
            switch index {
            case 0:
                song["place"] = ["__type": "GeoPoint", "latitude": 52.5, "longitude": 13.4]
                song["released"] = .date("1999-12-31T23:59:59.999Z")
                song["artist"] = .pointer("Artist", "nobody")
                song["cover"] = ["__type": "File", "name": "cover.png"]
                song["data"] = ["__type": "Bytes", "base64": "AAEC"]
                song["secret"] = "hidden"
            case 1: song["ACL"] = ["*": ["read": true], "role:Editors": ["write": true]]
            case 2, 50: song["fans"] = .operation("AddRelation", fans.map { .pointer("_User", $0) })
            default: song["plays"] = .number(Double(index) / 4)
            }
            return ["method": "POST", "path": "/parse/classes/Song", "body": .object(song)]
        }
        let answer = try await server.send("POST", "/batch", ["requests": .array(requests)], as: .maintenance)
        let failed = answer.json.arrayValue?.filter { $0["success"] == nil } ?? [.null]
        #expect(failed.isEmpty, "\(failed)")
    }

    /// Expects that two servers hold the same app.
    private static func compare(_ source: TestServer, _ target: TestServer) async throws {
        for path in ["/schemas", "/config"] {
            let (old, new) = (
                try await source.send("GET", path, as: .master).succeeded(),
                try await target.send("GET", path, as: .master).succeeded()
            )
            #expect(same(old.json, new.json), "\(old.text)\n\(new.text)")
        }
        for name in classes {
            let (old, new) = (try await objects(name, source), try await objects(name, target))
            #expect(old.count == new.count, "\(name)")
            #expect((name == "Empty") == old.isEmpty, "\(name)")
            for (old, new) in zip(old, new) { #expect(same(old, new), "\(old)\n\(new)") }
        }
        for (owner, key, members) in [
            (JSONValue.pointer("Song", "song2"), "fans", "_User"), (.pointer("Song", "song50"), "fans", "_User"),
            (.pointer("Song", "song3"), "fans", "_User"),
        ] {
            let query: JSONObject = [
                "where": ["$relatedTo": ["object": owner, "key": .string(key)]], "order": "objectId",
                "keys": "username",
            ]
            let old = try await source.find(members, query, as: .master)
            let new = try await target.find(members, query, as: .master)
            #expect(old.results.count == (owner["objectId"] == "song3" ? 0 : 2))
            #expect(same(old.json, new.json))
        }
    }

    /// All objects of a class as the maintenance key sees them; links to files without the server that they name.
    private static func objects(_ className: String, _ server: TestServer) async throws -> [JSONValue] {
        let answer = try await server.find(
            className, ["order": "objectId", "limit": 1000], as: .maintenance
        ).succeeded()
        return try JSONValue(parsing: answer.text.replacing(server.url, with: ""))["results"]?.arrayValue ?? []
    }
}
