import Console
import Foundation
import HTTP
import JSON
import REST
import TestSupport
import Testing

@Suite("Console calls and the audit log")
struct ConsoleCallTests {
    @Test("Rejects API routes without a session, writes by viewers and administration by editors")
    func walk() async throws {
        try await TestServer.run { server in
            let nobody = ConsoleBrowser(server)
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            let editor = try await ConsoleBrowser.operatorBrowser(server, "editor")
            let routes = RouteTable.all.map { ($0.method.rawValue, Self.path($0), $0.onlyReads, $0.path) }
            for (method, path, onlyReads, components) in routes {
                let body: JSONValue? = method == "GET" ? nil : [:]
                #expect(try await nobody.parse(method, path, body).status == 401, "\(method) \(path)")
                if method != "GET" || !onlyReads {
                    let answer = try await viewer.parse(method, path, body)
                    #expect(answer.status == 403, "\(method) \(path): \(answer.text)")
                    let first = components.first
                    let isOpen = ["classes", "users", "roles", "installations", "batch", "files"].contains {
                        first == .literal($0)
                    }
                    // The class doesn't exist, and an editor can't create it.
                    guard !isOpen || first == .literal("classes") else { continue }
                    let edited = try await editor.parse(method, path, body)
                    #expect(edited.status == 403, "\(method) \(path): \(edited.text)")
                }
            }
        }
    }

    @Test("A change succeeds even if its audit entry can't be completed")
    func incompleteEntry() async throws {
        try await TestServer.run { server in
            let developer = try await ConsoleBrowser.operatorBrowser(server, "developer")
            try await server.execute(
                """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
                CREATE TRIGGER refuse BEFORE UPDATE ON "_roost_audit" FOR EACH ROW EXECUTE FUNCTION refuse();
                """)
            let made = try await developer.parse("POST", "/classes/Song", ["plays": 2])
            #expect(made.status == 201 && made["objectId"] != nil, "\(made.text)")
            let view: JSONValue = [
                "className": "Song", "name": "Loud", "shared": false, "where": ["plays": ["$gt": 1]],
                "order": "-plays", "columns": ["plays"],
            ]
            let kept = try await developer.send("PUT", "/console/api/views/abcdefghij", view)
            #expect(kept.status == 200, "\(kept.text)")
        }
    }

    @Test("Console routes reject requests without a session or below the required role")
    func ownRoutes() async throws {
        try await TestServer.run { server in
            let nobody = ConsoleBrowser(server)
            let browsers = [
                (ConsoleRole.viewer, try await ConsoleBrowser.operatorBrowser(server, "viewer")),
                (.editor, try await ConsoleBrowser.operatorBrowser(server, "editor")),
                (.developer, try await ConsoleBrowser.operatorBrowser(server, "developer")),
            ]
            for route in ConsoleRouteTable.all {
                let path = "/console/api/" + route.path.map { $0.hasPrefix(":") ? "x" : $0 }.joined(separator: "/")
                let method = route.method.rawValue
                let body: JSONValue? = route.method == .get ? nil : [:]
                #expect(try await nobody.send(method, path, body).status == 401, "\(method) \(path)")
                for (role, browser) in browsers where role < route.least {
                    #expect(try await browser.send(method, path, body).status == 403, "\(role) \(method) \(path)")
                }
                // Routes that write require more than the role viewer.
                #expect(route.effect != .deployment || route.least > .viewer, "\(method) \(path)")
            }
            #expect(try await nobody.send("GET", "/console/api/other").status == 401)
            #expect(try await browsers[0].1.send("GET", "/console/api/other").status == 404)
        }
    }

    private static func path(_ route: Route) -> String {
        route.path.map { component in
            switch component {
            case .literal(let name): "/" + name
            case .parameter, .rest: "/Thing"
            }
        }.joined()
    }

