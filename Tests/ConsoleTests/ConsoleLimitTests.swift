import Console
import Foundation
import HTTP
import JSON
import REST
import TestSupport
import Testing

/// Scenarios 16 and 17: an operator who is limited to classes and fields gets to know of no other.
@Suite("Operators with limits")
struct ConsoleLimitTests {
    private static let limits: JSONObject = ["classes": ["Song", "Album"], "hidden": ["Song": ["plays", "owner"]]]

    /// A song with its album, its artist and its owner, and who looks at them.
    private struct Stage {
        var server: TestServer
        var owner: ConsoleBrowser
        var editor: ConsoleBrowser
        var viewer: ConsoleBrowser
        var song: String
        var artist: JSONValue
        var user: String
    }

    private static func run(_ body: @escaping @Sendable (Stage) async throws -> Void) async throws {
        try await TestServer.run { server in
            func pointer(_ className: String, _ body: JSONObject) async throws -> JSONValue {
                [
                    "__type": "Pointer", "className": .string(className),
                    "objectId": .string(try await server.create(className, body)),
                ]
            }
            let user = try await server.send("POST", "/users", ["username": "kim", "password": "hush hush"])
            let userId = try #require(user["objectId"]?.stringValue)
            let artist = try await pointer("Artist", ["name": "SECRET artist"])
            let album = try await pointer("Album", ["name": "album", "artist": artist])
            let song = try await server.create(
                "Song",
                [
                    "title": "one", "plays": 424_242, "album": album, "artist": artist, "list": [artist],
                    "owner": ["__type": "Pointer", "className": "_User", "objectId": .string(userId)],
                ])
            _ = try await server.create(
                "Artist",
                [
                    "name": "SECRET other",
                    "song": ["__type": "Pointer", "className": "Song", "objectId": .string(song)],
                ])
            try await body(
                Stage(
                    server: server, owner: try await ConsoleBrowser(server, ConsoleBrowser.masterKey),
                    editor: try await ConsoleBrowser.operatorBrowser(server, "editor", limits: limits),
                    viewer: try await ConsoleBrowser.operatorBrowser(server, "viewer", limits: limits), song: song,
                    artist: artist, user: userId))
        }
    }

    private static func isClean(_ text: String) -> Bool { !text.contains("SECRET") && !text.contains("424242") }

    @Test(
        "Only editors and viewers are limited, by lists that make sense; the page is given the limits, and a change ends sessions"
    )
    func definition() async throws {
        try await Self.run { stage in
            func add(_ limits: JSONObject, role: String = "editor") async throws -> Int {
                let body: JSONObject = [
                    "name": .string(UUID().uuidString), "password": "long enough", "role": .string(role),
                ]
                return try await stage.owner.send(
                    "POST", "/console/api/operators", .object(body.merging(limits) { $1 })
                ).status
            }
            for role in ["owner", "developer"] { #expect(try await add(["classes": ["Song"]], role: role) == 400) }
            for limits: JSONObject in [["classes": "Song"], ["hidden": ["plays"]], ["hidden": ["Song": ["objectId"]]]] {
                #expect(try await add(limits) == 400)
            }
            let session = try await stage.editor.send("GET", "/console/api/session")
            #expect(session["operator"]?["classes"] == ["Song", "Album"])
            #expect(session["operator"]?["hidden"] == ["Song": ["plays", "owner"]])
            let listed = try await stage.owner.send("GET", "/console/api/operators")["operators"]?.arrayValue
            let id = try #require(listed?.first { $0["role"] == "editor" }?["id"]?.stringValue)
            #expect(try await stage.owner.send("PUT", "/console/api/operators/\(id)", ["role": "owner"]).status == 400)
            #expect(try await stage.owner.send("PUT", "/console/api/operators/\(id)", ["classes": .null]).status == 200)
            #expect(try await stage.editor.parse("GET", "/classes/Song").status == 401)
            let after = try await stage.owner.send("GET", "/console/api/operators")["operators"]?.arrayValue
            let changed = after?.first { $0["id"]?.stringValue == id }
            #expect(changed?["classes"] == nil && changed?["hidden"] == ["Song": ["plays", "owner"]])
            #expect(
                try await stage.owner.send("PUT", "/console/api/operators/\(id)", ["hidden": .null, "role": "owner"])
                    .status == 200)
        }
    }

