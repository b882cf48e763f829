import Console
import JSON
import TestSupport
import Testing

@Suite("Metrics and statements in the console")
struct ConsoleFiguresTests {
    @Test("Returns metrics of requests, routes and database calls, and rejects invalid ranges")
    func metrics() async throws {
        try await TestServer.run(["metrics": ["port": 0]]) { server in
            let browser = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            for _ in 0..<20 { _ = try await server.create("Song", ["title": "a"]) }
            #expect(try await server.send("GET", "/classes/Song/nothing").status == 404)
            // The first point follows a second after the start.
            let end = ContinuousClock.now + .seconds(30)
            var answer = try await browser.send("GET", "/console/api/metrics")
            while answer["at"]?.arrayValue?.isEmpty ?? true, ContinuousClock.now < end {
                try await Task.sleep(for: .milliseconds(100))
                answer = try await browser.send("GET", "/console/api/metrics")
            }
            #expect(answer.status == 200 && answer["countsRequests"] == true && answer["step"] == 10, "\(answer.text)")
            let series = try #require(answer["series"]?.objectValue)
            let points = answer["at"]?.arrayValue?.count
            #expect(points ?? 0 > 0 && series.values.allSatisfy { $0.arrayValue?.count == points })
            #expect(series.keys.contains("p99") && series.keys.contains("databaseWaiting") && series.count == 16)
            let route = answer["routes"]?.arrayValue?.first {
                $0["route"] == "/classes/{className}" && $0["method"] == "POST"
            }
            #expect(route?["count"] == 20 && (route?["p99"]?.numberValue ?? 0) > 0, "\(answer.text)")
            let failed = answer["routes"]?.arrayValue?.first { $0["method"] == "GET" && $0["clientErrors"] != 0 }
            #expect(failed?["clientErrors"] == 1 && failed?["serverErrors"] == 0)
            // The mean of a single request is also its maximum.
            let only = ["mean", "p50", "p99"].map { failed?[Name($0)]?.numberValue ?? -1 }
            #expect(failed?["count"] == 1 && only[1] <= only[0] + 0.001 && only[2] <= only[0] + 0.001, "\(only)")
            #expect(answer["calls"]?.arrayValue?.contains { $0["route"] == "create" && $0["count"] == 20 } == true)
            // The console's own requests, also those of the REST API, are left out.
            #expect(try await browser.parse("GET", "/classes/Song").status == 200)
            let later = try await browser.send("GET", "/console/api/metrics")
            let routes = later["routes"]?.arrayValue ?? []
            #expect(!routes.contains { $0["route"] == nil || $0["route"] == "operators" }, "\(later.text)")
            #expect(!routes.contains { $0["route"] == "/classes/{className}" && $0["method"] == "GET" })
            for query in ["step=5", "step=x", "for=0", "for=90000", "for=-1", "step=NaN"] {
                #expect(try await browser.send("GET", "/console/api/metrics?\(query)").status == 400, "\(query)")
            }
        }
    }

    @Test("Viewers see metrics but no statements; requests without a session see neither")
    func roles() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["title": "a"])
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            for path in ["metrics", "statements", "statements/1"] {
                #expect(try await ConsoleBrowser(server).send("GET", "/console/api/\(path)").status == 401, "\(path)")
                let status = try await viewer.send("GET", "/console/api/\(path)").status
                #expect(status == (path == "metrics" ? 200 : 403), "\(path)")
            }
        }
    }

    @Test("Shows the plan of a slow statement and builds the advised index")
    func statements() async throws {
        try await TestServer.run(["slowQueryThreshold": 1]) { server in
            _ = try await server.create("Song", ["title": "a", "plays": 1])
            try await server.execute(
                """
                INSERT INTO "Song" ("objectId", "createdAt", "updatedAt", "title", "plays")
                SELECT 's' || i, now(), now(), repeat('x', 200), i FROM generate_series(1, 250000) AS i;
                ANALYZE "Song";
                """)
            for number in 0..<5 {
                _ = try await server.find("Song", ["where": ["plays": .number(Double(number))], "limit": 1000])
            }
            let browser = try await ConsoleBrowser.operatorBrowser(server, "developer")
            let answer = try await browser.send("GET", "/console/api/statements")
            #expect(answer.status == 200 && answer["source"] == "process", "\(answer.text)")
            let row = try #require(
                answer["rows"]?.arrayValue?.first {
                    $0["className"] == "Song" && $0["text"]?.stringValue?.contains("\"plays\"") == true
                }, "\(answer.text)")
            // Simulates a slower machine.
            try await server.execute("UPDATE \"_roost_advice\" SET \"calls\" = 12, \"total\" = 12 * 290")
            let advice = try #require(
                try await browser.send("GET", "/console/api/statements")["advice"]?.arrayValue?.first)
            #expect(advice["fields"] == ["plays"] && advice["className"] == "Song")
            let name = try #require(advice["name"]?.stringValue)
            let id = try #require(row["id"]?.stringValue)
            let plan = try await browser.send("GET", "/console/api/statements/\(id)")
            #expect(plan.status == 200 && plan.text.contains("Seq Scan"), "\(plan.text)")
            #expect(try await browser.send("GET", "/console/api/statements/nothing").status == 404)
            #expect(try await browser.send("GET", "/console/api/statements/123").status == 404)

            let wrong: [JSONValue] = [["advice": "nothing"], ["advice": 1], ["advice": ["a": 1]]]
            for body in wrong {
                let refused = try await browser.send("POST", "/console/api/indexes", body)
                #expect(refused.status == 404, "\(refused.text)")
            }
            let begun = try await browser.send("POST", "/console/api/indexes", ["advice": .string(name)])
            #expect(begun.status == 202, "\(begun.text)")
            let task = try #require(begun["id"]?.stringValue)
            let end = ContinuousClock.now + .seconds(120)
            var ended = try await browser.send("GET", "/console/api/tasks/\(task)?wait=20")
            while ended["state"] == "running", ContinuousClock.now < end {
                ended = try await browser.send("GET", "/console/api/tasks/\(task)?wait=20")
            }
            #expect(ended["state"] == "done" && ended["result"]?["name"] == "plays_1", "\(ended.text)")
            let later = try await browser.send("GET", "/console/api/statements")
            #expect(later["advice"]?.arrayValue?.contains { $0["className"] == "Song" } == false, "\(later.text)")
        }
    }
}
