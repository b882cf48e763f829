import Foundation
import HTTP
import JSON
import REST
import TestSupport
import TestTools
import Testing

@Suite("Route table")
struct RouteTableTests {
    @Test("No two routes have the same method and path")
    func routesAreUnique() {
        let texts = RouteTable.all.map { "\($0.method.rawValue) \($0.text)" }
        #expect(Set(texts).count == texts.count)
    }

    @Test(
        "Matches route names regardless of case, and leaves parameters unchanged",
        arguments: [
            ("GET", ["Classes", "Song"], "classes/Song"), ("GET", ["USERS", "ME"], "users/me"),
            ("GET", ["users", "Me2"], "users/Me2"), ("POST", ["loginas"], "loginAs"),
            ("GET", ["hooks", "FUNCTIONS", "Add"], "hooks/functions/Add"), ("GET", ["CONFIG", "x"], "config/x"),
            ("POST", ["functions", "a.B"], "functions/a.B"), ("GET", ["nosuch"], "nosuch"),
            // Lowercasing would turn the KELVIN SIGN into `k`, but route names are compared byte by byte.
            ("GET", ["hoo\u{212A}s", "functions"], "hoo\u{212A}s/functions"),
        ])
    func spellings(method: String, path: [String], canonical: String) {
        #expect(Array(RouteTable.canonical(path).joined(separator: "/").utf8) == Array(canonical.utf8))
    }

    @Test(
        "Routes called before the body is read match only the raw path",
        arguments: [
            ("POST", "files", "/files"), ("POST", "FILES/a.txt", "/files/<name>"),
            ("HEAD", "files/app/folder/a.txt", "/files/<applicationId>/<name…>"),
            ("DELETE", "files/folder/a.txt", "/files/<name…>"), ("PROPFIND", "health", "/health"),
            ("PUT", "health/Ready", "/health/ready"), ("GET", "metrics", "/metrics"), ("GET", "files/a.txt", nil),
            ("PUT", "files/a.txt", nil), ("DELETE", "files", nil), ("POST", "files/a/b", nil),
            ("GET", "f%69les/app/a.txt", nil), ("GET", "health/other", nil), ("GET", "classes/Song", nil),
            ("GET", "", nil),
        ])
    func unread(method: String, path: String, found: String?) {
        let components = path.split(separator: "/")
        #expect(RouteTable.unread(method, components)?.text == found)
        if found != nil, let method = Method(name: method) {
            #expect(RouteTable.match(method, components.map { String($0) })?.text == nil)
        }
    }

    @Test("Master-key routes reject anonymous callers and the maintenance key")
    func administrators() async throws {
        try await TestServer.run { server in
            for route in RouteTable.all where route.traits.contains(.master) {
                let path = route.path.map { component in
                    switch component {
                    case .literal(let name): "/" + name
                    case .parameter, .rest: "/Thing"
                    }
                }.joined()
                for identity in [TestServer.Identity.anonymous, .maintenance] {
                    let answer = try await server.send(route.method.rawValue, path, [:], as: identity)
                    #expect(answer.status == 403, "\(route.method.rawValue) \(path): \(answer.text)")
                }
            }
        }
    }

    @Test("docs/routes.md ends with a table of all routes")
    func documents() throws {
        let text = try String(contentsOfFile: Checkout.path("docs/routes.md"), encoding: .utf8)
        #expect(text.hasSuffix(Self.list), "docs/routes.md should end with:\n\(Self.list)")
    }

    /// The table of docs/routes.md.
    private static var list: String {
        let rows = RouteTable.all.map { route in
            let marks: [Route.Traits] = [.master, .batchable, .transactional, .idempotent]
            let cells = marks.map { route.traits.contains($0) ? "yes" : "" }
            return "| \(route.method.rawValue) | `\(route.text)` | \(cells.joined(separator: " | ")) |\n"
        }
        return """
            | Method | Path | Master key | In batches | In transactions | Request ids |
            |---|---|---|---|---|---|

            """ + rows.joined()
    }
}
