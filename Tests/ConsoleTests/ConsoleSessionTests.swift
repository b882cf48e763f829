import Console
import Foundation
import JSON
import ServerConfiguration
import TestSupport
import Testing

@Suite("Console sessions")
struct ConsoleSessionTests {
    @Test("A session needs both its cookie and its token, and tolerates foreign cookies")
    func halves() async throws {
        try await TestServer.run { server in
            let whole = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let other = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            #expect(try await whole.send("GET", "/console/api/session").status == 200)
            var (cookieAlone, tokenAlone, mixed, planted) = (whole, whole, whole, whole)
            cookieAlone.token = nil
            tokenAlone.cookie = nil
            mixed.cookie = other.cookie
            for browser in [cookieAlone, tokenAlone, mixed] {
                #expect(try await browser.send("GET", "/console/api/session").status == 401)
                #expect(try await browser.parse("GET", "/classes/_User").status == 401)
            }
            // A server on another port may set a cookie of the same name without breaking the session.
            let name = try #require(whole.cookie?.prefix { $0 != "=" })
            for count in [1, 5, 150] {
                let others = (0..<count).map { "\(name)=\(String(format: "%064x", $0)); " }.joined()
                planted.cookie = "\(others)\(whole.cookie ?? "")"
                #expect(try await planted.send("GET", "/console/api/session").status == 200, "\(count) cookies")
                planted.cookie = others + "\(name)=short"
                #expect(try await planted.send("GET", "/console/api/session").status == 401)
            }
        }
    }

