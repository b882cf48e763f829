import App
import Encoding
import JSON
import Operations
import ParseModel
import SignIn
import TestSupport
import Testing

@Suite("Console operator accounts")
struct ConsoleAccountTests {
    private static func age(_ server: TestServer) async throws {
        try await server.execute(
            "UPDATE \"_roost_operator_session\" SET \"confirmedAt\" = now() - interval '16 minutes'")
    }

    private static func add(_ server: TestServer, _ name: String, _ role: String) async throws -> JSONValue {
        let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
        let made = try await owner.send(
            "POST", "/console/api/operators",
            ["name": .string(name), "password": "long enough", "role": .string(role)])
        try #require(made.status == 201, "\(made.text)")
        return ["name": .string(name), "password": "long enough"]
    }

    @Test("Dropping or emptying a class and changing operators require confirmation after 15 minutes")
    func confirm() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["title": "a"])
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            try await Self.age(server)
            let operatorBody: JSONValue = ["name": "lou", "password": "long enough", "role": "owner"]
            for (method, path, body) in [
                ("DELETE", "/console/api/parse/schemas/Song", nil), ("DELETE", "/console/api/parse/purge/Song", nil),
                ("POST", "/console/api/operators", operatorBody), ("DELETE", "/console/api/operators/x", nil),
            ] as [(String, String, JSONValue?)] {
                let answer = try await owner.send(method, path, body)
                #expect(answer.status == 403 && answer["needs"] == "confirm", "\(method) \(path): \(answer.text)")
            }
            #expect(try await owner.parse("GET", "/classes/Song").results.count == 1)
            #expect(try await owner.send("GET", "/console/api/operators")["operators"] == [])
            for wrong: JSONValue in [["masterKey": "wrong"], [:], ["password": "long enough"]] {
                #expect(try await owner.send("POST", "/console/api/confirm", wrong).status == 401)
            }
            #expect(try await owner.parse("DELETE", "/purge/Song").status == 403)
            let confirmed = try await owner.send("POST", "/console/api/confirm", ConsoleBrowser.masterKey)
            #expect(confirmed.status == 200 && confirmed["until"]?.stringValue != nil)
            #expect(try await owner.parse("DELETE", "/purge/Song").status == 200)
            #expect(try await owner.parse("DELETE", "/schemas/Song").status == 200)
            for limits: JSONObject in [["classes": ["Song"]], ["hidden": ["Song": ["title"]]]] {
                let body = try #require(operatorBody.objectValue).merging(limits) { $1 }
                let refused = try await owner.send("POST", "/console/api/operators", .object(body))
                #expect(refused.status == 400, "\(refused.text)")
            }
            #expect(try await owner.send("POST", "/console/api/operators", operatorBody).status == 201)
            let kept = try await owner.audit().filter { $0["path"] == "confirm" }
            #expect(kept.map { $0["status"] } == [200, 401, 401, 401])
        }
    }

    @Test("Many deletions require confirmation, in one call or several; a few don't")
    func deletions() async throws {
        try await TestServer.run { server in
            let kim = try await ConsoleBrowser(server, Self.add(server, "kim", "editor"))
            _ = try await server.create("Song", ["title": "a"])
            try await server.execute(
                "INSERT INTO \"Song\" (\"objectId\") SELECT 's' || i FROM generate_series(1, 300) AS i")
            func delete(_ numbers: ClosedRange<Int>) async throws -> TestAnswer {
                let requests = numbers.map { number -> JSONValue in
                    ["method": "DELETE", "path": .string("/parse/classes/Song/s\(number)")]
                }
                return try await kim.parse("POST", "/batch", ["requests": .array(requests)])
            }
            #expect(try await delete(1...120).status == 200)
            try await Self.age(server)
            #expect(try await delete(121...240)["needs"] == "confirm")
            #expect(try await delete(121...180).status == 200)
            #expect(try await delete(181...240)["needs"] == "confirm")
            #expect(try await delete(181...220).status == 200)
            #expect(try await kim.parse("DELETE", "/classes/Song/s221")["needs"] == "confirm")
            #expect(try await kim.send("POST", "/console/api/confirm", ["password": "wrong"]).status == 401)
            #expect(try await kim.send("POST", "/console/api/confirm", ConsoleBrowser.masterKey).status == 401)
            #expect(try await kim.send("POST", "/console/api/confirm", ["password": "long enough"]).status == 200)
            #expect(try await delete(221...300).status == 200)
            #expect(try await kim.parse("GET", "/classes/Song?count=1&limit=0")["count"] == 1)
        }
    }

    @Test("Operators can list and end their own sessions, and owners all sessions")
    func sessions() async throws {
        try await TestServer.run { server in
            let way = try await Self.add(server, "kim", "viewer")
            let (here, there) = (try await ConsoleBrowser(server, way), try await ConsoleBrowser(server, way))
            let other = try await ConsoleBrowser(server, Self.add(server, "lou", "viewer"))
            func sessions(_ browser: ConsoleBrowser) async throws -> [JSONValue] {
                try await browser.send("GET", "/console/api/sessions")["sessions"]?.arrayValue ?? []
            }
            let own = try await sessions(here)
            #expect(own.count == 2 && own.allSatisfy { $0["operator"] == "kim" && $0["isOwn"] == true })
            #expect(own.filter { $0["isThis"] == true }.count == 1)
            #expect(own.first?["address"] == "127.0.0.1")
            let id = try #require(own.first { $0["isThis"] == false }?["id"]?.stringValue)
            #expect(try await other.send("DELETE", "/console/api/sessions/\(id)").status == 404)
            #expect(try await there.send("GET", "/console/api/session").status == 200)
            #expect(try await here.send("DELETE", "/console/api/sessions/\(id)").status == 200)
            #expect(try await there.send("GET", "/console/api/session").status == 401)
            #expect(try await here.send("DELETE", "/console/api/sessions/\(id)").status == 404)
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let all = try await sessions(owner)
            let lous = try #require(all.first { $0["operator"] == "lou" })
            #expect(lous["isOwn"] == false)
            #expect(
                try await owner.send("DELETE", "/console/api/sessions/\(lous["id"]?.stringValue ?? "")").status == 200)
            #expect(try await other.send("GET", "/console/api/session").status == 401)
        }
    }

    @Test("A session always has its operator's current role")
    func changedRole() async throws {
        try await TestServer.run { server in
            let kim = try await ConsoleBrowser(server, Self.add(server, "kim", "owner"))
            #expect(try await kim.send("GET", "/console/api/operators").status == 200)
            // The state after a sign-in that overlapped with the change of role.
            try await server.execute("UPDATE \"_roost_operator\" SET \"role\" = 'viewer' WHERE \"name\" = 'kim'")
            #expect(try await kim.send("GET", "/console/api/session")["operator"]?["role"] == "viewer")
            #expect(try await kim.send("GET", "/console/api/operators").status == 403)
        }
    }

    @Test("Asks for the second factor after the password, and accepts a code only once")
    func secondFactor() async throws {
        // The clock is fixed, so that the codes below belong to the same time step.
        let now = ParseDate.now
        var extensions = ServerExtensions()
        extensions.backend.clock = WallClock { now }
        try await TestServer.run(extensions: extensions) { server in
            guard case .object(var way) = try await Self.add(server, "kim", "developer") else { return }
            let kim = try await ConsoleBrowser(server, .object(way))
            #expect(try await kim.send("GET", "/console/api/session")["operator"]?["totp"] == false)
            let made = try await kim.send("POST", "/console/api/totp", [:])
            let secret = try #require(made["secret"]?.stringValue)
            #expect(made["url"]?.stringValue?.hasPrefix("otpauth://totp/") == true)
            let codes = OneTimeCode(secret: try #require(Base32.decode(secret)))
            let step = Int(now.milliseconds / 30_000)
            func code(_ after: Int) -> JSONValue { .string(codes.code(step: step + after)) }
            func set(_ code: JSONValue) async throws -> Int {
                try await kim.send("PUT", "/console/api/totp", ["secret": .string(secret), "code": code]).status
            }
            #expect(try await set("000000") == 400)
            #expect(try await set(code(-1)) == 200)
            func signIn(_ code: JSONValue?) async throws -> TestAnswer {
                way["code"] = code
                return try await ConsoleBrowser(server).send("POST", "/console/api/session", .object(way))
            }
            let asked = try await signIn(nil)
            #expect(asked.status == 401 && asked["needs"] == "code")
            for wrong in ["000000", code(-1), "", 1] as [JSONValue] {
                let answer = try await signIn(wrong)
                #expect(answer.status == 401 && answer["needs"] == "code")
            }
            #expect(try await signIn(code(0)).status == 200)
            #expect(try await signIn(code(0)).status == 401, "a code used twice")
            way["password"] = "wrong words"
            #expect(try await signIn(code(1))["needs"] == nil, "the code is asked for after the password")
            way["password"] = "long enough"
            #expect(try await kim.send("GET", "/console/api/session")["operator"]?["totp"] == true)
            // A confirmation requires both factors.
            try await Self.age(server)
            #expect(try await kim.send("DELETE", "/console/api/totp").status == 403)
            let half = try await kim.send("POST", "/console/api/confirm", ["password": "long enough"])
            #expect(half.status == 401 && half["needs"] == "code")
            let whole: JSONValue = ["password": "long enough", "code": code(1)]
            #expect(try await kim.send("POST", "/console/api/confirm", whole).status == 200)
            // The secret can't be read from the database.
            let rows = try await server.texts("SELECT string_agg(o::text, ' ') FROM \"_roost_operator\" o")
            #expect(!rows.joined().contains(secret))
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            #expect(try await owner.send("POST", "/console/api/totp", [:]).status == 400)
            let listed = try await owner.send("GET", "/console/api/operators")["operators"]?.arrayValue?.first
            #expect(listed?["totp"] == true)
            let place = "/console/api/operators/\(listed?["id"]?.stringValue ?? "")"
            #expect(try await owner.send("PUT", place, ["totp": true]).status == 400)
            #expect(try await owner.send("PUT", place, ["totp": false]).status == 200)
            #expect(try await signIn(nil).status == 200)
        }
    }

    @Test("Limits wrong second-factor codes per operator, across addresses")
    func guesses() async throws {
        let options: JSONObject = [
            "console": ["enabled": true, "addresses": ["203.0.113.0/24", "198.51.100.0/24"], "allowPlainHTTP": true],
            "trustProxy": ["127.0.0.1"],
        ]
        try await TestServer.run(options) { server in
            func session(_ ways: JSONObject, from address: String) async throws -> TestAnswer {
                try await ConsoleBrowser(server).send(
                    "POST", "/console/api/session", .object(ways), headers: ["X-Forwarded-For": address])
            }
            func browser(_ ways: JSONObject) async throws -> ConsoleBrowser {
                let answer = try await session(ways, from: "203.0.113.1")
                var browser = ConsoleBrowser(server)
                browser.token = try #require(answer["token"]?.stringValue, "\(answer.text)")
                browser.cookie = String(try #require(answer.headers["set-cookie"]).prefix { $0 != ";" })
                return browser
            }
            let here = ["X-Forwarded-For": "203.0.113.1"]
            let owner = try await browser(["ticket": .string(server.consoleTicket())])
            let way: JSONObject = ["name": "kim", "password": "long enough"]
            let wish = JSONValue.object(way.merging(["role": "developer"]) { own, _ in own })
            let made = try await owner.send("POST", "/console/api/operators", wish, headers: here)
            try #require(made.status == 201, "\(made.text)")
            let kim = try await browser(way)
            let begun = try await kim.send("POST", "/console/api/totp", [:], headers: here)
            let secret = try #require(begun["secret"]?.stringValue)
            let codes = OneTimeCode(secret: try #require(Base32.decode(secret)))
            let code = JSONValue.string(codes.code(step: Int(ParseDate.now.milliseconds / 30_000)))
            let set = try await kim.send(
                "PUT", "/console/api/totp", ["secret": .string(secret), "code": code], headers: here)
            try #require(set.status == 200, "\(set.text)")
            for number in 1...10 {
                let wrong = try await session(
                    way.merging(["code": "00000x"]) { own, _ in own }, from: "198.51.100.\(number)")
                #expect(wrong.status == 401 && wrong["needs"] == "code", "\(number): \(wrong.text)")
            }
            #expect(try await session(way, from: "198.51.100.11").status == 429)
        }
    }

    @Test("Compresses responses to remote browsers, except small ones and those with secrets")
    func compression() async throws {
        let options: JSONObject = [
            "console": ["enabled": true, "addresses": ["203.0.113.7"], "allowPlainHTTP": true],
            "trustProxy": ["127.0.0.1"],
        ]
        try await TestServer.run(options) { server in
            for number in 0..<60 { _ = try await server.create("Song", ["title": .string("title \(number)")]) }
            let far = ["X-Forwarded-For": "203.0.113.7", "Accept-Encoding": "gzip, deflate"]
            var browser = ConsoleBrowser(server)
            let name = JSONValue.string(String(repeating: "x", count: 80))
            let signedIn = try await browser.send(
                "POST", "/console/api/session", ["ticket": .string(server.consoleTicket()), "name": name], headers: far)
            #expect(signedIn.headers["content-encoding"] == nil)
            browser.token = try #require(signedIn["token"]?.stringValue)
            browser.cookie = String(try #require(signedIn.headers["set-cookie"]).prefix { $0 != ";" })
            let plain = try await browser.parse(
                "GET", "/classes/Song", headers: ["X-Forwarded-For": "203.0.113.7", "Accept-Encoding": "identity"])
            #expect(plain.headers["content-encoding"] == nil && plain.results.count == 60)
            let packed = try await browser.parse("GET", "/classes/Song", headers: far)
            #expect(packed.headers["content-encoding"] == "gzip" && packed.headers["vary"] == "Accept-Encoding")
            // The client decompresses the response.
            #expect(packed.bytes == plain.bytes)
            let sent = try #require(packed.headers["content-length"].flatMap { Int($0) })
            #expect(sent < plain.bytes.count / 4)
            let small = try await browser.parse("GET", "/classes/Song?limit=1", headers: far)
            #expect(small.headers["content-encoding"] == nil)
        }
    }

    @Test("Changing an operator's password ends its sessions; master-key sessions have no password")
    func password() async throws {
        try await TestServer.run { server in
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let refused = try await owner.send("PUT", "/console/api/password", ["password": "another long one"])
            #expect(refused.status == 400, "\(refused.text)")
            let made = try await owner.send(
                "POST", "/console/api/operators", ["name": "Kim P", "password": "long enough", "role": "viewer"])
            #expect(made.status == 201, "\(made.text)")
            let browser = try await ConsoleBrowser(server, ["name": "Kim P", "password": "long enough"])
            let wrong: [JSONValue] = [[:], ["password": 1], ["password": "short"], ["password": ["a": 1]]]
            for body in wrong {
                let answer = try await browser.send("PUT", "/console/api/password", body)
                #expect((400..<500).contains(answer.status), "\(answer.text)")
            }
            let changed = try await browser.send("PUT", "/console/api/password", ["password": "another long one"])
            #expect(changed.status == 200, "\(changed.text)")
            #expect(try await browser.send("GET", "/console/api/session").status == 401)
            let old = ConsoleBrowser(server)
            let before = try await old.send(
                "POST", "/console/api/session", ["name": "Kim P", "password": "long enough"])
            #expect(before.status == 401)
            _ = try await ConsoleBrowser(server, ["name": "Kim P", "password": "another long one"])
            let rows = try await owner.audit().filter { $0["path"] == "password" }
            #expect(rows.contains { $0["status"] == 200 } && !rows.contains { $0.text.contains("another long one") })
        }
    }
}
