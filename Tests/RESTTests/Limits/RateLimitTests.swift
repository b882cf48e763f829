import JSON
import TestSupport
import Testing

@Suite struct RateLimitTests {
    private static func limit(_ path: String, _ count: Int, _ more: JSONObject = [:]) -> JSONValue {
        let limit: JSONObject = [
            "requestPath": .string(path), "requestTimeWindow": 3_600_000, "requestCount": .number(Double(count)),
            "includeInternalRequests": true,
        ]
        return .object(limit.merging(more) { $1 })
    }

    private static func expectRefusal(_ answer: TestAnswer, _ text: String = "Too many requests.", head: Bool = false) {
        #expect(answer.status == 429, "\(answer.text)")
        if head { return }
        #expect(answer.code == 100, "\(answer.text)")
        #expect(answer.error == text, "\(answer.text)")
    }

    @Test("Rejects requests beyond a limit; other paths, other methods and the master key don't count")
    func paths() async throws {
        let options: JSONObject = [
            "rateLimit": [
                Self.limit("/classes/Limited", 2, ["requestMethods": ["POST"], "errorResponseMessage": "Slowly."]),
                Self.limit("/functions/*path", 0), Self.limit("/classes/Kept/:id", 1, ["includeMasterKey": true]),
                Self.limit("/classes/Free", 0, ["includeInternalRequests": false]),
            ]
        ]
        try await TestServer.run(options) { server in
            _ = try await server.create("Limited", ["n": 1])
            _ = try await server.create("Limited", ["n": 2])
            for path in ["/classes/Limited", "/CLASSES//Limited/", "/classes/%4cimited?x=1"] {
                Self.expectRefusal(try await server.send("POST", path, ["n": 3]), "Slowly.")
            }
            #expect(try await server.find("Limited", as: .master).results.count == 2)
            #expect(try await server.send("POST", "/classes/Limited", ["n": 3], as: .master).status == 201)
            #expect(try await server.send("GET", "/classes/LimitedNot").status == 200)
            #expect(try await server.send("GET", "/classes/Free").status == 200)
            Self.expectRefusal(try await server.send("POST", "/functions/a/b", [:]))
            #expect(try await server.send("GET", "/classes/Kept/x", as: .master).status == 404)
            Self.expectRefusal(try await server.send("GET", "/classes/Kept/y", as: .master))
        }
    }

    @Test("Counts a POST with _method under both methods, HEAD as GET, and path aliases as one path")
    func spellings() async throws {
        let options: JSONObject = [
            "rateLimit": [
                Self.limit("/classes/Read", 1, ["requestMethods": ["GET"]]),
                Self.limit("/classes/Written", 1, ["requestMethods": "POST"]),
                Self.limit("/users", 1, ["requestMethods": ["GET"]]), Self.limit("/classes/_Role/:id", 0),
            ]
        ]
        try await TestServer.run(options) { server in
            #expect(try await server.send("GET", "/classes/Read").status == 200)
            Self.expectRefusal(try await server.send("POST", "/classes/Read", ["_method": "get"]))
            Self.expectRefusal(try await server.send("HEAD", "/classes/Read"), head: true)
            #expect(try await server.send("POST", "/classes/Read", ["n": 1]).status == 201)
            #expect(try await server.send("POST", "/classes/Written", ["_method": "GET"]).status == 200)
            Self.expectRefusal(try await server.send("POST", "/classes/Written", ["n": 1]))
            #expect(try await server.send("GET", "/classes/_User").status == 200)
            Self.expectRefusal(try await server.send("GET", "/users"))
            Self.expectRefusal(try await server.send("GET", "/roles/x"))
        }
    }

    @Test("Counts reads that SDKs send as POST as GET; unknown clients, writes and log-ins count as POST")
    func readsOfSDKs() async throws {
        let methods: JSONObject = ["requestMethods": ["POST"]]
        let options: JSONObject = [
            "rateLimit": [
                Self.limit("/classes/*path", 1, methods), Self.limit("/login", 0, methods),
                Self.limit("/users", 1, ["requestMethods": ["GET"]]),
            ], "javascriptKey": "jsKey",
        ]
        try await TestServer.run(options) { server in
            func send(_ path: String, _ version: String, _ method: String = "GET") async throws -> TestAnswer {
                let body: JSONObject = [
                    "_method": .string(method), "_ApplicationId": .string(TestServer.applicationID),
                    "_JavaScriptKey": "jsKey", "_ClientVersion": .string(version),
                ]
                return try await server.send("POST", path, .object(body), as: .nobody)
            }
            for version in ["js5.3.0", "js1.11.1", "i1.19.2", "osx1.19", "apple-tv1.17", "swift4.14.2", "JS3.5.1"] {
                #expect(try await send("/classes/Song", version).status == 200, "\(version)")
            }
            #expect(try await send("/classes/Song/nosuch", "js5.3.0").status == 404)
            // A limit on reads counts reads.
            #expect(try await send("/users", "js5.3.0").status == 200)
            Self.expectRefusal(try await send("/users", "js5.3.0"))
            Self.expectRefusal(try await send("/login", "js5.3.0"))
            #expect(try await send("/classes/Song/nosuch", "js5.3.0", "PUT").status == 404)
            for version in ["", "js", "json1.0", "curl7"] {
                Self.expectRefusal(try await send("/classes/Song", version))
            }
        }
    }

