import HTTP
import JSON
import TestSupport
import Testing

@Suite("Requests for unknown routes")
struct UnknownRouteTests {
    @Test("The error names the requested method")
    func methods() async throws {
        try await TestServer.run { server in
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "PROPFIND"] {
                let answer = try await server.send(method, "/nosuch/route", as: .master)
                #expect(answer.status == 404)
                #expect(answer.json == ["error": .string("Cannot \(method) /nosuch/route")], "\(answer.text)")
            }
            for method in ["PATCH", "patch", "HEAD", "DELETE", "LOCK"] {
                let answer = try await server.send("POST", "/nosuch", ["_method": .string(method)], as: .master)
                #expect(answer.json == ["error": .string("Cannot \(method.uppercased()) /nosuch")], "\(answer.text)")
            }
            #expect(try await server.send("HEAD", "/nosuch", as: .master).status == 404)
            // A path that exists only with another method.
            let answer = try await server.send("PATCH", "/login", as: .master)
            #expect(answer.json == ["error": "Cannot PATCH /login"])
            for method: JSONValue in ["PATCH", "PUT"] {
                let call: JSONValue = ["method": method, "path": "/parse/nosuch"]
                let batch = try await server.send("POST", "/batch", ["requests": [call]], as: .master)
                #expect(batch.error == "cannot route \(method.stringValue ?? "") /nosuch", "\(batch.text)")
            }
        }
    }

    @Test("PATCH updates objects")
    func patch() async throws {
        try await TestServer.run { server in
            let song = try await server.create("Song", ["n": 1])
            #expect(try await server.send("PATCH", "/classes/Song/\(song)", ["n": 2]).status == 200)
        }
    }

    @Test(
        "The error percent-encodes the path as Express does",
        arguments: [
            ("/a b", "/a%20b"), ("/<b>\"x\"</b>", "/%3Cb%3E%22x%22%3C/b%3E"), ("/100%", "/100%25"),
            ("/%4a%zz%4", "/%4a%25zz%254"), ("/é", "/%C3%A9"), ("/a'(b)!~*", "/a'(b)!~*"),
            ("/`{|}^\\[]", "/%60%7B|%7D^\\[]"), ("/\u{7F}\u{1}", "/%7F%01"), ("", "/"),
        ])
    func paths(path: String, written: String) {
        #expect(HTTPError.noRoute(method: "GET", path: path).message == "Cannot GET \(written)")
    }
}
