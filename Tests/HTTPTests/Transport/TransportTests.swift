import HTTP
import JSON
import REST
import ServerConfiguration
import TestSupport
import Testing

@Suite("HTTP requests and responses")
struct TransportTests {
    private typealias Server = TransportServer

    @Test("Every response has CORS headers, is uncacheable and is JSON")
    func commonHeaders() async throws {
        try await Server.run { client in
            for (path, headers, status) in [
                ("/parse/x", Server.client, 200), ("/parse/x", [:], 403), ("/parse/unknown", Server.client, 404),
                ("/parse/unexpected", Server.client, 500), ("/outside", [:], 404),
            ] {
                let answer = try await client.request("GET", path, headers: headers)
                #expect(answer.status == status)
                #expect(answer.header("Access-Control-Allow-Origin") == "*")
                #expect(answer.header("Access-Control-Allow-Methods") == "GET,PUT,POST,DELETE,OPTIONS")
                #expect(answer.header("Cache-Control") == "no-store")
                #expect(answer.header("Content-Type") == "application/json; charset=utf-8")
                #expect(answer.header("Date")?.hasSuffix(" GMT") == true)
                #expect(!answer.json.isEmpty)
            }
        }
    }

    @Test("Echoes an allowed origin, and returns the first allowed one to other origins")
    func origins() async throws {
        try await Server.run {
            $0.allowOrigin = ["https://a.example", "https://b.example"]
            $0.allowHeaders = ["X-Extra"]
        } body: { client in
            for (origin, allowed) in [
                ("https://a.example", "https://a.example"), ("https://b.example", "https://b.example"),
                ("https://evil.example", "https://a.example"),
            ] {
                let answer = try await client.request("OPTIONS", "/parse/classes/x", headers: ["Origin": origin])
                #expect(answer.status == 200)
                #expect(answer.text == "OK")
                #expect(answer.header("Access-Control-Allow-Origin") == allowed)
                #expect(answer.header("Access-Control-Allow-Headers")?.hasSuffix("Cache-Control, X-Extra") == true)
            }
        }
    }

    @Test("The health check needs no credentials")
    func health() async throws {
        try await Server.run { client in
            for method in ["GET", "POST", "PUT"] {
                #expect(try await client.request(method, "/parse/health/").text == #"{"status":"ok"}"#)
            }
            let head = try await client.request("HEAD", "/parse/health")
            #expect(head.status == 200)
            #expect(head.header("Content-Length") == "15")
        }
    }

    @Test(
        "Resolves paths below the mount path, with any number of slashes",
        arguments: [
            ("/parse", "/parse/classes/A", ["classes", "A"]), ("/parse", "//parse//classes/A/", ["classes", "A"]),
            ("/parse", "/PARSE/classes/A", ["classes", "A"]), ("/parse", "/parse/classes/A?x=1", ["classes", "A"]),
            ("/parse", "http://host/parse/classes/A", ["classes", "A"]), ("/parse", "/parse", []),
            ("/parse", "/parse/a%2Fb/c%20d/%C3%BC", ["a/b", "c d", "ü"]), ("/", "/classes/A", ["classes", "A"]),
            ("/a/b/", "/a/b/classes/A", ["classes", "A"]), ("/parse", "/parsely/classes/A", nil),
            ("/parse", "/classes/A", nil),
        ] as [(String, String, [String]?)])
    func paths(mount: String, target: String, expected: [String]?) async throws {
        try await Server.run(mountPath: mount) { client in
            let answer = try await client.request("GET", target, headers: Server.client)
            #expect(answer.status == (expected == nil ? 404 : 200))
            #expect(answer.json["path"] == expected.map { .array($0.map { .string($0) }) })
        }
    }

