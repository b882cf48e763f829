import Testing

@testable import HTTP

@Suite("What the log keeps of a request")
struct RequestFieldsTests {
    @Test(
        "is the path without its query, cut where it is long",
        arguments: [
            ("/parse/classes/Song", "/parse/classes/Song"),
            ("/parse/login?username=kim&password=secret", "/parse/login"),
            ("?password=secret", ""), ("/a?b?c", "/a"),
            ("/" + String(repeating: "x", count: 1_200) + "?password=secret", "/" + String(repeating: "x", count: 999)),
        ])
    func path(target: String, path: String) {
        let fields = RequestFields(id: RequestID(1), method: "GET", target: target, status: 200, duration: .zero)
        // What is kept in memory is looked at, and not only what is written.
        #expect(
            Mirror(reflecting: fields).children.compactMap { $0.value as? String }.sorted() == ["GET", path].sorted())
        #expect(fields.fields.first { $0.name == "path" }?.value == path)
    }
}
