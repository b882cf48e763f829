import Doctor
import JSON
import Postgres
import TestSupport
import Testing

@Suite("Index advice of a running server")
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

    @Test("Recommends an index for a frequent slow find, which the doctor reports until the index exists")
    func route() async throws {
        try await TestServer.run { server in
            try await Self.makeTracks(server)
            for number in 0..<12 {
                let answer = try await server.find(
                    "Track", ["where": ["plays": .number(Double(number))], "limit": 1000])
                #expect(answer.status == 200)
            }
            let refused = try await server.send("GET", "/index_advice")
            #expect(refused.status == 403)
            let answer = try await server.send("GET", "/index_advice", as: .master)
            #expect(answer.status == 200)
            #expect(answer["results"] != nil, "\(answer.json.text)")
            let written = try await server.texts("SELECT \"shape\" FROM \"_roost_advice\"")
            let shape = #"{"table":"Track","equal":["plays"],"limited":true}"#
            #expect(written.contains(shape), "\(written)")

            // Simulates a slower machine.
            try await server.execute("UPDATE \"_roost_advice\" SET \"calls\" = 12, \"total\" = 12 * 290")
            let advice = try await server.send("GET", "/index_advice", as: .master)
            let first = try #require(advice["results"]?.arrayValue?.first, "\(advice.json.text)")
            #expect(first["className"] == "Track")
            #expect(first["columns"] == ["plays"])
            let why = first["why"]?.stringValue ?? ""
            #expect(
                why.hasPrefix("Track by plays: 12 times today, 290 ms; about ")
                    && why.hasSuffix(" ms with an index on plays"), "\(why)")
            let finding = try #require(
                try await Self.examine(server).findings.first { $0.kind == .missingIndex && $0.subject == "Track" })
            #expect(finding.words == why)
            for statement in finding.remedy?.statements ?? [] { try await server.execute(statement) }
            let findings = try await Self.examine(server).findings
            #expect(!findings.contains { $0.subject == "Track" && [.missingIndex, .slowQuery].contains($0.kind) })
        }
    }

    private static func examine(_ server: TestServer) async throws -> Doctor.Report {
        try await PostgresClient.opened(
            PostgresConfiguration(connectionString: server.databaseURI), logger: TestServer.quietLogger
        ) { try await Doctor(client: $0).examine() }
    }

    @Test("Rejects requests for advice if indexAdvice is off")
    func off() async throws {
        try await TestServer.run(["indexAdvice": "off"]) { server in
            let answer = try await server.send("GET", "/index_advice", as: .master)
            #expect(answer.status == 403 || answer["code"] == 119)
        }
    }
}