    @Test("Rejects malformed percent-encoding and NUL characters in paths and queries")
    func brokenPaths() async throws {
        try await Server.run { client in
            for path in ["/parse/%E0%A4%A", "/parse/%ZZ", "/parse/%FF", "/parse/a%00b", "/parse/x?a=b%00c"] {
                let answer = try await client.request("GET", path, headers: Server.client)
                #expect(answer.status == 400)
                #expect(answer.json["error"] != nil)
            }
        }
    }

    @Test("Parses query values as JSON if possible, and keeps their original text")
    func query() async throws {
        try await Server.run { client in
            let path = #"/parse/x?where=%7B%22a%22%3A1%7D&limit=10&order=-a,b&s=a+b%2Bc&n=007&t=%7Bx&e=&d=1&d=2&flag"#
            let answer = try await client.request("GET", path, headers: Server.client)
            let expected: JSONObject = [
                "where": .object(["a": .number(1)]), "limit": .number(10), "order": .string("-a,b"),
                "s": .string("a b+c"), "n": .string("007"), "t": .string("{x"), "e": .string(""),
                "d": .array([.number(1), .number(2)]), "flag": .string(""),
            ]
            #expect(answer.json["query"] == .object(expected))
            guard case .object(let text)? = answer.json["queryText"] else {
                Issue.record("no query text")
                return
            }
            #expect(text["limit"] == .string("10"))
            #expect(text["where"] == .string(#"{"a":1}"#))
        }
    }

    @Test(
        "_method overrides the method of a POST; an empty one is an ordinary key",
        arguments: [
            ("POST", "GET", "GET"), ("POST", "get", "GET"), ("POST", "PUT", "PUT"), ("POST", "DELETE", "DELETE"),
            ("POST", "HEAD", "GET"), ("POST", "PATCH", "PUT"), ("PUT", "GET", "PUT"), ("PATCH", "", "PUT"),
            ("POST", "", "POST"), ("POST", "FOO", nil), ("POST", "OPTIONS", nil),
        ] as [(String, String, String?)])
    func methods(real: String, override: String, expected: String?) async throws {
        try await Server.run { client in
            let text = #"{"_method":"\#(override)","a":1}"#
            let answer = try await client.request(real, "/parse/x", headers: Server.client, text: text)
            #expect(answer.status == (expected == nil ? 404 : 200))
            #expect(answer.json["method"] == expected.map { .string($0) })
            if real == "POST", override == "GET" {
                #expect(answer.json["body"] == .object(["a": .number(1)]))
            }
            if override.isEmpty {
                #expect(answer.json["body"] == .object(["_method": .string(""), "a": .number(1)]))
            }
        }
    }