    @Test("What is known is read and written as ever")
    func known() async throws {
        try await Self.run { stage in
            for browser in [stage.editor, stage.viewer] {
                let found = try await browser.parse(
                    "GET", "/classes/Song?include=album&count=1&order=-createdAt,-objectId")
                #expect(found.status == 200, "\(found.text)")
                let song = found["results"]?.arrayValue?.first
                #expect(song?["title"] == "one" && song?["plays"] == nil && song?["owner"] == nil)
                #expect(song?["album"]?["name"] == "album" && found["count"] == 1)
                #expect(song?["artist"] == stage.artist)
                let got = try await browser.parse(
                    "GET", "/classes/Song/\(stage.song)", headers: ["X-Roost-Shorten": "256"])
                #expect(got["title"] == "one" && got["plays"] == nil)
                let anonymous = try await browser.parse(
                    "GET", "/classes/Song", headers: ["X-Roost-View-As": "anonymous"])
                #expect(anonymous.status == 200 && Self.isClean(anonymous.text), "\(anonymous.text)")
                let schemas = try await browser.parse("GET", "/schemas")
                let names = schemas["results"]?.arrayValue?.compactMap { $0["className"]?.stringValue } ?? []
                #expect(names == ["Album", "Song"])
                #expect(!schemas.text.contains("plays") && !schemas.text.contains("owner"))
            }
            let named = try await stage.server.create("Song", ["results": [1, "a"], "plays": 424_242])
            let one = try await stage.viewer.parse("GET", "/classes/Song/\(named)")
            #expect(one["results"] == [1, "a"] && Self.isClean(one.text), "\(one.text)")
            let changed = try await stage.editor.parse("PUT", "/classes/Song/\(stage.song)", ["title": "two"])
            #expect(changed.status == 200, "\(changed.text)")
            let made = try await stage.editor.parse("POST", "/classes/Song", ["title": "three"])
            #expect(made.status == 201, "\(made.text)")
            let conflict = try await stage.editor.parse(
                "PUT", "/classes/Song/\(stage.song)", ["title": "late"],
                headers: ["X-Roost-If-Updated-At": "2020-01-01T00:00:00.000Z"])
            #expect(conflict.status == 409 && conflict["object"]?["title"] == "two", "\(conflict.text)")
            #expect(conflict["object"]?["plays"] == nil && Self.isClean(conflict.text))
            let batch: JSONValue = [
                "requests": [
                    ["method": "GET", "path": .string("/parse/classes/Song/\(stage.song)")],
                    ["method": "PUT", "path": .string("/parse/classes/Song/\(stage.song)"), "body": ["title": "four"]],
                ]
            ]
            let answers = try await stage.editor.parse("POST", "/batch", batch)
            #expect(
                answers.status == 200 && answers.text.contains("two") && Self.isClean(answers.text), "\(answers.text)")
        }
    }

    @Test("Every way to another class or to a hidden field is refused, alone and in a batch")
    func attack() async throws {
        try await Self.run { stage in
            let artist = stage.artist.text
            let user = stage.user
            let refused = [
                "/classes/Artist", "/classes/Artist?count=1&limit=0", "/classes/Nothing", "/users", "/classes/_User",
                "/roles", "/sessions",
                "/users/\(user)", "/users/me", "/classes/_Join:fans:Song", "/classes/_Hooks", "/schemas/Artist",
                "/schemas/Nothing",
                "/classes/Song?where={\"plays\":{\"$gt\":1}}", "/classes/Song?order=plays", "/classes/Song?keys=plays",
                "/classes/Song?keys=artist.name", "/classes/Song?include=artist", "/classes/Song?include=owner",
                "/classes/Song?include=list",
                "/classes/Song?include=album.artist", "/classes/Song?includeAll=1", "/classes/Song?include=*",
                "/classes/Song?excludeKeys=plays",
                "/classes/Song?redirectClassNameForKey=artist", "/classes/Song?explain=1",
                "/classes/Song?distinct=plays",
                "/classes/Song?subqueryReturn=1", "/classes/Song?hint=plays_1",
                "/classes/Song/\(stage.song)?include=artist",
                "/classes/Song/\(stage.song)?keys=plays", "/classes/Song/\(stage.song)/extra",
                "/classes/Song?where={\"$or\":[{\"title\":\"a\"},{\"$and\":[{\"owner\":{\"$exists\":true}}]}]}",
                "/classes/Song?where={\"artist\":{\"$inQuery\":{\"className\":\"Artist\",\"where\":{\"name\":{\"$regex\":\"^S\"}}}}}",
                "/classes/Album?where={\"objectId\":{\"$select\":{\"key\":\"plays\",\"query\":{\"className\":\"Song\",\"where\":{}}}}}",
                "/classes/Song?where={\"$relatedTo\":{\"key\":\"songs\",\"object\":\(artist)}}",
                "/classes/Song?where={\"plays\":{\"$lt\":{\"$relativeTime\":\"1 day ago\"}}}",
                "/aggregate/Song?pipeline=[]", "/aggregate/Song?distinct=plays",
                "/aggregate/Album?pipeline=[{\"$lookup\":{\"from\":\"Artist\"}}]",
                "/config", "/serverInfo", "/hooks/functions", "/scriptlog", "/index_advice", "/slow_queries",
                "/security", "/push_audiences",
                "/cloud_code/jobs", "/health", "/graphql-config", "/files/metadata/a", "/CLASSES/Artist",
                "/classes//Artist", "//users",
            ]
            for browser in [stage.editor, stage.viewer] {
                for path in refused {
                    let escaped = try #require(path.addingPercentEncoding(withAllowedCharacters: .urlQueryAllowed))
                    let answer = try await browser.parse("GET", escaped)
                    #expect(answer.status == 403, "\(path): \(answer.status) \(answer.text)")
                    #expect(Self.isClean(answer.text), "\(path): \(answer.text)")
                    let batch: JSONValue = ["requests": [["method": "GET", "path": .string("/parse" + escaped)]]]
                    let batched = try await stage.editor.parse("POST", "/batch", batch)
                    #expect(batched.status >= 400, "\(path): \(batched.text)")
                    #expect(Self.isClean(batched.text), "\(path): \(batched.text)")
                }
                let asKim = try await browser.parse("GET", "/classes/Song", headers: ["X-Roost-View-As": user])
                #expect(asKim.status == 403)
            }
            let writes: [(String, String, JSONValue)] = [
                ("POST", "/classes/Artist", ["name": "x"]), ("PUT", "/classes/Artist/x", ["name": "x"]),
                ("DELETE", "/classes/Artist/x", [:]),
                ("POST", "/users", ["username": "u", "password": "p"]),
                ("PUT", "/classes/Song/\(stage.song)", ["plays": 1]),
                ("PUT", "/classes/Song/\(stage.song)", ["plays": ["__op": "Increment", "amount": 0]]),
                ("PUT", "/classes/Song/\(stage.song)", ["artist": stage.artist]),
                ("PUT", "/classes/Song/\(stage.song)", ["list": ["__op": "Add", "objects": [stage.artist]]]),
                ("POST", "/classes/Song", ["_method": "GET", "where": ["plays": 1]]),
                ("POST", "/classes/Song?include=artist", ["title": "a"]),
                ("POST", "/aggregate/Song", ["_method": "GET", "pipeline": []]), ("POST", "/functions/f", [:]),
                ("POST", "/login", [:]),
                ("DELETE", "/files/a.txt", [:]), ("POST", "/schemas/New", [:]), ("POST", "/import_data/Song", [:]),
                ("PUT", "/config", [:]),
            ]
            for (method, path, body) in writes {
                let answer = try await stage.editor.parse(method, path, body)
                #expect(answer.status == 403, "\(method) \(path): \(answer.text)")
                #expect(Self.isClean(answer.text))
            }
        }
    }

    @Test("The console's own routes leave other classes and hidden fields out")
    func ownRoutes() async throws {
        try await Self.run { stage in
            // What an owner does leaves traces of both.
            _ = try await stage.owner.parse("PUT", "/classes/Song/\(stage.song)", ["plays": 424_242, "title": "two"])
            for (className, body) in [("Song", ["plays": 424_242]), ("Artist", ["name": "SECRET"])]
                as [(String, JSONObject)]
            {
                let id = try await stage.server.create(className, body)
                #expect(try await stage.owner.parse("DELETE", "/classes/\(className)/\(id)").status == 200)
            }
            let views: [(String, JSONValue)] = [
                ("mine1", ["className": "Artist", "name": "SECRET", "shared": true]),
                ("mine2", ["className": "Song", "name": "SECRET", "shared": true, "where": ["plays": 424_242]]),
                (
                    "mine3",
                    ["className": "Song", "name": "fine", "shared": true, "where": ["title": "two"], "order": "-title"]
                ),
            ]
            for (id, view) in views {
                #expect(try await stage.owner.send("PUT", "/console/api/views/\(id)", view).status == 200)
            }
            for browser in [stage.editor, stage.viewer] {
                let counts = try await browser.send("GET", "/console/api/counts")
                #expect(
                    Set(counts["classes"]?.arrayValue?.compactMap { $0["className"]?.stringValue } ?? []) == [
                        "Song", "Album",
                    ])
                let references = try await browser.send(
                    "GET", "/console/api/references?className=Song&objectId=\(stage.song)")
                #expect(references["from"] == [], "\(references.text)")
                #expect(
                    try await browser.send("GET", "/console/api/references?className=Artist&objectId=x").status == 403)
                let trash = try await browser.send("GET", "/console/api/trash")
                #expect(trash["objects"]?.arrayValue?.count == 1 && Self.isClean(trash.text), "\(trash.text)")
                #expect(try await browser.send("GET", "/console/api/trash?className=Artist")["objects"] == [])
                let listed = try await browser.send("GET", "/console/api/views")
                #expect(listed["views"]?.arrayValue?.map { $0["id"] } == ["mine3"], "\(listed.text)")
                let audit = try await browser.send("GET", "/console/api/audit")
                #expect(
                    audit.text.contains("two") && Self.isClean(audit.text) && !audit.text.contains("plays"),
                    "\(audit.text)")
                #expect(try await browser.send("GET", "/console/api/audit?className=Artist")["rows"] == [])
                let may = try await browser.send(
                    "POST", "/console/api/may", ["className": "Song", "user": .null, "objectId": .string(stage.song)])
                #expect(may.status == 200 && !may.text.contains("plays"), "\(may.text)")
                #expect(try await browser.send("POST", "/console/api/may", ["className": "Artist"]).status == 403)
                #expect(
                    try await browser.send(
                        "POST", "/console/api/may", ["className": "Song", "user": .string(stage.user)]
                    ).status == 403)
            }
            let all = try await stage.owner.send("GET", "/console/api/trash")["objects"]?.arrayValue ?? []
            for item in all {
                let id = try #require(item["id"]?.stringValue)
                let restored = try await stage.editor.send("POST", "/console/api/trash/\(id)/restore", [:])
                #expect(restored.status == (item["className"] == "Song" ? 200 : 404), "\(restored.text)")
                #expect(Self.isClean(restored.text))
            }
            let view: JSONValue = ["className": "Song", "name": "x", "where": ["plays": ["$gt": 1]]]
            #expect(try await stage.editor.send("PUT", "/console/api/views/own1", view).status == 403)
        }
    }

    @Test("A new route of the console is closed to limited operators until it says that it keeps to limits")
    func newRoutes() {
        let open = ConsoleRouteTable.all.filter(\.keepsLimits).map {
            "\($0.method.rawValue) \($0.path.joined(separator: "/"))"
        }
        #expect(
            Set(open) == [
                "GET audit", "POST confirm", "GET sessions", "DELETE sessions/:id", "POST totp", "PUT totp",
                "DELETE totp", "PUT password", "GET counts",
                "GET references", "POST may", "GET trash", "POST trash/:id/restore", "GET views", "PUT views/:id",
                "DELETE views/:id", "POST exports", "GET exports/:id", "DELETE exports/:id", "POST imports",
            ])
    }
}
