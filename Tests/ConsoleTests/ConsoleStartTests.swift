import Console
import JSON
import TestSupport
import TestTools
import Testing

@Suite("The start page of the console")
struct ConsoleStartTests {
    @Test("Shows the URL, application id and code snippets, client keys by role and never the master key")
    func connection() async throws {
        let options: JSONObject = ["clientKey": "client \"$key\"", "javascriptKey": "scriptKey"]
        try await TestServer.run(options) { server in
            let developer = try await ConsoleBrowser.operatorBrowser(server, "developer")
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            let full = try await developer.send("GET", "/console/api/start")
            #expect(full.status == 200 && full["url"] == .string(server.url), "\(full.text)")
            #expect(full["reach"] == "thisMachine" && full["host"] == "127.0.0.1" && full["code"] == nil)
            #expect(full["appId"] == .string(TestServer.applicationID) && full["needsKey"] == true)
            #expect(full["clientKey"] == options["clientKey"] && full["javascriptKey"] == "scriptKey")
            let code = Self.code(full)
            #expect(
                code.keys.sorted() == [
                    "Flutter", "JavaScript", "Kotlin (Android)", "Parse-Swift", "Swift (Parse iOS SDK)", "curl",
                ])
            for (name, text) in code {
                #expect(text.contains(TestServer.applicationID) && text.contains(server.url), "\(name)")
            }
            #expect(code["Swift (Parse iOS SDK)"]?.contains(#"$0.clientKey = "client \"$key\"""#) == true)
            #expect(code["Kotlin (Android)"]?.contains(#".clientKey("client \"\$key\"")"#) == true)
            #expect(code["JavaScript"]?.contains(#", "scriptKey");"#) == true)
            #expect(code["curl"]?.contains(#"-H 'X-Parse-Client-Key: client "$key"'"#) == true)

            let limited = try await viewer.send("GET", "/console/api/start")
            #expect(limited.status == 200 && limited["appId"] == .string(TestServer.applicationID))
            #expect(limited["clientKey"] == nil && limited["javascriptKey"] == nil && limited["needsKey"] == true)
            #expect(!limited.text.contains("$key") && !limited.text.contains("scriptKey"))
            #expect(Self.code(limited)["JavaScript"]?.contains("JAVASCRIPT_KEY") == true)
            for answer in [full, limited] {
                #expect(!answer.text.contains(TestServer.masterKey) && !answer.text.lowercased().contains("masterkey"))
                #expect(!answer.text.contains(TestServer.restKey))
            }
            for path in ["start", "start/clients"] {
                #expect(try await ConsoleBrowser(server).send("GET", "/console/api/\(path)").status == 401, "\(path)")
            }
        }
    }

    @Test("On an empty project, the curl command succeeds as it is and counts as a connected app")
    func emptyProject() async throws {
        try await TestServer.run(["clientKey": "kim's key", "allowClientClassCreation": false]) { server in
            let developer = try await ConsoleBrowser.operatorBrowser(server, "developer")
            let command = try #require(Self.code(try await developer.send("GET", "/console/api/start"))["curl"])
            let outcome = try await Program.run(["sh", "-c", command])
            #expect(outcome.output.contains(#"{"results":[]}"#), "\(command): \(outcome.output)")
            let connected = try await developer.send("GET", "/console/api/start/clients")
            #expect(connected["clients"]?.arrayValue?.first?["name"] == "REST API", "\(connected.text)")
        }
    }

    @Test("The code reads an existing class with one of its text fields, or else the users")
    func className() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["title": "x", "plays": 1])
            let browser = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            for (query, name, field) in [
                ("class=Song&field=title", "Song", "title"), ("class=Song&field=plays", "Song", nil),
                ("class=Song", "Song", nil), ("class=Missing&field=title", "_User", nil),
                ("field=title", "_User", nil), ("class=%22;&field=title", "_User", nil),
            ] {
                let code = Self.code(try await browser.send("GET", "/console/api/start?" + query))
                #expect(code.allSatisfy { $0 == "Parse-Swift" || $1.contains(name) }, "\(query): \(code)")
                let swift = code["Parse-Swift"] ?? ""
                let (type, kind) = name == "_User" ? ("User", "ParseUser") : (name, "ParseObject")
                #expect(
                    swift.contains("struct \(type): \(kind) {") && swift.contains(" \(type).query()"), "\(swift)")
                #expect(swift.contains(": String?\n}") == (field != nil), "\(swift)")
                if let field { #expect(swift.contains("    var \(field): String?\n}"), "\(swift)") }
                #expect(code["curl"]?.contains("/classes/\(name)'") == true, "\(code)")
            }
        }
    }

    @Test("Shows publicServerURL with a QR code, unless it names this machine")
    func publicURL() async throws {
        try await TestServer.run(["publicServerURL": "https://api.example.com/parse"]) { server in
            let browser = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            let answer = try await browser.send("GET", "/console/api/start")
            #expect(answer["url"] == "https://api.example.com/parse" && answer["reach"] == "network", "\(answer.text)")
            #expect(answer["code"]?.arrayValue?.count == 29)
        }
        try await TestServer.run(["publicServerURL": "http://localhost:1337/parse"]) { server in
            let browser = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            let answer = try await browser.send("GET", "/console/api/start")
            #expect(answer["reach"] == "thisMachine" && answer["code"] == nil, "\(answer.text)")
        }
    }

    @Test("Shows a network address of this machine if the server listens on all of them")
    func network() async throws {
        try await TestServer.run(["host": "0.0.0.0"]) { server in
            let browser = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            let answer = try await browser.send("GET", "/console/api/start")
            let url = try #require(answer["url"]?.stringValue)
            guard answer["reach"] == "network" else {
                // The machine has no network.
                #expect(answer["reach"] == "unknown" && answer["code"] == nil, "\(answer.text)")
                return
            }
            #expect(!url.contains("127.0.0.1") && answer["code"]?.arrayValue?.isEmpty == false, "\(url)")
            let reached = try await server.send("GET", url + "/health", as: .nobody)
            #expect(reached.status == 200, "\(url): \(reached.text)")
        }
    }

    @Test("Reports the last request of each kind of client, except the console, the master key and rejected ones")
    func clients() async throws {
        try await TestServer.run { server in
            let browser = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            _ = try await browser.parse("GET", "/classes/Song")
            _ = try await server.send("GET", "/classes/Song", as: .master)
            let refused = try await server.send(
                "GET", "/classes/Song", as: .nobody,
                headers: ["X-Parse-Application-Id": "other", "X-Parse-Client-Version": "js4.3.1"])
            #expect(refused.status == 403)
            let before = try await browser.send("GET", "/console/api/start/clients")
            #expect(before.status == 200 && before["clients"] == [], "\(before.text)")
            let versions = [
                ("i5.1.1", "iOS SDK"), ("js4.3.1", "JavaScript SDK"), ("a4.3.0", "Android SDK"),
                ("swift5.11.6", "Parse-Swift"), ("unheard of", "REST API"),
            ]
            for (version, _) in versions {
                let answer = try await server.send(
                    "GET", "/classes/Song", as: .anonymous, headers: ["X-Parse-Client-Version": version])
                #expect(answer.status == 200)
            }
            let after = try await browser.send("GET", "/console/api/start/clients")
            let clients = after["clients"]?.arrayValue ?? []
            #expect(Set(clients.compactMap { $0["name"]?.stringValue }) == Set(versions.map(\.1)), "\(after.text)")
            #expect(clients.allSatisfy { ($0["seconds"]?.numberValue ?? -1) >= 0 && $0["at"]?.stringValue != nil })
        }
    }

    @Test("Reports the last request of an app if it failed, with the reason")
    func failure() async throws {
        try await TestServer.run(logger: UnwrittenLog.logger()) { server in
            let browser = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            func reason() async throws -> JSONValue? {
                try await browser.send("GET", "/console/api/start/clients")["failure"]?["error"]
            }
            let closed: JSONValue = ["className": "Closed", "classLevelPermissions": ["find": [:]]]
            #expect(try await server.send("POST", "/schemas/Closed", closed, as: .master).status == 200)
            // A request is logged after its response.
            _ = try await server.send(
                "GET", "/classes/Song", as: .nobody, headers: ["X-Parse-Application-Id": "other"])
            #expect(try await eventually { try await reason() == "wrong application id or key" })
            _ = try await server.send("GET", "/classes/Closed", as: .anonymous)
            #expect(try await eventually { try await reason() == "permission denied (error 119)" })
            // Requests with the master key and of the console don't count.
            _ = try await server.send("GET", "/classes/Song", as: .master)
            _ = try await browser.parse("GET", "/classes/Song")
            #expect(try await reason() == "permission denied (error 119)")
            _ = try await server.send("GET", "/classes/Song", as: .anonymous)
            #expect(try await eventually { try await reason() == nil })
        }
    }

    @Test("Encodes a URL as the expected QR code, and rejects text that is too long")
    func code() throws {
        let code = try #require(QRCode("http://192.168.1.20:1337/parse"))
        #expect(code.modules.map { String($0.map { $0 ? "#" : "." }) } == Self.expected)
        #expect(QRCode(String(repeating: "x", count: 213))?.modules.count == 57)
        #expect(QRCode(String(repeating: "x", count: 214)) == nil)
    }

    private static func code(_ answer: TestAnswer) -> [String: String] {
        let pairs = (answer["snippets"]?.arrayValue ?? []).compactMap { snippet in
            snippet["name"]?.stringValue.flatMap { name in snippet["text"]?.stringValue.map { (name, $0) } }
        }
        return Dictionary(pairs) { first, _ in first }
    }

    /// A QR code that OpenCV decodes correctly.
    private static let expected = [
        "#######..#.#.###...#..#######",
        "#.....#..#..#######.#.#.....#",
        "#.###.#.#.#..#.#...#..#.###.#",
        "#.###.#.#..#..##.##.#.#.###.#",
        "#.###.#.##..#..##..#..#.###.#",
        "#.....#.#.#.#....#..#.#.....#",
        "#######.#.#.#.#.#.#.#.#######",
        "........##.##.#.#............",
        "#.#####...#.....###.#.#####..",
        "##..##...###.###.###..#.#...#",
        ".####.#..#..######.....##....",
        "###....##..###.#...#.##.#..#.",
        "..#..##.##.#..##.#.###.#.##..",
        "##..#..##......##..#..#.#.#.#",
        "...#..#...#.#.....#..##...#..",
        ".##......####.#.#.#..#.#...#.",
        ".###.###.#.#....##..##....#..",
        "#..##...##.#.###..##.##.###.#",
        "#....##.#..#.####.#...#..##..",
        "#..##....#.###.#...#.##.#..#.",
        "#.#...##.####.##.#..#####.###",
        "........#..##..##..##...#####",
        "#######...###....####.#.###..",
        "#.....#.#.....#.#.#.#...#..##",
        "#.###.#.#..#.....#..#######.#",
        "#.###.#.###.####....##.#.....",
        "#.###.#.#.#..#.######.#.##.#.",
        "#.....#....###.##...##.##..#.",
        "#######.##.....#.#.......##..",
    ]
}
