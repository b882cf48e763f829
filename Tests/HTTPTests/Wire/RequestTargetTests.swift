import HTTP
import Testing

@Suite("Request targets")
struct RequestTargetTests {
    @Test(
        "Finds path and query below the mount path, also in absolute URLs",
        arguments: [
            ("/parse/classes/Song?limit=1#top", "/classes/Song", "limit=1"), ("//PARSE/login/", "/login/", nil),
            ("http://kim@host/parse/login?a=/b", "/login", "a=/b"), ("https://host/parse#/login?a", "", nil),
        ])
    func parts(target: String, path: String, query: String?) throws {
        let parsed = try #require(RequestTarget(target, mount: "/parse"))
        #expect(parsed.path == path)
        #expect(parsed.query.map(String.init) == query)
    }

    @Test(
        "Rejects targets outside the mount path",
        arguments: ["/", "/parser/login", "http://host", "http://host?a=/parse/login", "?a=http://host/parse/login"])
    func outside(target: String) {
        #expect(RequestTarget(target, mount: "/parse") == nil)
    }
}
