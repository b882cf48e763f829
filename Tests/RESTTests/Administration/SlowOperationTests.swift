import JSON
import TestSupport
import Testing

@Suite("Slow-query log")
struct SlowOperationTests {
    /// Delays finds of a class by 100 ms.
    private static func slowDown(_ server: TestServer) async throws {
        try await server.execute(
            """
            ALTER TABLE "Song" RENAME TO "SongRows";
            CREATE FUNCTION slow() RETURNS boolean LANGUAGE plpgsql VOLATILE AS
                $$ BEGIN PERFORM pg_sleep(0.1); RETURN true; END $$;
            CREATE VIEW "Song" AS SELECT * FROM "SongRows" WHERE (SELECT slow());
            """)
    }

    @Test("Logs slow statements without values, and serves their shapes and plans to the master key")
    func lines() async throws {
        let lines = LogLines()
        try await TestServer.run(["slowQueryThreshold": 50], logger: lines.logger) { server in
            _ = try await server.create("Song", ["title": "secret", "n": 1])
            try await Self.slowDown(server)
            for title in ["secret", "other"] {
                let answer = try await server.find("Song", ["where": ["title": .string(title)]])
                #expect(answer.status == 200)
            }
            // On a busy machine, other operations may be slow, too.
            let slow = lines.all.filter { line in
                ["slow query", "class=Song", "operation=find"].allSatisfy { line.contains($0) }
            }
            #expect(slow.count == 2)
            let line = try #require(slow.first)
            for part in ["statement=SELECT", "$1", "id="] {
                #expect(line.contains(part), "\(line)")
            }
            #expect(!line.contains("secret"))
            func hash(_ line: String) -> Substring? { line.split(separator: " ").first { $0.hasPrefix("hash=") } }
            #expect(hash(slow[0]) == hash(slow[1]))
            let answer = try await server.send("GET", "/slow_queries", as: .master)
            let shapes = answer["results"]?.arrayValue ?? []
            let shape = try #require(shapes.first { $0["class"] == "Song" && $0["operation"] == "find" })
            #expect(shape["count"] == 2)
            #expect(shape["longestMs"]?.numberValue ?? 0 >= 100)
            let explained = try await server.send(
                "GET", "/slow_queries?explain=\(shape["hash"]?.stringValue ?? "")", as: .master)
            #expect(explained["plan"]?.arrayValue?.first?["Plan"] != nil, "\(explained.json.text)")
            let refused = try await server.send("GET", "/slow_queries")
            #expect(refused.status == 403)
        }
    }

    /// The slow-query lines, and the number of operations that they report as left out.
    private static func said(_ lines: LogLines) -> (lines: Int, unsaid: Int) {
        let slow = lines.all.filter { $0.contains("slow query") }
        let unsaid = slow.flatMap { $0.split(separator: " ") }.filter { $0.hasPrefix("omitted=") }
            .compactMap { Int($0.dropFirst("omitted=".count)) }
        return (slow.count, unsaid.reduce(0, +))
    }

    private static func operations(_ server: TestServer) async throws -> Int {
        let answer = try await server.send("GET", "/slow_queries", as: .master)
        let shapes = answer["results"]?.arrayValue ?? []
        return shapes.reduce(0) { $0 + Int($1["count"]?.numberValue ?? 0) }
    }

    @Test("Logs at most 10 slow statements per second, and a later line counts the omitted ones")
    func limit() async throws {
        let lines = LogLines()
        let start = ContinuousClock.now
        try await TestServer.run(["slowQueryThreshold": 50], logger: lines.logger) { server in
            _ = try await server.create("Song", ["n": 1])
            try await Self.slowDown(server)
            // A busy machine may not complete enough finds within a second.
            let areMany = try await eventually(within: .seconds(120)) {
                let answers = try await concurrently(100) { _ in try await server.find("Song") }
                #expect(answers.allSatisfy { $0.status == 200 })
                let operations = try await Self.operations(server)
                return Self.said(lines).lines < operations
            }
            #expect(areMany)
            // The next line counts the operations left out in the last second, so none is lost.
            let areCounted = try await eventually(within: .seconds(60)) {
                let answer = try await server.find("Song")
                #expect(answer.status == 200)
                let said = Self.said(lines)
                let operations = try await Self.operations(server)
                return said.unsaid > 0 && said.lines + said.unsaid == operations
            }
            #expect(areCounted, "\(Self.said(lines))")
            let seconds = Int(start.duration(to: .now) / .seconds(1))
            #expect(Self.said(lines).lines <= 10 * (seconds + 2))
        }
    }

    @Test("Logs no slow statements if slowQueryThreshold is 0")
    func off() async throws {
        let lines = LogLines()
        try await TestServer.run(["slowQueryThreshold": 0], logger: lines.logger) { server in
            _ = try await server.create("Song", ["n": 1])
            try await Self.slowDown(server)
            let answer = try await server.find("Song")
            #expect(answer.status == 200)
            #expect(!lines.all.contains { $0.contains("slow query") })
        }
    }
}
