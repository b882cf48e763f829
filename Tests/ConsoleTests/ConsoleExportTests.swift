import JSON
import TestSupport
import Testing

/// Scenarios 16, 17, 60, 63 and 64: exports and imports through the console's own routes.
@Suite("Exports and imports in the console")
struct ConsoleExportTests {
    private static func export(_ browser: ConsoleBrowser, _ wish: JSONValue) async throws -> TestAnswer {
        let begun = try await browser.send("POST", "/console/api/exports", wish)
        try #require(begun.status == 201, "\(begun.text)")
        let file = try await browser.send(
            "GET", try #require(begun["url"]?.stringValue), headers: ["X-Roost-Console": ""])
        try #require(file.status == 200, "\(file.text)")
        let state = try await browser.send(
            "GET", "/console/api/exports/\(try #require(begun["id"]?.stringValue))?wait=20")
        #expect(state["state"] == "done", "\(state.text)")
        return file
    }

    private static let formulas = [
        "=HYPERLINK(\"x\")", "@SUM(1)", "-2+3", "\tcmd", "+1", "'=1", "\u{FF1D}1", "=\u{301}1",
    ]

    @Test("Escapes formulas in CSV exports, keeps numbers, and exports JSON exactly")
    func formulas() async throws {
        try await TestServer.run { server in
            for (index, text) in Self.formulas.enumerated() {
                _ = try await server.create("Sheet", ["text": .string(text), "n": .number(Double(-5 - index))])
            }
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            var wish: JSONObject = [
                "className": "Sheet", "order": "createdAt", "keys": ["n", "text"], "format": "csv",
            ]
            let csv = try await Self.export(viewer, .object(wish))
            #expect(csv.headers["content-type"] == "text/csv; charset=utf-8")
            #expect(csv.headers["content-disposition"] == "attachment; filename*=UTF-8''Sheet.csv")
            let lines = csv.text.split(separator: "\r\n").map { String($0) }
            #expect(
                lines == [
                    "\u{FEFF}n,text", "-5,\"'=HYPERLINK(\"\"x\"\")\"", "-6,'@SUM(1)", "-7,'-2+3", "-8,\"'\tcmd\"",
                    "-9,'+1", "-10,''=1", "-11,'\u{FF1D}1", "-12,'=\u{301}1",
                ])
            wish["safe"] = false
            #expect(try await Self.export(viewer, .object(wish)).text.hasPrefix("n,text\r\n-5,\"=HYPERLINK("))
            for (format, wrapped) in [("ndjson", false), ("json", true)] {
                wish["format"] = .string(format)
                let text = try await Self.export(viewer, .object(wish)).text
                let objects =
                    wrapped
                    ? try JSONValue(parsing: Array(text.utf8))["results"]?.arrayValue ?? []
                    : try text.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
                #expect(objects.map { $0["text"]?.stringValue } == Self.formulas)
            }
        }
    }

