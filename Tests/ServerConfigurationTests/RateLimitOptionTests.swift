import JSON
import ServerConfiguration
import Testing

@Suite("rateLimit option")
struct RateLimitOptionTests {
    @Test(
        "Matches request paths with parse-server's pattern syntax",
        arguments: [
            ("/login", "/login", true), ("/login", "/LOGIN", true), ("/login", "/loginAs", false),
            ("/login", "/x/login", false), ("/classes/:name", "/classes/A", true),
            ("/classes/:name", "/classes/A/b", false), ("/functions/*path", "/functions/a/b", true),
            ("/functions/*", "/functions/a", true), ("/functions/(.*)", "/functions/a", true), ("*", "/any", true),
            ("/users{/:id}", "/users", true), ("/users{/:id}", "/users/x", true), ("/users{/:id}", "/usersx", false),
            ("/a.b", "/axb", false), ("/a.b", "/a.b\n", false),
            ("/a|b$^", "/a|b$^", true), ("/a-b_c~'\"#&,;=@%", "/A-B_C~'\"#&,;=@%", true), ("/é", "/É", true),
        ] as [(String, String, Bool)])
    func paths(pattern: String, path: String, isConcerned: Bool) throws {
        let limit = JSONValue.object([
            "requestPath": .string(pattern), "requestTimeWindow": 1000, "requestCount": 1,
        ])
        #expect(try load(["rateLimit": .array([limit])]).rateLimits.first?.concerns(path) == isConcerned)
    }

    @Test(
        "Matches within a second, even patterns that invite backtracking",
        arguments: [
            (String(repeating: "{a}", count: 30) + "z", String(repeating: "a", count: 30)),
            ("/classes/:a:b:c:d:e:f/z", "/classes/" + String(repeating: "a", count: 8000)),
            ("/*a-*b-z", "/" + String(repeating: "a-b-", count: 2000)),
        ])
    func cost(pattern: String, path: String) throws {
        let limit = JSONValue.object([
            "requestPath": .string(pattern), "requestTimeWindow": 1000, "requestCount": 1,
        ])
        let limits = try load(["rateLimit": .array([limit])]).rateLimits
        let time = ContinuousClock().measure { #expect(limits.first?.concerns(path) == false) }
        #expect(time < .seconds(1), "\(time)")
    }

    @Test("Reads methods as a list or regular expression, and enables account limits from preset 9 on")
    func methods() throws {
        func methods(_ json: JSONValue) throws -> Set<String>? {
            let limit = JSONValue.object([
                "requestPath": "/a", "requestTimeWindow": 1000, "requestCount": 1, "requestMethods": json,
            ])
            return try load(["rateLimit": .array([limit])]).rateLimits.first?.methods
        }
        #expect(try methods(["post", "GET"]) == ["POST", "GET"])
        #expect(try methods("POST|PUT") == ["POST", "PUT"])
        #expect(try methods("P.*") == ["POST", "PUT"])
        #expect(try methods([]) == nil)
        #expect(try load([:]).rateLimits.count == 8)
        #expect(try load(["accountRateLimit": false]).rateLimits.isEmpty)
        #expect(try load(["preset": 8]).rateLimits.isEmpty)
        #expect(try load(["preset": 8, "accountRateLimit": true]).rateLimits.count == 8)
        #expect(refusal(["rateLimit": "x"]) == "rateLimit must be an array or object")
        #expect(refusal(["rateLimitStore": "redis"]) == "option rateLimitStore must be memory or database")
    }

    @Test(
        "Rejects invalid limits and names the mistake",
        arguments: [
            (5, "rateLimit must be an array of objects"),
            (["requestTimeWindow": 1, "requestCount": 1], "rateLimit.requestPath must be defined"),
            (["requestPath": 5], "rateLimit.requestPath must be a string"),
            (["requestPath": "/a", "requestCount": 1], "rateLimit.requestTimeWindow must be defined"),
            (["requestPath": "/a", "requestTimeWindow": "1"], "rateLimit.requestTimeWindow must be a number"),
            (["requestPath": "/a", "requestTimeWindow": 1], "rateLimit.requestCount must be defined"),
            (["requestPath": "/a", "else": 1], "Invalid rate limit option \"else\""),
            (
                ["requestPath": "/a(", "requestTimeWindow": 1, "requestCount": 1],
                "rateLimit.requestPath \"/a(\" is not valid"
            ),
            (
                ["requestPath": "/*a*b*c", "requestTimeWindow": 1, "requestCount": 1],
                "rateLimit.requestPath \"/*a*b*c\" is not valid"
            ),
            (
                ["requestPath": "/a", "requestTimeWindow": 1, "requestCount": 1, "zone": "moon"],
                "rateLimit.zone must be one of ip, session, user, global"
            ),
            (
                ["requestPath": "/a", "redisUrl": "redis://h"],
                "rateLimit.redisUrl is not supported. Set \"rateLimitStore\": \"database\" instead: all processes then "
                    + "share their counts in PostgreSQL"
            ),
            (
                ["requestPath": "/a", "requestTimeWindow": 1, "requestCount": 1, "requestMethods": "("],
                "rateLimit.requestMethods \"(\" is not a valid regular expression"
            ),
        ] as [(JSONValue, String)])
    func refused(limit: JSONValue, text: String) {
        #expect(refusal(["rateLimit": .array([limit])]) == text)
    }
}
