import Console
import HTTP
import JSON
import REST
import TestSupport
import Testing

/// Every route there is, also one that is new: with limits, and where there is no console.
@Suite("A walk over all routes of the console")
struct ConsoleWalkTests {
    private static func path(_ route: Route) -> String {
        route.path.map { component in
            switch component {
            case .literal(let name): "/" + name
            case .parameter, .rest: "/Artist"
            }
        }.joined()
    }

    /// The console's own routes: method, and path below `/console/api`.
    private static var ownRoutes: [(route: ConsoleRoute, method: String, path: String)] {
        ConsoleRouteTable.all.map { route in
            let path = route.path.map { $0.hasPrefix(":") ? "x" : $0 }.joined(separator: "/")
            return (route, route.method.rawValue, "/console/api/" + path)
        }
    }

    @Test("No call passes the limits that should not: every route, for every role that can have limits")
    func limits() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Song", ["title": "one", "plays": 424_242])
            _ = try await server.create("Artist", ["name": "SECRET artist"])
            let limits: JSONObject = ["classes": ["Song"], "hidden": ["Song": ["plays"]]]
            for role in ["editor", "viewer"] {
                let browser = try await ConsoleBrowser.operatorBrowser(server, role, limits: limits)
                let seen = try await browser.parse("GET", "/classes/Song")
                #expect(seen.results.count == 1 && seen.results.first?["plays"] == nil, "\(seen.text)")
                for route in RouteTable.all {
                    let (method, path) = (route.method.rawValue, Self.path(route))
                    let answer = try await browser.parse(method, path, method == "GET" ? nil : [:])
                    #expect(
                        !answer.text.contains("SECRET") && !answer.text.contains("424242"),
                        "\(role) \(method) \(path): \(answer.text)")
                    switch (method, path) {
                    // The list has the known classes alone; the parts of a batch are judged one by one.
                    case ("GET", "/schemas"): #expect(answer.status == 200 && !answer.text.contains("Artist"))
                    case ("POST", "/batch"): #expect(answer.status >= 400, "\(role): \(answer.text)")
                    // Files are of no class, and an editor uploads some.
                    case ("POST", "/files/Artist"): #expect(role == "editor" || answer.status == 403)
                    default:
                        #expect(answer.status == 403, "\(role) \(method) \(path): \(answer.status) \(answer.text)")
                    }
                }
                for (route, method, path) in Self.ownRoutes where !route.keepsLimits {
                    let answer = try await browser.send(method, path, route.method == .get ? nil : [:])
                    #expect(answer.status == 403, "\(role) \(method) \(path): \(answer.status) \(answer.text)")
                }
            }
        }
    }

    @Test("A console that is closed has no path, by whatever method")
    func closed() async throws {
        try await TestServer.run(["console": ["enabled": false]]) { server in
            let browser = ConsoleBrowser(server)
            var calls = [
                ("GET", "/"), ("GET", "/console"), ("GET", "/console/"), ("GET", "/console/a/x/main.js"),
                ("POST", "/console/"),
            ]
            calls += Self.ownRoutes.map { ($0.method, $0.path) }
            for method in ["GET", "POST", "PUT", "DELETE"] {
                for path in ["session", "parse/classes/Song", "parse/batch", "exports/x", "backups/x", "other"] {
                    calls.append((method, "/console/api/" + path))
                }
            }
            for (method, path) in calls {
                let answer = try await browser.send(
                    method, path, method == "GET" ? nil : [:], headers: ["Accept": "text/html,application/xhtml+xml"])
                // As any path that the server does not know.
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
