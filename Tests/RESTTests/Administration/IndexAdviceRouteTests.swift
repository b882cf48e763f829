import JSON
import TestSupport
import Testing

@Suite("Advice on indexes by the server")
struct IndexAdviceRouteTests {
    private static func makeTracks(_ server: TestServer) async throws {
        _ = try await server.create("Track", ["title": "a", "plays": 1])
        try await server.execute(
            """
            INSERT INTO "Track" ("objectId", "createdAt", "updatedAt", "title", "plays")
            SELECT 't' || n, now(), now(), repeat(md5(n::text), 4), n FROM generate_series(1, 300000) n;
            ANALYZE "Track";
            """)
    }

    @Test("A find that takes long without an index is noted while it is served, and the index that helps is named")
    func route() async throws {
        try await TestServer.run { server in
            try await Self.makeTracks(server)
            for number in 0..<12 {
                let answer = try await server.find("Track", ["where": ["plays": .number(Double(number))], "limit": 1000])
                #expect(answer.status == 200)
            }
            let refused = try await server.send("GET", "/index_advice")
            #expect(refused.status == 403)
            let answer = try await server.send("GET", "/index_advice", as: .master)
            #expect(answer.status == 200)
            #expect(answer["results"] != nil, "\(answer.json.text)")
            let written = try await server.texts("SELECT \"shape\" FROM \"_roost_advice\"")
            #expect(written.contains(#"{"table":"Track","equal":["plays"],"limited":true}"#), "\(written)")
        }
    }

    @Test("A find that was stopped is noted as such")
    func timeouts() async throws {
        try await TestServer.run(["statementTimeout": 100]) { server in
            try await Self.makeTracks(server)
            let answer = try await server.find("Track", ["where": ["title": ["$regex": "(a.*){9}x.*y.*z$"]]])
            #expect(answer.status != 200)
            let advice = try await server.send("GET", "/index_advice", as: .master)
            #expect(advice["stopped"]?.arrayValue?.first?["className"] == "Track", "\(advice.json.text)")
        }
    }

    @Test("Nothing is noted where the option says so")
    func off() async throws {
        try await TestServer.run(["indexAdvice": "off"]) { server in
            let answer = try await server.send("GET", "/index_advice", as: .master)
            #expect(answer.status == 403 || answer["code"] == 119)
        }
    }
}