    @Test("Exempts this machine, but not clients that send a loopback address in X-Forwarded-For")
    func writtenAddress() async throws {
        let limit = Self.limit("/classes/Limited", 1, ["includeInternalRequests": false])
        try await TestServer.run(["rateLimit": [limit], "trustProxy": true]) { server in
            for _ in 0..<3 { #expect(try await server.send("GET", "/classes/Limited").status == 200) }
            for written in ["127.0.0.1", "::1"] {
                let headers = ["X-Forwarded-For": written]
                #expect(try await server.send("GET", "/classes/Limited", headers: headers).status == 200)
                Self.expectRefusal(try await server.send("GET", "/classes/Limited", headers: headers))
            }
        }
    }

    @Test("Counts file uploads but not downloads")
    func files() async throws {
        let options: JSONObject = [
            "fileUpload": ["enableForPublic": true],
            "rateLimit": [Self.limit("/files/*path", 1, ["requestMethods": ["POST", "GET"]])],
        ]
        try await TestServer.run(options) { server in
            let file = try await server.send("POST", "/files/a.txt", bytes: [65]).succeeded()
            Self.expectRefusal(try await server.send("POST", "/files/b.txt", bytes: [65]))
            let json: JSONValue = [
                "base64": "QQ==", "_ApplicationId": .string(TestServer.applicationID), "_ContentType": "text/plain",
            ]
            let key = ["X-Parse-REST-API-Key": TestServer.restKey]
            Self.expectRefusal(try await server.send("POST", "/files/c.txt", json, as: .nobody, headers: key))
            for _ in 1...3 { #expect(try await server.send("GET", try file.string("url")).status == 200) }
        }
    }

    private static func batch(_ count: Int) -> JSONValue {
        let call: JSONValue = ["method": "POST", "path": "/parse/classes/Batched", "body": ["n": 1]]
        return ["requests": .array(Array(repeating: call, count: count))]
    }

    @Test("Counts each element of a batch, and runs none of them if the batch exceeds the limit")
    func batches() async throws {
        try await TestServer.run(["rateLimit": [Self.limit("/classes/Batched", 3)]]) { server in
            #expect(try await server.send("POST", "/batch", Self.batch(2)).status == 200)
            Self.expectRefusal(try await server.send("POST", "/batch", Self.batch(2)))
            #expect(try await server.find("Batched", as: .master).results.count == 2)
        }
    }

    @Test("Counts per user, per session or globally; invented session tokens gain no extra requests")
    func zones() async throws {
        let options: JSONObject = [
            "rateLimit": [
                Self.limit("/classes/ByUser", 1, ["zone": "user"]),
                Self.limit("/classes/BySession", 1, ["zone": "session"]),
                Self.limit("/classes/ByAll", 1, ["zone": "global"]), Self.limit("/login", 2, ["zone": "session"]),
            ]
        ]
        try await TestServer.run(options) { server in
            let anna = try await server.signUp("anna")
            let bert = try await server.signUp("bert")
            for name in ["ByUser", "BySession"] {
                for user in [anna, bert] {
                    #expect(try await server.send("GET", "/classes/\(name)", as: .session(user.token)).status == 200)
                    Self.expectRefusal(try await server.send("GET", "/classes/\(name)", as: .session(user.token)))
                }
            }
            #expect(try await server.send("GET", "/classes/ByAll", as: .session(anna.token)).status == 200)
            Self.expectRefusal(try await server.send("GET", "/classes/ByAll", as: .session(bert.token)))
            let credentials: JSONValue = ["username": "anna", "password": "wrong"]
            for token in ["r:a", "r:b"] {
                _ = try await server.send("POST", "/login", credentials, as: .session(token))
            }
            Self.expectRefusal(try await server.send("POST", "/login", credentials, as: .session("r:c")))
            // In a batch, the limit per address applies to all sessions.
            let call: JSONValue = ["method": "POST", "path": "/parse/login", "body": credentials]
            let batch = try await server.send("POST", "/batch", ["requests": [call]], as: .session(anna.token))
            Self.expectRefusal(batch)
        }
    }

    @Test("Serves exactly the allowed number of parallel requests")
    func parallel() async throws {
        try await TestServer.run(["rateLimit": [Self.limit("/classes/Raced", 5)]]) { server in
            let served = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 { group.addTask { try await server.send("GET", "/classes/Raced").status } }
                return try await group.reduce(0) { $0 + ($1 == 200 ? 1 : 0) }
            }
            #expect(served == 5)
        }
    }
}