    @Test("Checks the permissions of each request in a batch")
    func batch() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["title": "a"])
            let editor = try await ConsoleBrowser.operatorBrowser(server, "editor")
            func batch(_ path: String, _ body: JSONValue) -> JSONValue {
                ["requests": [["method": "POST", "path": .string(path), "body": body]]]
            }
            #expect(
                try await editor.parse("POST", "/batch", batch("/parse/classes/Song", ["title": "b"])).status == 200)
            for path in ["/parse/schemas/New", "/parse/classes/New", "/parse/classes/_Hooks", "/parse/functions/f"] {
                let answer = try await editor.parse("POST", "/batch", batch(path, ["className": "New"]))
                #expect(answer.status == 403, "\(path)")
            }
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            let reads: JSONValue = ["requests": [["method": "GET", "path": "/parse/classes/Song"]]]
            #expect(try await viewer.parse("POST", "/batch", reads).status == 403)
        }
    }

    @Test("Records each change as one audit entry with values before and after, without secrets")
    func audit() async throws {
        try await TestServer.run { server in
            let browser = try await ConsoleBrowser.operatorBrowser(server, "developer")
            let made = try await browser.parse("POST", "/classes/Song", ["title": "a", "plays": 1])
            let id = try #require(made["objectId"]?.stringValue)
            _ = try await browser.parse("PUT", "/classes/Song/\(id)", ["plays": ["__op": "Increment", "amount": 2]])
            _ = try await browser.parse("GET", "/classes/Song")
            let user = try await browser.parse("POST", "/users", ["username": "u", "password": "hush hush"])
            _ = try await browser.parse(
                "PUT", "/users/\(user["objectId"]?.stringValue ?? "")", ["password": "hush again"])
            _ = try await browser.parse("PUT", "/classes/Song/missing", ["plays": 1])
            _ = try await browser.parse("DELETE", "/classes/Song/\(id)")
            let rows = try await browser.audit()
            let changes = rows.filter { $0["path"] != "session" && $0["path"] != "operators" }
            #expect(changes.count == 6)
            let (removed, missing, password, signUp, changed, created) = (
                changes[0], changes[1], changes[2], changes[3], changes[4], changes[5]
            )
            #expect(created["method"] == "POST")
            #expect(created["className"] == "Song")
            #expect(created["ids"] == [.string(id)])
            #expect(created["after"] == ["plays": 1, "title": "a"])
            #expect(created["status"] == 201)
            #expect(created["role"] == "developer")
            #expect(created["address"] == "127.0.0.1")
            #expect(changed["fields"] == ["plays"])
            #expect(changed["before"] == ["plays": 1])
            #expect(changed["after"] == ["plays": 3])
            #expect(changed["path"] == .string("classes/Song/\(id)"))
            #expect(missing["status"] == 404)
            #expect(removed["before"]?["title"] == "a")
            #expect(removed["after"]?.isNull ?? true)
            #expect(password["fields"] == ["password"])
            #expect(password["after"]?["password"] == "changed")
            #expect(signUp["after"]?["password"] == "changed")
            #expect(!rows.contains { $0.text.contains("hush") })
            let ofClass = try await browser.send("GET", "/console/api/audit?className=Song")["rows"]?.arrayValue
            #expect(ofClass?.count == 4)
            let last = rows[1]["id"]?.text ?? ""
            let earlier = try await browser.send("GET", "/console/api/audit?before=\(last)")["rows"]?.arrayValue
            #expect(earlier?.count == rows.count - 2)
        }
    }

    @Test("Limits the size of audit entries, shortening only large values")
    func sizeOfAudit() async throws {
        try await TestServer.run { server in
            let song = try await server.create(
                "Song", ["title": "a", "text": .string(String(repeating: "x", count: 50_000))])
            let browser = try await ConsoleBrowser.operatorBrowser(server, "developer")
            let long = String(repeating: "y", count: 1_000_000)
            _ = try await browser.send(
                "POST", "/console/api/imports",
                ["className": "Song", "rows": [["objectId": .string(long), "title": "b"]]])
            _ = try await browser.send(
                "POST", "/console/api/imports", ["className": .string(long), "rows": [["title": "b"]]])
            _ = try await browser.send(
                "POST", "/console/api/exports", ["className": "Song", "format": "csv", "keys": [.string(long)]])
            _ = try await browser.parse("PUT", "/classes/Song/\(song)", ["title": "c", "text": "d"])
            let rows = try await browser.audit()
            #expect(rows.allSatisfy { $0.text.utf8.count < 70_000 })
            let change = try #require(rows.first { $0["path"] == .string("classes/Song/\(song)") })
            #expect(change["before"]?["title"] == "a" && change["before"]?["text"]?["__type"] == "Shortened")
            #expect(change["after"]?["title"] == "c" && change["after"]?["text"] == "d")
        }
    }

    @Test("Finds changes of a class's schema by its name, like changes of its objects")
    func auditOfSchemas() async throws {
        try await TestServer.run { server in
            let browser = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let schema: JSONValue = ["className": "Fresh", "fields": ["title": ["type": "String"]]]
            for (method, path, body) in [
                ("POST", "/schemas", schema), ("PUT", "/schemas/Fresh", ["fields": ["plays": ["type": "Number"]]]),
                ("POST", "/classes/Fresh", ["title": "a"]), ("DELETE", "/purge/Fresh", nil),
                ("DELETE", "/schemas/Fresh", nil),
            ] as [(String, String, JSONValue?)] {
                let answer = try await browser.parse(method, path, body)
                #expect(answer.status < 300, "\(method) \(path): \(answer.text)")
            }
            let rows = try await browser.send("GET", "/console/api/audit?className=Fresh")["rows"]?.arrayValue ?? []
            #expect(
                rows.map { $0["path"] } == [
                    "schemas/Fresh", "purge/Fresh", "classes/Fresh", "schemas/Fresh", "schemas",
                ])
            #expect(rows.last?["after"]?["fields"]?["title"]?["type"] == "String")
        }
    }

    @Test("Records only the hosts of webhook URLs in the audit")
    func auditOfHooks() async throws {
        try await TestServer.run { server in
            let browser = try await ConsoleBrowser.operatorBrowser(server, "developer")
            let hook: JSONValue = ["functionName": "hello", "url": "https://kim:hush@example.com/hush/1?key=hush"]
            #expect(try await browser.parse("POST", "/hooks/functions", hook).status == 200)
            let row = try #require(try await browser.audit().first { $0["path"] == "hooks/functions" })
            #expect(row["after"]?["functionName"] == "hello" && !row.text.contains("hush"), "\(row.text)")
            #expect(row["after"]?["url"]?.stringValue?.hasSuffix("@example.com") == true, "\(row.text)")
        }
    }

    @Test("Records a batch as one audit entry with all ids")
    func auditOfBatch() async throws {
        try await TestServer.run { server in
            let one = try await server.create("Song", ["title": "a"])
            let two = try await server.create("Song", ["title": "b"])
            let browser = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let requests = [one, two].map { id -> JSONValue in
                ["method": "PUT", "path": .string("/parse/classes/Song/\(id)"), "body": ["title": "c"]]
            }
            #expect(try await browser.parse("POST", "/batch", ["requests": .array(requests)]).status == 200)
            let row = try #require(try await browser.audit().first)
            #expect(row["count"] == 2)
            #expect(row["className"] == "Song")
            #expect(row["ids"] == [.string(one), .string(two)])
            #expect(row["before"]?[one]?["title"] == "a")
            #expect(row["after"]?[two]?["title"] == "c")
        }
    }

    @Test("Finds return the same as the REST API, without session tokens")
    func reads() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["title": "a"])
            let (user, token) = try await server.signUp("kim")
            let browser = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let path = "/classes/Song?where=%7B%22title%22%3A%22a%22%7D&count=1"
            let own = try await server.send("GET", path, as: .master)
            #expect(try await browser.parse("GET", path).bytes == own.bytes)
            let sessions = try await browser.parse("GET", "/sessions")
            #expect(sessions["results"]?.arrayValue?.count == 1)
            #expect(!sessions.text.contains(token))
            let loggedIn = try await browser.parse("POST", "/loginAs?userId=\(user)")
            #expect(!loggedIn.text.contains("\"r:"))
        }
    }

    @Test("Hides session tokens from everyone and login data from viewers, wherever users and sessions appear")
    func secrets() async throws {
        try await TestServer.run { server in
            let signUp: JSONValue = ["authData": ["anonymous": ["id": "anon-secret"]]]
            let made = try await server.send("POST", "/users", signUp).succeeded()
            let user = try #require(made["objectId"]?.stringValue)
            let token = try #require(made["sessionToken"]?.stringValue)
            _ = try await server.create("Song", ["title": "a", "by": .pointer("_User", user)])
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            let editor = try await ConsoleBrowser.operatorBrowser(server, "editor")
            for (browser, seesLogins) in [(viewer, false), (editor, true), (owner, true)] {
                for path in ["/users", "/users/\(user)", "/classes/Song?include=by", "/sessions?include=user"] {
                    let answer = try await browser.parse("GET", path)
                    #expect(answer.status == 200 && answer.text.contains(user), "\(path): \(answer.text)")
                    #expect(!answer.text.contains(token), "\(path): \(answer.text)")
                    #expect(answer.text.contains("anon-secret") == seesLogins, "\(path): \(answer.text)")
                }
                for path in ["/users/\(user)", "/users/me", "/sessions"] {
                    let answer = try await browser.parse("GET", path, headers: ["X-Roost-View-As": user])
                    #expect(answer.status == 200 && answer.text.contains(user), "\(path): \(answer.text)")
                    #expect(!answer.text.contains(token), "\(path): \(answer.text)")
                    #expect(seesLogins || !answer.text.contains("anon-secret"), "\(path): \(answer.text)")
                }
            }
            let search = "/sessions?where=%7B%22sessionToken%22%3A%22\(token)%22%7D"
            let found = try await owner.parse("GET", search)
            #expect(found.results.count == 1 && !found.text.contains(token), "\(found.text)")
            #expect(try await viewer.parse("GET", search).status == 403)
            let session = try #require(found.results.first?["objectId"]?.stringValue)
            for path in ["/sessions/\(session)", "/users/\(user)"] {
                #expect(try await owner.parse("DELETE", path).status == 200)
            }
            for (browser, seesLogins) in [(viewer, false), (editor, true), (owner, true)] {
                let trash = try await browser.send("GET", "/console/api/trash")
                // The trash never keeps sessions.
                #expect(trash["objects"]?.arrayValue?.count == 1 && !trash.text.contains(token), "\(trash.text)")
                #expect(trash.text.contains("anon-secret") == seesLogins, "\(trash.text)")
            }
        }
    }

    @Test("Hides shared views that filter by a secret from roles that can't search by it")
    func secretsInViews() async throws {
        try await TestServer.run { server in
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            for (id, condition) in [("secretive1", ["sessionToken": "r:1"]), ("harmless01", ["installationId": "x"])]
                as [(String, JSONValue)]
            {
                let view: JSONValue = ["className": "_Session", "name": "x", "shared": true, "where": condition]
                #expect(try await owner.send("PUT", "/console/api/views/\(id)", view).status == 200)
            }
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            for (browser, ids) in [(owner, ["secretive1", "harmless01"]), (viewer, ["harmless01"])] {
                let views = try await browser.send("GET", "/console/api/views")["views"]?.arrayValue ?? []
                #expect(Set(views.compactMap { $0["id"]?.stringValue }) == Set(ids))
            }
        }
    }

    @Test("Viewing as a user returns what that user gets, without creating a session")
    func views() async throws {
        try await TestServer.run { server in
            let (user, token) = try await server.signUp("kim")
            let (lou, _) = try await server.signUp("lou", ["phone": "1"])
            func role(_ name: String, _ field: Name, _ member: JSONValue) async throws -> JSONValue {
                let fields: JSONObject = [
                    "name": .string(name), "ACL": [:], field: .operation("AddRelation", [member]),
                ]
                return .pointer("_Role", try await server.create("_Role", fields, as: .master))
            }
            _ = try await role("Staff", "roles", role("Editor", "users", .pointer("_User", user)))
            for (title, reader) in [("kim", user), ("lou", lou), ("open", "*"), ("staff", "role:Staff")] {
                let acl: JSONValue = .object([Name(reader): ["read": true]])
                _ = try await server.create("Song", ["title": .string(title), "ACL": acl], as: .master)
            }
            _ = try await server.create("Song", ["title": "hidden", "ACL": [:]], as: .master)
            let browser = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let sessions = try await browser.parse("GET", "/sessions?count=1&limit=0")["count"]
            let path = "/classes/Song?order=title"
            let asUser = ["X-Roost-View-As": user]
            for path in [path + "&count=1", "/users?order=username&count=1", "/users/\(lou)", "/roles?count=1"] {
                let seen = try await browser.parse("GET", path, headers: asUser)
                let expected = try await server.send("GET", path, as: .session(token))
                #expect(seen.status == expected.status && seen.bytes == expected.bytes, "\(path): \(seen.text)")
            }
            let songs = try await browser.parse("GET", path, headers: asUser).results
            #expect(songs.map { $0["title"] } == ["kim", "open", "staff"])
            let own = try await browser.parse("GET", "/users/\(user)", headers: asUser)
            #expect(own["username"] == "kim" && own["sessionToken"] == nil)
            let anonymous = try await browser.parse("GET", path, headers: ["X-Roost-View-As": "anonymous"])
            #expect(anonymous.results.map { $0["title"] } == ["open"])
            #expect(try await browser.parse("GET", "/schemas", headers: asUser).status == 403)
            #expect(try await browser.parse("GET", "/sessions?count=1&limit=0")["count"] == sessions)
            let written = try await browser.parse(
                "POST", "/classes/Song", ["title": "x"], headers: asUser)
            #expect(written.status == 400)
            #expect(try await browser.parse("GET", path, headers: ["X-Roost-View-As": "nobody"]).status == 404)
            // The header has no effect for clients.
            let client = try await server.send("GET", path, as: .anonymous, headers: asUser)
            #expect(client["results"]?.arrayValue?.count == 1)
        }
    }

    @Test("Uploads, reads and deletes files with an editor's session")
    func files() async throws {
        try await TestServer.run { server in
            let browser = try await ConsoleBrowser.operatorBrowser(server, "editor")
            var headers = ["Content-Type": "text/plain", "X-Roost-Console": browser.token ?? ""]
            headers["Cookie"] = browser.cookie
            let made = try await server.send(
                "POST", browser.root + "/console/api/parse/files/a.txt", bytes: Array("hello".utf8), as: .nobody,
                headers: headers)
            #expect(made.status == 201, "\(made.text)")
            let name = try #require(made["name"]?.stringValue)
            let read = try await browser.parse("GET", "/files/\(TestServer.applicationID)/\(name)")
            #expect(read.text == "hello")
            #expect(try await browser.parse("DELETE", "/files/\(name)").status == 200)
            #expect(try await browser.parse("GET", "/files/\(TestServer.applicationID)/\(name)").status == 404)
        }
    }
}