    @Test("Exports all objects of a query in order, with values of every type")
    func all() async throws {
        try await TestServer.run { server in
            for start in stride(from: 0, to: 3_000, by: 1_000) {
                let rows = (start..<(start + 1_000)).map { number -> JSONValue in
                    [
                        "n": .number(Double(number)), "even": .bool(number.isMultiple(of: 2)),
                        "at": ["__type": "Date", "iso": "2024-01-31T12:00:00.000Z"],
                        "place": ["__type": "GeoPoint", "latitude": -5.5, "longitude": 7],
                        "user": ["__type": "Pointer", "className": "_User", "objectId": "abc"],
                        "list": [1, "a;b"], "text": number == 7 ? "" : "a\nb",
                    ]
                }
                let stored = try await server.send("POST", "/import_data/Many", .array(rows), as: .master)
                #expect(stored.status == 200)
            }
            // One row is much larger than the others.
            _ = try await server.create(
                "Many", ["n": 1_000_000, "even": true, "text": .string(String(repeating: "x", count: 900_000))])
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            var wish: JSONObject = [
                "className": "Many", "where": ["even": true], "order": "-n", "format": "csv",
                "keys": ["n", "at", "place", "user", "list", "text"],
            ]
            let lines = try await Self.export(owner, .object(wish)).text.components(separatedBy: "\r\n")
            #expect(lines.count == 1_503 && lines.last == "")
            #expect(lines[1].hasPrefix("1000000,,,,,xxx") && lines[1].utf8.count > 900_000)
            #expect(
                lines[2] == "2998,2024-01-31T12:00:00.000Z,\"'-5.5, 7\",abc,\"[1,\"\"a;b\"\"]\",\"a\nb\"", "\(lines[2])"
            )
            #expect(lines[1_501].hasPrefix("0,"))
            wish["format"] = "json"
            wish["where"] = nil
            let all = try await Self.export(owner, .object(wish)).text
            let objects = try JSONValue(parsing: Array(all.utf8))["results"]?.arrayValue
            #expect(objects?.count == 3_001)
            let audit = try await owner.audit().first { $0["path"] == "exports" }
            #expect(audit?["count"] == 3_001 && audit?["className"] == "Many", "\(String(describing: audit))")
        }
    }

    @Test("An export URL works once, only with its operator's cookie, and not after the session ends")
    func addresses() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["title": "one"])
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let other = try await ConsoleBrowser.operatorBrowser(server, "developer")
            let wish: JSONValue = ["className": "Song", "format": "ndjson"]
            func begin() async throws -> (url: String, id: String) {
                let begun = try await owner.send("POST", "/console/api/exports", wish)
                return (begun["url"]?.stringValue ?? "", begun["id"]?.stringValue ?? "")
            }
            var (url, id) = try await begin()
            #expect(try await other.send("GET", "/console/api/exports/\(id)").status == 404)
            #expect(try await other.send("DELETE", "/console/api/exports/\(id)").status == 404)
            // After a download attempt by another operator, the export is deleted.
            #expect(try await other.send("GET", url).status == 404)
            #expect(try await owner.send("GET", url).status == 404)
            (url, id) = try await begin()
            #expect(try await owner.send("GET", url, headers: ["Cookie": ""]).status == 404)
            (url, id) = try await begin()
            #expect(try await owner.send("GET", url, headers: ["Sec-Fetch-Site": "same-site"]).status == 403)
            #expect(try await owner.send("GET", url).status == 200)
            #expect(try await owner.send("GET", url).status == 404)
            (url, id) = try await begin()
            #expect(try await owner.send("DELETE", "/console/api/exports/\(id)").status == 200)
            #expect(try await owner.send("GET", "/console/api/exports/\(id)")["state"] == "cancelled")
            #expect(try await owner.send("GET", url).status == 404)
            (url, _) = try await begin()
            #expect(try await owner.send("DELETE", "/console/api/session").status == 200)
            #expect(try await owner.send("GET", url).status == 404)
        }
    }

    @Test("Stops a running export if its operator is removed or gets another role", arguments: [true, false])
    func rights(isRemoved: Bool) async throws {
        try await TestServer.run(["lockTimeout": 60_000]) { server in
            _ = try await server.create("Song", ["title": "SECRET"])
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            let listed = try await owner.send("GET", "/console/api/operators")["operators"]?.arrayValue
            let id = try #require(listed?.first { $0["role"] == "viewer" }?["id"]?.stringValue)
            let begun = try await viewer.send(
                "POST", "/console/api/exports", ["className": "Song", "format": "ndjson"])
            let url = try #require(begun["url"]?.stringValue)
            let download = try await server.whileLocked("LOCK TABLE \"Song\" IN ACCESS EXCLUSIVE MODE") {
                let download = Task { try await viewer.send("GET", url, headers: ["X-Roost-Console": ""]).text }
                let isUnderWay = try await server.waitsForLocks()
                #expect(isUnderWay)
                let path = "/console/api/operators/\(id)"
                let ended =
                    isRemoved
                    ? try await owner.send("DELETE", path)
                    : try await owner.send("PUT", path, ["role": "editor"])
                #expect(ended.status == 200, "\(ended.text)")
                return download
            }
            let text = try? await download.value
            #expect(text?.contains("SECRET") != true)
        }
    }

    @Test("Exports contain no tokens and nothing that the role can't find")
    func secrets() async throws {
        try await TestServer.run { server in
            _ = try await server.send("POST", "/users", ["username": "kim", "password": "hush hush"])
            _ = try await server.send("POST", "/users", ["authData": ["anonymous": ["id": "anon-secret"]]]).succeeded()
            _ = try await server.create("Song", ["title": "one", "plays": 1])
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let sessions = try await Self.export(owner, ["className": "_Session", "format": "ndjson"])
            #expect(sessions.text.contains("\"createdWith\"") && !sessions.text.contains("r:"))
            let columns = try await Self.export(
                owner, ["className": "_Session", "format": "csv", "keys": ["objectId", "sessionToken"]])
            #expect(columns.text.contains("sessionToken") && !columns.text.contains("r:"))
            let users = try await Self.export(owner, ["className": "_User", "format": "csv"])
            #expect(users.text.contains("kim") && !users.text.contains("$2") && users.text.contains("anon-secret"))
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            for format in ["csv", "json", "ndjson"] {
                let seen = try await Self.export(viewer, ["className": "_User", "format": .string(format)])
                #expect(seen.text.contains("kim") && !seen.text.contains("anon-secret"), "\(seen.text)")
            }
            let search: JSONValue = [
                "className": "_Session", "format": "csv", "where": ["sessionToken": ["$regex": "^r:a"]],
            ]
            #expect(try await viewer.send("POST", "/console/api/exports", search).status == 403)
            for (wish, status) in [
                (["className": "Song", "format": "xml"], 400), (["format": "csv"], 400),
                (["className": "Song", "format": "csv", "where": ["plays": ["$nonsense": 1]]], 400),
                (["className": "Nowhere", "format": "csv"], 400),
            ] as [(JSONValue, Int)] {
                #expect(try await owner.send("POST", "/console/api/exports", wish).status == status, "\(wish)")
            }
        }
    }

    @Test("A dry run stores nothing and reports the same as the import")
    func imports() async throws {
        try await TestServer.run { server in
            let schema: JSONValue = [
                "className": "Price",
                "fields": ["name": ["type": "String", "required": true], "price": ["type": "Number"]],
            ]
            #expect(try await server.send("POST", "/schemas/Price", schema, as: .master).status == 200)
            let there = try await server.create("Price", ["name": "there", "price": 1])
            let editor = try await ConsoleBrowser.operatorBrowser(server, "editor")
            let rows: [JSONValue] = [
                ["name": "a", "price": 1], ["name": "b", "price": "odd"], ["price": 2],
                ["objectId": "kept000001", "name": "c", "createdAt": "2020-01-01T00:00:00.000Z"],
                ["objectId": .string(there), "price": 9], ["name": "d", "other": 1], 7,
                ["name": "e", "__proto__": ["x": 1]],
                ["objectId": "kept000001", "price": 3],
            ]
            var wish: JSONObject = ["className": "Price", "rows": .array(rows), "existing": "skip", "dryRun": true]
            func send(_ browser: ConsoleBrowser) async throws -> TestAnswer {
                try await browser.send("POST", "/console/api/imports", .object(wish))
            }
            let refused: [Double?] = [1, 2, 5, 6, 7]
            for (existing, stored, skipped, isDryRun) in [
                ("skip", 2, 2, true), ("replace", 4, 0, true), ("skip", 2, 2, false), ("replace", 4, 0, false),
            ] {
                wish["existing"] = .string(existing)
                wish["dryRun"] = .bool(isDryRun)
                let answer = try await send(editor)
                // Editors can't create fields, so rows with new fields are rejected.
                #expect(answer["stored"] == .number(Double(stored)), "\(existing) \(answer.text)")
                #expect(answer["skipped"] == .number(Double(skipped)))
                #expect(answer["refused"]?.arrayValue?.map { $0["row"]?.numberValue } == refused, "\(answer.text)")
                let count = try await server.count("Price")
                #expect(count == (isDryRun ? 1 : existing == "skip" ? 3 : 4), "\(existing) \(count)")
            }
            let kept = try await server.send("GET", "/classes/Price/kept000001", as: .master)
            #expect(kept["createdAt"] == "2020-01-01T00:00:00.000Z" && kept["price"] == 3 && kept["name"] == "c")
            wish = [
                "className": "Price", "existing": "stop",
                "rows": [["name": "f"], ["objectId": .string(there), "price": 10], ["name": "g"]],
            ]
            let stopped = try await send(editor)
            #expect(stopped["stored"] == 1 && stopped["stoppedAt"] == 1, "\(stopped.text)")
            #expect(try await server.count("Price") == 5)
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            #expect(try await owner.audit().count { $0["path"] == "imports" } == 3)
            // A developer's dry run includes the fields that the import would create.
            wish = [
                "className": "Price", "existing": "stop", "dryRun": true, "fields": ["tax": ["type": "Number"]],
                "rows": [["name": "h", "tax": 1], ["name": "i", "tax": "no"]],
            ]
            let dry = try await send(owner)
            #expect(dry["stored"] == 1 && dry["refused"]?.arrayValue?.map { $0["row"] } == [1], "\(dry.text)")
            #expect(try await send(editor)["stored"] == 0)
        }
    }

    @Test("Rejects imports by viewers, of system classes, unknown classes and hidden fields")
    func importRights() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["title": "one", "plays": 1])
            func send(_ browser: ConsoleBrowser, _ className: String, _ row: JSONObject) async throws -> TestAnswer {
                try await browser.send(
                    "POST", "/console/api/imports",
                    ["className": .string(className), "existing": "stop", "rows": [.object(row)]])
            }
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            #expect(try await send(viewer, "Song", ["title": "two"]).status == 403)
            let editor = try await ConsoleBrowser.operatorBrowser(server, "editor")
            #expect(try await send(editor, "_Session", ["sessionToken": "r:x"]).status == 403)
            #expect(try await send(editor, "Nowhere", ["title": "x"]).status == 403)
            let hash = "$2b$10$abcdefghijklmnopqrstuuXSfUIA8LwZ6ZxUXcZlL6hbXIvbhVqZK"
            for field in ["_hashed_password", "bcryptPassword", "_perishable_token"] {
                let answer = try await send(editor, "_User", ["username": "eve", Name(field): .string(hash)])
                #expect(answer["stored"] == 0, "\(field) \(answer.text)")
            }
            let many: JSONValue = [
                "className": "Song", "existing": "stop", "rows": .array(Array(repeating: [:], count: 2_001)),
            ]
            #expect(try await editor.send("POST", "/console/api/imports", many).status == 400)
        }
    }
}

extension TestServer {
    fileprivate func count(_ className: String) async throws -> Int {
        try await send("GET", "/classes/\(className)?count=1&limit=0", as: .master)["count"]?.numberValue
            .map { Int($0) } ?? -1
    }
}
