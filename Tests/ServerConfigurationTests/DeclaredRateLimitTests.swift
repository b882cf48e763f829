import JSON
import ServerConfiguration
import Testing

@Suite struct DeclaredRateLimitTests {
    private static let wrong: [(members: JSONObject, error: String)] = [
        ([:], "rateLimit.requestTimeWindow must be defined"),
        (["requestTimeWindow": 1000], "rateLimit.requestCount must be defined"),
        (["requestTimeWindow": "1", "requestCount": 1], "rateLimit.requestTimeWindow must be a number"),
        (["requestTimeWindow": 1, "requestCount": -1], "rateLimit.requestCount must be between 0 and 10^12"),
        (
            ["requestTimeWindow": 1, "requestCount": 1, "zone": "moon"],
            "rateLimit.zone must be one of ip, session, user, global"
        ),
        (["requestTimeWindow": 1, "requestCount": 1, "requestPath": "("], "rateLimit.requestPath \"(\" is not valid"),
        (["requestTimeWindow": 1, "requestCount": 1, "often": true], "Invalid rate limit option \"often\""),
    ]

    @Test("Rejects invalid declarations")
    func refused() {
        for (members, error) in Self.wrong {
            #expect(throws: ConfigurationError(error)) { try DeclaredRateLimit(members) }
        }
    }

    @Test("A declared limit applies exactly to its subject unless it names a path or methods")
    func subjects() throws {
        let members: JSONObject = ["requestTimeWindow": 1000, "requestCount": 5]
        let declared = try DeclaredRateLimit(members)
        let function = try #require(declared.limit(on: RateLimitSubject("/functions/a.(b)*")))
        #expect(function.concerns("/functions/a.(b)*"))
        for other in ["/functions/a.(b)", "/functions/a.(b)*/c", "/functions/A.(b)*", "/functions/a.(b)**"] {
            #expect(!function.concerns(other), "\(other)")
        }
        #expect(function.firstName == "functions")
        let saves = try #require(
            declared.limit(on: RateLimitSubject("/classes/Song", includesBelow: true, methods: ["POST"])))
        #expect(saves.concerns("/classes/Song") && saves.concerns("/classes/Song/abc"))
        #expect(!saves.concerns("/classes/Songs") && !saves.concerns("/classes"))
        #expect(saves.methods == ["POST"])
        #expect(saves.identity != function.identity)
        let named = try DeclaredRateLimit(members.merging(["requestPath": "/f/:x", "requestMethods": ["GET"]]) { $1 })
        let limit = try #require(named.limit(on: RateLimitSubject("/functions/f", methods: ["POST"])))
        #expect(limit.concerns("/f/1") && !limit.concerns("/functions/f"))
        #expect(limit.methods == ["GET"])
    }

    @Test("Any count and window give a valid limit, however negative or large")
    func numbers() {
        for (count, time) in [(Int.max, Duration.seconds(1)), (-1, .seconds(-1)), (1, .seconds(Int64.max))] {
            let limit = DeclaredRateLimit(count: count, time: time).limit(on: RateLimitSubject("/functions/f"))
            #expect(limit != nil)
            #expect((limit?.count ?? -1) >= 0)
            #expect((limit?.window ?? -1) >= 0)
        }
    }
}
