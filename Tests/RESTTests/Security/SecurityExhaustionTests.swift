import JSON
import TestSupport
import Testing

/// Advisories of class K: no request crashes or blocks the server.
@Suite struct SecurityExhaustionTests {
    private static func nested(_ depth: Int, _ start: JSONValue, _ wrap: (JSONValue) -> JSONValue) -> JSONValue {
        (0..<depth).reduce(start) { value, _ in wrap(value) }
    }

    @Test("GHSA-2479-qvv7-47qq: rejects creates in internal classes and keeps serving")
    func volatileClasses() async throws {
        try await TestServer.run { server in
            _ = try await SecurityProbe.makeSongs(server)
            for className in ["_Hooks", "_GlobalConfig", "_GraphQLConfig"] {
                let answer = try await server.send("POST", "/classes/\(className)", ["a": 1], as: .master)
                SecurityProbe.expectRefused(answer, 119, className)
            }
            for className in ["_JobStatus", "_JobSchedule", "_PushStatus", "_Audience", "_Idempotency"] {
                let answer = try await server.send("POST", "/classes/\(className)", ["a": 1], as: .master)
                SecurityProbe.expectRefused(answer, 105, className)
            }
            try await SecurityProbe.expectSongs(server)
        }
    }

    @Test("GHSA-h423-w6qv-2wj3: a malformed Range header causes no server error")
    func ranges() async throws {
        try await TestServer.run { server in
            let file = try await server.send("POST", "/files/a.txt", bytes: Array("0123456789".utf8), as: .master)
            let url = try file.string("url")
            for range in [
                "", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-2", "bytes=0-0,5-6", "=1-2", "bytes=--1",
                "bytes=99999999999999999999-", "bytes=-99999999999999999999", "bytes=-0",
                "bytes=1-99999999999999999999",
                "bytes=+1-2", "bytes=0x1-2", "lines=1-2", "bytes=1.5-2",
            ] {
                let answer = try await server.send("GET", url, as: .nobody, headers: ["Range": range])
                #expect([200, 206, 416].contains(answer.status), "\(range): \(answer.status)")
                if answer.status == 200 { #expect(answer.text == "0123456789", "\(range)") }
            }
        }
    }

    @Test("GHSA-792q-q67h-w579: files with malformed names or no extension cause no server error")
    func fileNames() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            for name in ["plain", "a.", ".", "..", "%2e%2e%2fa", ".a", "a%00b", "%FF", "a%0d%0ab", "__proto__", "~"] {
                let answer = try await server.send(
                    "POST", "/files/\(name)", bytes: Array("x".utf8), as: .session(kim.token),
                    headers: ["Content-Type": "application/octet-stream"])
                #expect(answer.status < 500, "\(name): \(answer.text)")
            }
            #expect(try await server.send("GET", "/users/me", as: .session(kim.token)).status == 200)
        }
    }

    @Test("GHSA-6hh7-46r2-vf29, GHSA-5j86-7r7m-p8h6, GHSA-4263-jgmp-7pf4: rejects malformed function names")
    func functionNames() async throws {
        try await TestServer.run { server in
            for name in [
                "__proto__", "constructor", "toString", "hasOwnProperty", "a.b", "a/b", "..", "%27", "x%22%5C", "a%20b",
                String(repeating: "f", count: 2000),
            ] {
                let answer = try await server.send("POST", "/functions/\(name)", [:])
                #expect((400..<500).contains(answer.status), "\(name): \(answer.text)")
            }
            SecurityProbe.expectRefused(try await server.send("POST", "/functions/__proto__", [:]), 141, "__proto__")
            #expect(try await server.send("GET", "/config").status == 200)
        }
    }

    @Test("GHSA-9xp9-j92r-p88v, GHSA-xw6g-jjvf-wwf9: rejects queries and bodies that are nested too deeply")
    func depth() async throws {
        try await TestServer.run { server in
            _ = try await SecurityProbe.makeSongs(server)
            for name in ["$or", "$and", "$nor"] {
                let condition = Self.nested(180, ["title": "alpha"]) { [Name(name): [$0]] }
                // Each level nests an object and a list, and JSON limits their total depth.
                let readable = Self.nested(90, ["title": "alpha"]) { [Name(name): [$0]] }
                let refused = try await server.find("Song", ["where": condition])
                #expect(refused.status == 400, "\(name): \(refused.text)")
                SecurityProbe.expectHarmless(try await server.find("Song", ["where": readable]), name)
            }
            let inner = Self.nested(60, [:]) { ["link": ["$inQuery": ["className": "Song", "where": $0]]] }
            SecurityProbe.expectHarmless(try await server.find("Song", ["where": inner]), "$inQuery")
            for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
                let text =
                    "{\"a\":" + String(repeating: open, count: 50_000) + "1"
                    + String(repeating: close, count: 50_000) + "}"
                for path in ["/classes/Song", "/login", "/users", "/batch", "/functions/f"] {
                    let answer = try await server.send(
                        "POST", path, bytes: Array(text.utf8), headers: ["Content-Type": "application/json"])
                    #expect(answer.status == 400, "\(path): \(answer.text)")
                }
            }
            try await SecurityProbe.expectSongs(server)
        }
    }

    @Test("GHSA-cmj3-wx7h-ffvg, GHSA-9fjp-q3c4-6w3j: enforces requestComplexity limits on clients")
    func limits() async throws {
        let limits: JSONValue = [
            "queryDepth": 2, "subqueryDepth": 1, "includeDepth": 2, "includeCount": 2, "batchRequestLimit": 2,
            "allowRegex": false,
        ]
        try await TestServer.run(["requestComplexity": limits]) { server in
            let song = try await SecurityProbe.makeSongs(server)
            let leaf: JSONValue = ["title": "alpha"]
            let query: JSONValue = ["className": "Song", "where": ["meta": ["$inQuery": ["className": "Song"]]]]
            let deep = Self.nested(3, leaf) { ["$or": [["$and": [$0]]]] }
            let parameters: [JSONObject] = [
                ["where": Self.nested(3, leaf) { ["$or": [$0]] }], ["where": Self.nested(3, leaf) { ["$nor": [$0]] }],
                ["where": deep], ["where": ["meta": ["$inQuery": query]]],
                ["where": ["meta": ["$inQuery": ["className": "Song", "where": deep]]]],
                ["where": ["title": ["$select": ["query": query, "key": "title"]]]],
                ["where": ["title": ["$regex": "a"]]], ["where": ["tags": ["$all": [["$regex": "^\\Qa\\E"]]]]],
                ["include": "a.b.c"], ["include": "a,b,c"],
            ]
            for parameters in parameters {
                let answer = try await server.find("Song", parameters)
                SecurityProbe.expectRefused(answer, 102, "\(parameters)")
                #expect(try await server.find("Song", parameters, as: .master).status == 200, "\(parameters)")
            }
            for include in ["a.b.c", "a,b,c"] {
                let path = "/classes/Song/\(song)?include=\(include)"
                SecurityProbe.expectRefused(try await server.send("GET", path), 102, "a get with \(include)")
                #expect(try await server.send("GET", path, as: .master).status == 200, "a get with \(include)")
            }
            let allowed = try await server.find("Song", ["where": ["$or": [["$and": [leaf]]]]])
            #expect(allowed.results.count == 1, "\(allowed.text)")
            let calls = (0..<3).map { _ in SecurityProbe.call("GET", "/classes/Song") }
            let batch = try await server.send("POST", "/batch", ["requests": .array(calls)])
            SecurityProbe.expectRefused(batch, 107, "batch")
        }
    }

    @Test("#10265: limits a batch to 1000 calls and rejects nested batches")
    func batches() async throws {
        try await TestServer.run { server in
            _ = try await SecurityProbe.makeSongs(server)
            let calls = (0..<1001).map { _ in SecurityProbe.call("GET", "/classes/Song") }
            let long = try await server.send("POST", "/batch", ["requests": .array(calls)])
            SecurityProbe.expectRefused(long, 107, "1001 calls")
            let inside = SecurityProbe.call("POST", "/batch", ["requests": []])
            let nested = try await server.send("POST", "/batch", ["requests": [inside]])
            SecurityProbe.expectRefused(nested, 107, "a batch in a batch")
        }
    }

    @Test("GHSA-cgxm-vr2f-6fj8, GHSA-38m6-82c8-4xfm: slow patterns, wide queries and long headers stay fast")
    func time() async throws {
        try await TestServer.run { server in
            _ = try await SecurityProbe.makeSongs(server)
            _ = try await server.create("Long", ["text": .string(String(repeating: "a", count: 5000) + "!")])
            let began = ContinuousClock.now
            for pattern in ["^(a+)+$", "^(a|aa)+$", "^(a|a?)+$", "(.*)*$x"] {
                let answer = try await server.find("Long", ["where": ["text": ["$regex": .string(pattern)]]])
                SecurityProbe.expectHarmless(answer, pattern)
                #expect(answer.results.isEmpty, "\(pattern)")
            }
            let wide = (0..<2000).map { JSONValue.object(["title": .string("x\($0)")]) }
            SecurityProbe.expectHarmless(try await server.find("Song", ["where": ["$or": .array(wide)]]), "wide")
            let folded = Self.nested(12, ["title": "alpha"]) { ["$or": [$0, $0]] }
            #expect(try await server.find("Song", ["where": folded]).status < 500)
            let long = [String(repeating: "1.", count: 3000), String(repeating: "a-", count: 3000)]
            for version in ["js\(long[0])", long[1], "i", "-"] {
                let answer = try await server.send(
                    "GET", "/classes/Song", headers: ["X-Parse-Client-Version": version])
                #expect(answer.status < 500, "\(version.prefix(20))")
            }
            for name in ["limit", "skip"] {
                for value: JSONValue in [
                    -1, 1e300, "NaN", "Infinity", "-0", [:], [1], "99999999999999999999", 1.5, .null,
                ] {
                    SecurityProbe.expectHarmless(try await server.find("Song", [Name(name): value]), "\(name) \(value)")
                }
            }
            #expect(ContinuousClock.now - began < .seconds(30))
            try await SecurityProbe.expectSongs(server)
        }
    }
}