    @Test("The cookie is HttpOnly and limited to the console's path, and the token is returned only once")
    func cookie() async throws {
        try await TestServer.run { server in
            let answer = try await ConsoleBrowser(server).send(
                "POST", "/console/api/session", ConsoleBrowser.masterKey)
            let field = try #require(answer.headers["set-cookie"])
            let port = try #require(URL(string: server.url)?.port)
            #expect(field.hasPrefix("roost_console_\(port)="))
            for part in ["HttpOnly", "SameSite=Strict", "Path=/console"] { #expect(field.contains("; \(part)")) }
            let token = try #require(answer["token"]?.stringValue)
            #expect(token.utf8.count == 64)
            #expect(!field.contains(token))
            var browser = ConsoleBrowser(server)
            browser.token = token
            browser.cookie = String(field.prefix { $0 != ";" })
            #expect(try await !browser.send("GET", "/console/api/session").text.contains(token))
        }
    }

    @Test("Rejects requests of other origins, even with cookie and token")
    func otherOrigin() async throws {
        try await TestServer.run { server in
            let browser = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let port = (URL(string: server.url)?.port ?? 0) + 1
            for headers in [
                ["Origin": "http://localhost:\(port)"], ["Sec-Fetch-Site": "same-site"],
                ["Sec-Fetch-Site": "cross-site"],
                ["Sec-Fetch-Site": "none"], ["Origin": "null"],
                ["Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"],
            ] {
                let read = try await browser.parse("GET", "/classes/_User", headers: headers)
                #expect(read.status == 403, "\(headers)")
                let write = try await browser.parse("POST", "/classes/Song", ["title": "x"], headers: headers)
                #expect(write.status == 403, "\(headers)")
                let out = try await browser.send("DELETE", "/console/api/session", headers: headers)
                #expect(out.status == 403, "\(headers)")
            }
            #expect(try await browser.parse("GET", "/classes/Song").json == ["results": []])
            #expect(try await browser.send("GET", "/console/api/session").status == 200)
            let own = ["Origin": browser.root, "Sec-Fetch-Site": "same-origin"]
            #expect(try await browser.parse("POST", "/classes/Song", ["title": "x"], headers: own).status == 201)
        }
    }

    @Test("Ends sessions when the renewed master key changes or is missing, and accepts the new key")
    func renewedKey() async throws {
        let key = RenewedKey(TestServer.masterKey)
        let renew: @Sendable (inout Configuration) -> Void = { $0.renewedMasterKey = key }
        try await TestServer.run(configure: renew) { server in
            func status(_ browser: ConsoleBrowser) async throws -> Int {
                try await browser.send("GET", "/console/api/session").status
            }
            let first = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            for browser in [first, viewer] { #expect(try await status(browser) == 200) }
            for (value, wrong) in [("another", TestServer.masterKey), (nil, "")] {
                key.value = value
                for browser in [first, viewer] { #expect(try await status(browser) == 401) }
                let refused = try await ConsoleBrowser(server).send(
                    "POST", "/console/api/session", ["masterKey": .string(wrong)])
                #expect(refused.status == 401, "\(refused.text)")
            }
            key.value = "another"
            let second = try await ConsoleBrowser(server, ["masterKey": "another"])
            #expect(try await status(second) == 200)
        }
    }

    @Test("Locks out operators with class limits of an earlier version until they are added again")
    func limitedBefore() async throws {
        try await TestServer.run { server in
            let editor = try await ConsoleBrowser.operatorBrowser(server, "editor")
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            try await server.execute(
                """
                ALTER TABLE "_roost_operator" ADD COLUMN "limits" jsonb;
                UPDATE "_roost_operator" SET "limits" = '{"classes": ["Song"]}' WHERE "role" = 'editor';
                """)
            #expect(try await editor.parse("GET", "/classes/Song").status == 401)
            #expect(try await viewer.parse("GET", "/classes/Song").status == 200)
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let listed = try await owner.send("GET", "/console/api/operators")["operators"]?.arrayValue
            let known = try #require(listed?.first { $0["role"] == "editor" })
            let credentials: JSONValue = ["name": known["name"] ?? "", "password": "long enough"]
            func signIn() async throws -> Int {
                try await ConsoleBrowser(server).send("POST", "/console/api/session", credentials).status
            }
            #expect(try await signIn() == 401)
            let id = known["id"]?.stringValue ?? ""
            #expect(try await owner.send("DELETE", "/console/api/operators/\(id)").status == 200)
            #expect(try await owner.send("POST", "/console/api/operators", credentials).status == 201)
            #expect(try await signIn() == 200)
        }
    }

    @Test("Ignores API keys in console requests")
    func keys() async throws {
        try await TestServer.run { server in
            let keys = [
                "X-Parse-Application-Id": TestServer.applicationID, "X-Parse-Master-Key": TestServer.masterKey,
            ]
            #expect(try await ConsoleBrowser(server).parse("GET", "/classes/_User", headers: keys).status == 401)
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            #expect(try await viewer.parse("POST", "/classes/Song", ["title": "x"], headers: keys).status == 403)
            let method: JSONValue = ["_method": "GET", "_MasterKey": .string(TestServer.masterKey)]
            #expect(try await viewer.parse("POST", "/classes/Song", method, headers: keys).status == 403)
        }
    }

    @Test("Log-out, a new password, a new role and removal end sessions immediately")
    func ends() async throws {
        try await TestServer.run { server in
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            func made(_ name: String) async throws -> (id: String, browser: ConsoleBrowser) {
                let answer = try await owner.send(
                    "POST", "/console/api/operators",
                    ["name": .string(name), "password": "long enough", "role": "developer"])
                let id = try #require(answer["id"]?.stringValue)
                return (id, try await ConsoleBrowser(server, ["name": .string(name), "password": "long enough"]))
            }
            let changes: [(String, JSONValue?)] = [
                ("PUT", ["password": "another one"]), ("PUT", ["role": "viewer"]), ("DELETE", nil),
            ]
            for (method, body) in changes {
                let (id, browser) = try await made("of \(method) \(body?.text ?? "")")
                #expect(try await browser.send("GET", "/console/api/session").status == 200)
                #expect(try await owner.send(method, "/console/api/operators/\(id)", body).status == 200)
                #expect(try await browser.send("GET", "/console/api/session").status == 401)
                #expect(try await browser.parse("POST", "/classes/Song", ["title": "x"]).status == 401)
            }
            #expect(try await owner.send("DELETE", "/console/api/session").status == 200)
            #expect(try await owner.send("GET", "/console/api/session").status == 401)
        }
    }

    @Test("A server with another master key rejects existing sessions")
    func changedKey() async throws {
        try await TestServer.run { server in
            let browser = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            try await server.alongside(["masterKey": "another one"]) { later in
                var there = ConsoleBrowser(later)
                there.token = browser.token
                #expect(try await browser.send("GET", "/console/api/session").status == 200)
                let secret = try #require(browser.cookie?.split(separator: "=").last)
                let port = try #require(there.root.split(separator: ":").last)
                there.cookie = "roost_console_\(port)=\(secret)"
                #expect(try await there.send("GET", "/console/api/session").status == 401)
            }
            try await server.alongside { later in
                var there = ConsoleBrowser(later)
                there.token = browser.token
                let secret = try #require(browser.cookie?.split(separator: "=").last)
                let port = try #require(there.root.split(separator: ":").last)
                there.cookie = "roost_console_\(port)=\(secret)"
                #expect(try await there.send("GET", "/console/api/session").status == 200)
            }
        }
    }

    @Test("Expires sessions after idle time and at their absolute end")
    func idle() async throws {
        try await TestServer.run(["console": ["sessionLength": 60]]) { server in
            let browser = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            try await server.execute(
                "UPDATE \"_roost_operator_session\" SET \"usedAt\" = now() - interval '59 seconds'")
            #expect(try await browser.send("GET", "/console/api/session").status == 200)
            try await server.execute(
                "UPDATE \"_roost_operator_session\" SET \"usedAt\" = now() - interval '59 seconds'")
            #expect(try await browser.send("GET", "/console/api/session").status == 200, "being used keeps it")
            try await server.execute(
                "UPDATE \"_roost_operator_session\" SET \"usedAt\" = now() - interval '61 seconds'")
            #expect(try await browser.send("GET", "/console/api/session").status == 401)
            let another = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            try await server.execute("UPDATE \"_roost_operator_session\" SET \"until\" = now()")
            #expect(try await another.send("GET", "/console/api/session").status == 401)
        }
    }

    @Test("Servers on two ports of one machine keep separate sessions")
    func twoPorts() async throws {
        try await TestServer.run { first in
            try await first.alongside { second in
                var here = try await ConsoleBrowser(first, ConsoleBrowser.masterKey)
                var there = try await ConsoleBrowser(second, ConsoleBrowser.masterKey)
                // A browser sends the cookies of all ports to each port.
                let cookies = "\(here.cookie ?? ""); \(there.cookie ?? "")"
                here.cookie = cookies
                there.cookie = cookies
                #expect(try await here.send("GET", "/console/api/session").status == 200)
                #expect(try await there.send("GET", "/console/api/session").status == 200)
            }
        }
    }

    @Test("Sessions opened with an admin key carry its name, and end when the key is removed")
    func administrators() async throws {
        let digest: JSONValue = "bf9241c40acec4030b7d0340e7a6a8989362bce526740ad66896f3d60830ede6"
        try await TestServer.run(["adminKeys": ["alice": digest]]) { server in
            let alice = try await ConsoleBrowser(server, ["masterKey": "alice's own key"])
            let session = try await alice.send("GET", "/console/api/session")
            #expect(session["operator"]?["name"] == "key of alice" && session["operator"]?["role"] == "owner")
            #expect(try await alice.audit().first?["operator"] == "key of alice")
            let taken = try await alice.send(
                "POST", "/console/api/operators", ["name": "key of bob", "password": "long enough", "role": "viewer"])
            #expect(taken.status == 400)
            for (keys, status) in [(["alice": digest], 200), ([:], 401)] as [(JSONObject, Int)] {
                try await server.alongside(["adminKeys": .object(keys)]) { other in
                    var there = ConsoleBrowser(other)
                    let port = try #require(URL(string: other.url)?.port)
                    there.token = alice.token
                    there.cookie = "roost_console_\(port)=\(alice.cookie?.suffix(64) ?? "")"
                    #expect(try await there.send("GET", "/console/api/session").status == status)
                }
            }
        }
    }

    @Test("A password change during sign-in prevents the session")
    func changedPassword() async throws {
        try await TestServer.run { server in
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            _ = try await owner.send(
                "POST", "/console/api/operators", ["name": "kim", "password": "old words", "role": "viewer"])
            let signIn = try await server.whileLocked(
                "UPDATE \"_roost_operator\" SET \"hash\" = 'another'", commits: true
            ) {
                let signIn = Task {
                    try await ConsoleBrowser(server).send(
                        "POST", "/console/api/session", ["name": "kim", "password": "old words"])
                }
                let isWaiting = try await eventually(within: .seconds(60)) {
                    try await !server.texts(
                        "SELECT 'x' FROM pg_stat_activity WHERE datname = current_database() "
                            + "AND wait_event_type = 'Lock' AND query LIKE '%_roost_operator_session%'"
                    ).isEmpty
                }
                #expect(isWaiting)
                return signIn
            }
            #expect(try await signIn.value.status == 401)
            let sessions = try await owner.send("GET", "/console/api/sessions")["sessions"]?.arrayValue
            #expect(sessions?.map { $0["operator"] } == ["master key"])
        }
    }

    @Test("One operator's slow finds don't block another's")
    func slowFinds() async throws {
        try await TestServer.run(["lockTimeout": 120_000, "statementTimeout": 120_000]) { server in
            _ = try await server.create("Slow", ["n": 1])
            _ = try await server.create("Song", ["n": 1])
            let slow = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            let other = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            let finds = try await server.whileLocked("LOCK TABLE \"Slow\" IN ACCESS EXCLUSIVE MODE") {
                let finds = (0..<4).map { _ in
                    Task { try await slow.parse("GET", "/classes/Slow?where={\"n\":1}").status }
                }
                let isWaiting = try await eventually(within: .seconds(60)) {
                    try await !server.texts(
                        "SELECT 'x' FROM pg_stat_activity WHERE datname = current_database() "
                            + "AND wait_event_type = 'Lock' AND query LIKE '%\"Slow\"%'"
                    ).isEmpty
                }
                #expect(isWaiting)
                #expect(try await other.parse("GET", "/classes/Song?where={\"n\":1}").status == 200)
                return finds
            }
            for find in finds { #expect(try await find.value == 200) }
        }
    }

    @Test("Stores no session, ticket or operator secrets in plain text")
    func secrets() async throws {
        try await TestServer.run { server in
            let browser = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            _ = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            let rows = try await server.texts(
                "SELECT (SELECT string_agg(s::text, ' ') FROM \"_roost_operator_session\" s) || "
                    + "(SELECT string_agg(o::text, ' ') FROM \"_roost_operator\" o) || "
                    + "(SELECT string_agg(a::text, ' ') FROM \"_roost_audit\" a)"
            ).joined()
            for secret in [browser.token, browser.cookie.map { String($0.suffix(64)) }, "long enough"] {
                #expect(!rows.contains(try #require(secret)))
            }
            #expect(!rows.contains(TestServer.masterKey))
        }
    }
}
