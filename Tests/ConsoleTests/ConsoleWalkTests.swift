import Console
import HTTP
import JSON
import TestSupport
import Testing

/// All routes, including future ones, while the console is off.
@Suite("Console routes while the console is off")
struct ConsoleWalkTests {
    /// The console's own routes: method, and path below `/console/api`.
    private static var ownRoutes: [(method: String, path: String)] {
        ConsoleRouteTable.all.map { route in
            let path = route.path.map { $0.hasPrefix(":") ? "x" : $0 }.joined(separator: "/")
            return (route.method.rawValue, "/console/api/" + path)
        }
    }

    @Test("A disabled console responds 404 on every route and creates no tables")
    func closed() async throws {
        try await TestServer.run(["console": ["enabled": false]]) { server in
            let browser = ConsoleBrowser(server)
            var calls = [
                ("GET", "/"), ("GET", "/console"), ("GET", "/console/"), ("GET", "/console/a/x/main.js"),
                ("POST", "/console/"),
            ]
            calls += Self.ownRoutes
            for method in ["GET", "POST", "PUT", "DELETE"] {
                for path in ["session", "parse/classes/Song", "parse/batch", "exports/x", "backups/x", "other"] {
                    calls.append((method, "/console/api/" + path))
                }
            }
            for (method, path) in calls {
                let answer = try await browser.send(
                    method, path, method == "GET" ? nil : [:], headers: ["Accept": "text/html,application/xhtml+xml"])
                // The same response as for any unknown path.
                #expect(answer.status == 404, "\(method) \(path)")
                #expect(
                    answer.json == ["error": .string("Cannot \(method) \(path)")], "\(method) \(path): \(answer.text)")
                #expect(answer.headers["set-cookie"] == nil && answer.headers["content-security-policy"] == nil)
            }
            let tables = try await server.texts(
                "SELECT relname::text FROM pg_class WHERE relname LIKE '\\_roost\\_operator%'")
            #expect(tables.isEmpty)
        }
    }
}
