import Console
import Foundation
import JSON
import TestSupport
import Testing

@Suite("Rows, trash and views in the console")
struct ConsoleRowsTests {
    @Test("Counts objects per class, and references to an object")
    func counts() async throws {
        try await TestServer.run { server in
            let artist = try await server.create("Artist", ["name": "Kim"])
            for _ in 0..<3 { _ = try await server.create("Song", ["artist": .pointer("Artist", artist)]) }
            let member = JSONValue.operation("AddRelation", [.pointer("Artist", artist)])
            _ = try await server.create("List", ["artists": member])
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            let counts = try await viewer.send("GET", "/console/api/counts")["classes"]?.arrayValue ?? []
            #expect(counts.first { $0["className"] == "Song" }?["objects"] == 3)
            let path = "/console/api/references?className=Artist&objectId=\(artist)"
            let references = try await viewer.send("GET", path)
            let found = (references["from"]?.arrayValue ?? []).map { [$0["className"], $0["field"], $0["count"]] }
            #expect(found == [["List", "artists", 1], ["Song", "artist", 3]], "\(references.text)")
            #expect(try await viewer.send("GET", "/console/api/references").status == 400)
        }
    }

    @Test("Access checks agree with the REST API and name the deciding rules")
    func may() async throws {
        try await TestServer.run { server in
            let (kim, kims) = try await server.signUp("kim")
            let (lou, lous) = try await server.signUp("lou")
            // Members of the inner role inherit the outer one.
            let admin = try await Self.role(server, "Admin", "users", "_User", kim)
            _ = try await Self.role(server, "Editor", "roles", "_Role", admin)
            let permissions: JSONObject = [
                "find": ["requiresAuthentication": true], "get": ["*": true], "count": [:],
                "create": ["role:Editor": true], "update": ["role:Editor": true, "pointerFields": ["by"]],
                "delete": ["*": true], "addField": [:], "protectedFields": ["*": ["secret"], "role:Editor": []],
            ]
            let schema: JSONValue = [
                "fields": [
                    "by": ["type": "Pointer", "targetClass": "_User"], "secret": ["type": "String"],
                    "title": ["type": "String"],
                ], "classLevelPermissions": .object(permissions),
            ]
            #expect(try await server.send("POST", "/schemas/Song", schema, as: .master).status == 200)
            let acl: JSONValue = ["*": ["read": true], "role:Editor": ["read": true, "write": true]]
            let made = try await server.send(
                "POST", "/classes/Song", ["title": "x", "secret": "y", "by": .pointer("_User", lou), "ACL": acl],
                as: .master)
            let song = try #require(made["objectId"]?.stringValue)
            let place = "/classes/Song/\(song)"
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            func may(_ user: String?, _ object: String? = nil, _ className: String = "Song") async throws -> TestAnswer
            {
                var body: JSONObject = ["className": .string(className), "user": user.map { .string($0) } ?? .null]
                if let object { body["objectId"] = .string(object) }
                return try await viewer.send("POST", "/console/api/may", .object(body))
            }
            var told: [String: JSONValue] = [:]
            let callers: [(String, String?, String?)] = [
                ("anonymous", nil, nil), ("lou", lou, lous), ("kim", kim, kims),
            ]
            for (name, user, token) in callers {
                let operations = try #require(try await may(user, song)["operations"])
                told[name] = operations
                func send(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws -> TestAnswer {
                    if let token { return try await server.send(method, path, body, as: .session(token)) }
                    return try await server.send(method, path, body, as: .anonymous)
                }
                let done: [(String, Bool)] = [
                    ("find", try await send("GET", "/classes/Song").results.count == 1),
                    ("count", try await send("GET", "/classes/Song?count=1&limit=0")["count"] == 1),
                    ("get", try await send("GET", place).status == 200),
                    ("update", try await send("PUT", place, ["title": "z"]).status == 200),
                    ("addField", try await send("PUT", place, ["other": 1]).status == 200),
                    ("create", try await send("POST", "/classes/Song", ["title": "n", "ACL": [:]]).status == 201),
                    ("delete", try await send("DELETE", place).status == 200),
                ]
                for (operation, isDone) in done {
                    #expect(operations[operation]?["allowed"]?.boolValue == isDone, "\(name) \(operation)")
                }
            }
            #expect(told["anonymous"]?["find"]?["because"] == [["rule": "class", "allows": ["authenticated"]]])
            #expect(
                told["lou"]?["update"]?["because"] == [["rule": "acl", "allows": ["role:Editor"]]])
            #expect(
                told["lou"]?["get"]?["because"] == [
                    ["rule": "class", "who": "*"], ["rule": "acl", "who": "*"],
                    ["rule": "protected", "field": "secret"],
                ])
            #expect(
                told["kim"]?["update"]?["because"] == [
                    ["rule": "class", "who": "role:Editor"], ["rule": "acl", "who": "role:Editor"],
                ])
            #expect(told["kim"]?["get"]?.text.contains("protected") == false)
            let ofClass = try #require(try await may(lou)["operations"])
            #expect(ofClass["update"]?["allowed"] == true && ofClass["update"]?["limited"] == true)
            #expect(ofClass["get"]?["limited"] == false && ofClass["create"]?["allowed"] == false)
            #expect(try await may(lou, "missing").status == 404)
            #expect(try await may("missing").status == 404)
            #expect(try await may(nil, nil, "None")["code"] == 103)
            #expect(try await viewer.send("POST", "/console/api/may", ["className": 1]).status == 400)
        }
    }

    private static func role(_ server: TestServer, _ name: String, _ field: Name, _ className: String, _ member: String)
        async throws -> String
    {
        let members: JSONValue = ["__op": "AddRelation", "objects": [.pointer(className, member)]]
        let answer = try await server.send(
            "POST", "/roles", .object(["name": .string(name), "ACL": [:], field: members]), as: .master)
        return try #require(answer["objectId"]?.stringValue, "\(answer.text)")
    }

    @Test("Editors can restore deleted objects from the trash, viewers can't")
    func trash() async throws {
        try await TestServer.run { server in
            let song = try await server.create("Song", ["title": "a"])
            let editor = try await ConsoleBrowser.operatorBrowser(server, "editor")
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            let before = try await editor.parse("GET", "/classes/Song/\(song)")
            let deleted = try await editor.parse("DELETE", "/classes/Song/\(song)")
            let id = try #require(deleted.headers["x-roost-trash"])
            let listed = try await viewer.send("GET", "/console/api/trash?className=Song")["objects"]?.arrayValue
            #expect(listed?.count == 1)
            #expect(listed?.first?["id"] == .string(id))
            #expect(listed?.first?["object"]?["title"] == "a")
            #expect(try await viewer.send("POST", "/console/api/trash/\(id)/restore").status == 403)
            let restored = try await editor.send("POST", "/console/api/trash/\(id)/restore")
            #expect(restored.status == 200, "\(restored.text)")
            #expect(try await editor.parse("GET", "/classes/Song/\(song)").json == before.json)
            #expect(try await editor.send("POST", "/console/api/trash/\(id)/restore").status == 404)
            let row = try #require(try await editor.audit().first)
            #expect(row["path"] == .string("trash/\(id)/restore"))
            #expect(row["ids"] == [.string(song)])
            // Objects deleted by clients don't go to the trash.
            _ = try await server.send("DELETE", "/classes/Song/\(song)", as: .master)
            #expect(try await viewer.send("GET", "/console/api/trash")["objects"] == [])
        }
    }

    @Test("Lists the trash of a class that was dropped and created again")
    func trashOfNewClass() async throws {
        try await TestServer.run { server in
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let song = try await server.create("Song", ["title": "a"])
            #expect(try await owner.parse("DELETE", "/classes/Song/\(song)").status == 200)
            for isNew in [false, true] {
                if isNew {
                    #expect(try await owner.parse("DELETE", "/schemas/Song").status == 200)
                    _ = try await server.create("Song", ["title": "b"])
                }
                for _ in 0..<5 {
                    let listed = try await owner.send("GET", "/console/api/trash")
                    let object = listed["objects"]?.arrayValue?.first?["object"]
                    #expect(listed.status == 200 && object?["title"] == "a", "\(listed.text)")
                }
            }
        }
    }

    @Test("Lists the trash with the latest deletion first")
    func trashOrder() async throws {
        try await TestServer.run { server in
            let editor = try await ConsoleBrowser.operatorBrowser(server, "editor")
            var titles: [JSONValue] = []
            for number in 0..<12 {
                let title = JSONValue.string("\(number)")
                let song = try await server.create("Song", ["title": title])
                #expect(try await editor.parse("DELETE", "/classes/Song/\(song)").status == 200)
                titles.insert(title, at: 0)
            }
            let listed = try await editor.send("GET", "/console/api/trash")["objects"]?.arrayValue ?? []
            #expect(listed.map { $0["object"]?["title"] } == titles)
        }
    }

    @Test("Rejects an update of an object that has changed, and returns its current state")
    func conditional() async throws {
        try await TestServer.run { server in
            let browser = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let song = try await server.create("Song", ["title": "a"])
            let old = try #require(try await browser.parse("GET", "/classes/Song/\(song)")["updatedAt"]?.stringValue)
            var now = old
            while now == old {
                _ = try await server.send("PUT", "/classes/Song/\(song)", ["title": "b"])
                now = try #require(try await browser.parse("GET", "/classes/Song/\(song)")["updatedAt"]?.stringValue)
            }
            let path = "/classes/Song/\(song)"
            let late = try await browser.parse("PUT", path, ["title": "c"], headers: ["X-Roost-If-Updated-At": old])
            #expect(late.status == 409)
            #expect(late["object"]?["title"] == "b")
            let inTime = try await browser.parse("PUT", path, ["title": "c"], headers: ["X-Roost-If-Updated-At": now])
            #expect(inTime.status == 200)
            let bad = try await browser.parse("PUT", path, ["title": "d"], headers: ["X-Roost-If-Updated-At": "now"])
            #expect(bad.status == 400)
        }
    }

    @Test("Shortens long values only if the console requests it")
    func shorten() async throws {
        try await TestServer.run { server in
            let browser = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let text = String(repeating: "x", count: 1_000)
            let album = try await server.create("Album", ["title": .string(text)])
            let fields: JSONObject = ["title": .string(text), "on": .pointer("Album", album)]
            let id = try await server.create("Song", fields)
            let shortens = ["X-Roost-Shorten": "256"]
            let short = try await browser.parse("GET", "/classes/Song?include=on", headers: shortens).results.first
            #expect(short?["title"]?["__type"] == "Shortened" && short?["title"]?["bytes"] == 1_000)
            #expect(short?["on"]?["title"]?["bytes"] == 1_000)
            let one = try await browser.parse("GET", "/classes/Song/\(id)", headers: shortens)
            #expect(one["title"]?["__type"] == "Shortened" && one["objectId"] == .string(id))
            #expect(try await browser.parse("GET", "/classes/Song").results.first?["title"] == .string(text))
            let client = try await server.send("GET", "/classes/Song", headers: shortens)
            #expect(client.results.first?["title"] == .string(text))
        }
    }

    @Test("Stores views for one operator or shared with all, up to a size limit")
    func views() async throws {
        try await TestServer.run { server in
            let editor = try await ConsoleBrowser.operatorBrowser(server, "editor")
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            let view: JSONObject = [
                "className": "Song", "name": "Loud", "shared": false, "where": ["plays": ["$gt": 1]],
                "order": "-plays", "columns": ["title"],
            ]
            func saved(_ browser: ConsoleBrowser) async throws -> [JSONValue] {
                try await browser.send("GET", "/console/api/views")["views"]?.arrayValue ?? []
            }
            #expect(try await editor.send("PUT", "/console/api/views/abcdefghij", .object(view)).status == 200)
            #expect(try await saved(viewer).isEmpty)
            let own = try #require(try await saved(editor).first)
            for (name, value) in view { #expect(own[name] == value, "\(name)") }
            var shared = view
            shared["shared"] = true
            #expect(try await editor.send("PUT", "/console/api/views/abcdefghij", .object(shared)).status == 200)
            #expect(try await saved(viewer).count == 1)
            #expect(try await viewer.send("DELETE", "/console/api/views/abcdefghij").status == 403)
            #expect(try await editor.send("DELETE", "/console/api/views/abcdefghij").status == 200)
            #expect(try await saved(viewer).isEmpty)
            var large = view
            large["where"] = ["title": .string(String(repeating: "x", count: 60_000))]
            var statuses: Set<Int> = []
            for number in 1_000..<1_020 {
                let answer = try await editor.send("PUT", "/console/api/views/abcdef\(number)", .object(large))
                statuses.insert(answer.status)
            }
            #expect(statuses.count == 2, "all of an operator have a megabyte at most")
            #expect(try await editor.send("PUT", "/console/api/views/a%00b", .object(view)).status == 404)
        }
    }
}
