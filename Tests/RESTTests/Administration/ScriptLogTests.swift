import Foundation
import JSON
import TestSupport
import Testing

@Suite struct ScriptLogTests {
    private static func log(_ server: TestServer, _ query: String = "") async throws -> [JSONValue] {
        let answer = try await server.send("GET", "/scriptlog\(query)", as: .master).succeeded()
        return answer.json.arrayValue ?? []
    }

    /// Runs a server whose log reports the creation of three classes, in this order.
    private static func withLines(_ body: @escaping @Sendable (TestServer) async throws -> Void) async throws {
        try await TestServer.run(logger: UnwrittenLog.logger()) { server in
            for name in ["A", "B", "C"] { _ = try await server.create(name, ["n": 1]) }
            try await body(server)
        }
    }

    private static func classes(_ lines: [JSONValue]) -> [String] {
        lines.compactMap { $0["message"] == "schema changed" ? $0["class"]?.stringValue : nil }
            .filter { !$0.hasPrefix("_") }
    }

    @Test("Only the master key can read the log")
    func masterOnly() async throws {
        try await Self.withLines { server in
            for identity: TestServer.Identity in [.anonymous, .maintenance] {
                let answer = try await server.send("GET", "/scriptlog", as: identity)
                #expect(answer.status == 403)
            }
        }
    }

    @Test("Thousands of health checks don't push other lines out of the log")
    func probes() async throws {
        try await Self.withLines { server in
            let statuses = try await concurrently(20) { _ in
                var statuses: Set<Int> = []
                for _ in 0..<100 {
                    statuses.insert(try await server.send("GET", "/health", as: .nobody).status)
                }
                return statuses
            }
            #expect(statuses.allSatisfy { $0 == [200] })
            let lines = try await Self.log(server, "?n=1000")
            #expect(Self.classes(lines) == ["C", "B", "A"])
            #expect(lines.count < 1000)
        }
    }

    @Test("Log lines have a level, message, timestamp and metadata, newest first by default")
    func lines() async throws {
        try await Self.withLines { server in
            let lines = try await Self.log(server, "?n=100")
            #expect(Self.classes(lines) == ["C", "B", "A"])
            let line = try #require(lines.first { $0["class"] == "A" })
            #expect(line["level"] == "info")
            #expect(line["message"] == "schema changed")
            #expect(line["timestamp"]?.stringValue?.hasSuffix("Z") == true)
            let request = try #require(lines.first { $0["method"] != nil })
            #expect(request["url"]?.stringValue?.hasPrefix("/parse/classes/") == true, "\(request)")
            #expect(Self.classes(try await Self.log(server, "?size=100&order=asc&level=info")) == ["A", "B", "C"])
        }
    }

    @Test("Returns n, size or 10 lines, and ignores invalid numbers")
    func sizes() async throws {
        try await Self.withLines { server in
            for _ in 0..<12 { _ = try await server.find("A") }
            for (query, count) in [
                ("", 10), ("?size=3", 3), ("?n=2&size=3", 2), ("?n=many", 10), ("?n=-4", 10), ("?n=0&size=4", 4),
                ("?n=1e300", 10), ("?order=sideways&n=1", 1),
            ] {
                #expect(try await Self.log(server, query).count == count, "\(query)")
            }
        }
    }

    @Test("Filters lines by time and level")
    func filters() async throws {
        try await Self.withLines { server in
            let old = try await Self.log(server, "?until=2001-01-01T00:00:00.000Z")
            #expect(old == [])
            #expect(try await Self.log(server, "?from=2999-01-01T00:00:00.000Z") == [])
            #expect(Self.classes(try await Self.log(server, "?n=100&from=2001-01-01&until=2999-01-01")).count == 3)
            #expect(try await Self.log(server, "?n=1&from=nonsense&until=nonsense").count == 1)
            #expect(try await Self.log(server, "?level=error") == [])
        }
    }

    @Test("Time filters accept years beyond 9999 and out-of-range numbers")
    func distant() async throws {
        try await Self.withLines { server in
            for until in ["9999-01-01", "%2B010000-01-01", "%2B200000-01-01"] {
                let lines = try await Self.log(server, "?n=100&from=2024-01-01&until=\(until)")
                #expect(Self.classes(lines).count == 3, "\(until)")
            }
            #expect(try await Self.log(server, "?from=%2B010000-01-01&until=%2B010001-01-01") == [])
            for from in ["-9223372036854775808", "9e18", "1e300"] {
                #expect(try await server.send("GET", "/scriptlog?from=\(from)", as: .master).status == 200)
            }
        }
    }

    @Test("Finds lines by text and by request id")
    func search() async throws {
        try await TestServer.run(logger: UnwrittenLog.logger()) { server in
            for version in ["js9.8.7", "js1.2.3"] {
                _ = try await server.send(
                    "GET", "/classes/Song", as: .master, headers: ["X-Parse-Client-Version": version])
            }
            // Log lines may follow the response.
            var ofClient: [JSONValue] = []
            let isThere = try await eventually {
                ofClient = try await Self.log(server, "?text=js9.8.7")
                return !ofClient.isEmpty
            }
            #expect(isThere && ofClient.count == 1 && ofClient.first?["power"] == "master", "\(ofClient)")
            let id = try #require(ofClient.first?["id"]?.stringValue)
            let found = try await Self.log(server, "?requestId=\(id)")
            #expect(found.count == 1 && found.first?["url"] == "/parse/classes/Song" && found.first?["status"] == 200)
        }
    }
}