    @Test("Responds with Parse errors, and hides the details of unexpected errors")
    func errors() async throws {
        try await Server.run { client in
            for (path, status, body) in [
                ("parse-error/101", 404, #"{"code":101,"error":"Permission denied"}"#),
                ("parse-error/1", 500, #"{"code":1,"error":"Permission denied"}"#),
                ("parse-error/209", 400, #"{"code":209,"error":"Permission denied"}"#),
                ("fault", 403, #"{"error":"Permission denied"}"#),
                (
                    "unexpected", 500,
                    #"{"code":1,"message":"Internal server error.","error":"Internal server error."}"#
                ),
                ("unknown", 404, #"{"error":"Cannot GET /unknown"}"#),
            ] {
                let answer = try await client.request("GET", "/parse/" + path, headers: Server.client)
                #expect(answer.status == status)
                #expect(answer.text == body)
            }
        }
        try await Server.run {
            $0.enableSanitizedErrorResponse = false
        } body: { client in
            let answer = try await client.request("GET", "/parse/fault", headers: Server.client)
            #expect(answer.text == #"{"error":"unauthorized: master key is required"}"#)
        }
    }

    @Test("Replaces line breaks in response headers")
    func lineBreak() async throws {
        try await Server.run { client in
            let answer = try await client.request("GET", "/parse/line-break", headers: Server.client)
            #expect(answer.header("X-Test") == "a  X-Evil: b c")
            #expect(answer.header("X-Evil") == nil)
        }
    }

    @Test("Responds 304 to a GET whose ETag matches")
    func entityTags() async throws {
        try await Server.run { client in
            let first = try await client.request("GET", "/parse/x", headers: Server.client)
            let tag = try #require(first.header("ETag"))
            #expect(tag.hasPrefix("W/\""))
            for (known, status) in [(tag, 304), ("*", 304), ("\"a\", \(tag)", 304), ("W/\"a\"", 200)] {
                let headers = Server.client.merging(["If-None-Match": known]) { $1 }
                #expect(try await client.request("GET", "/parse/x", headers: headers).status == status)
            }
            #expect(try await client.request("POST", "/parse/x", headers: Server.client).header("ETag") == nil)
        }
    }

    @Test("Takes the server URL from publicServerURL, a trusted proxy or the Host header")
    func mountURL() async throws {
        let forwarded = ["X-Forwarded-Proto": "https", "X-Forwarded-Host": "api.example", "X-Forwarded-For": "9.9.9.9"]
        let headers = Server.client.merging(forwarded) { $1 }
        try await Server.run { client in
            let answer = try await client.request("GET", "/parse/x", headers: headers)
            #expect(answer.json["mountURL"] == .string("http://127.0.0.1:\(client.port)/parse"))
            #expect(answer.json["address"] == .string("127.0.0.1"))
            // Each client gets its own URL, also after requests of other clients.
            for (host, url) in [
                ("a.example", "http://a.example/parse"), ("b.example:8080", "http://b.example:8080/parse"),
                ("a.example", "http://a.example/parse"), ("<a>", "http://localhost:1337/parse"),
            ] {
                let other = try await client.connect { connection in
                    try await connection.send(
                        "GET /parse/x HTTP/1.1\r\nHost: \(host)\r\nX-Parse-Application-Id: app\r\n"
                            + "X-Parse-REST-API-Key: rest\r\n\r\n")
                    return try await connection.receive()
                }
                #expect(other?.json["mountURL"] == .string(url))
            }
        }
        try await Server.run {
            $0.trustProxy = try Configuration.TrustProxy(list: ["loopback"])
        } body: { client in
            let answer = try await client.request("GET", "/parse/x", headers: headers)
            #expect(answer.json["mountURL"] == .string("https://api.example/parse"))
            #expect(answer.json["address"] == .string("9.9.9.9"))
        }
        try await Server.run {
            $0.publicServerURL = "https://public.example/1"
        } body: { client in
            let answer = try await client.request("GET", "/parse/x", headers: headers)
            #expect(answer.json["mountURL"] == .string("https://public.example/1"))
        }
    }

    @Test("The client's address is the nearest one that isn't a trusted proxy")
    func forwardedFor() async throws {
        for (trust, forwarded, expected) in [
            (.hops(1), "1.1.1.1, 2.2.2.2", "2.2.2.2"), (.hops(2), "1.1.1.1, 2.2.2.2", "1.1.1.1"),
            (.everybody, "1.1.1.1, 2.2.2.2", "1.1.1.1"), (.noProxy, "1.1.1.1", "127.0.0.1"),
            (try Configuration.TrustProxy(list: ["loopback", "10.0.0.0/8"]), "1.1.1.1, 2.2.2.2, 10.0.0.5", "2.2.2.2"),
            (.everybody, "garbage", "127.0.0.1"), (.everybody, "1.1.1.1:5000", "1.1.1.1"),
        ] as [(Configuration.TrustProxy, String, String)] {
            try await Server.run {
                $0.trustProxy = trust
            } body: { client in
                let headers = Server.client.merging(["X-Forwarded-For": forwarded]) { $1 }
                let answer = try await client.request("GET", "/parse/x", headers: headers)
                #expect(answer.json["address"] == .string(expected))
            }
        }
    }
}
