import HTTP
import Testing

@Suite("Log fields of a request")
struct RequestFieldsTests {
    @Test(
        "Keeps only the path, without host, credentials and query, and truncates it",
        arguments: [
            ("/parse/classes/Song", "/parse/classes/Song"),
            ("/parse/login?username=kim&password=secret", "/parse/login"),
            ("?password=secret", ""), ("/a?b?c", "/a"),
            ("/" + String(repeating: "x", count: 1_200) + "?password=secret", "/" + String(repeating: "x", count: 255)),
            ("http://kim:secret@host/parse/classes/Song?a", "/parse/classes/Song"), ("http://kim:secret@host", "/"),
            ("http://kim:secret@host?token=/secret", ""),
        ])
    func path(target: String, path: String) {
        let fields = RequestFields(id: RequestID(1), method: "GET", target: target, status: 200, duration: .zero)
        // Checks the fields in memory, too, not only the output.
        #expect(
            Mirror(reflecting: fields).children.compactMap { $0.value as? String }.sorted() == ["GET", path].sorted())
        #expect(fields.fields.first { $0.name == "path" }?.value == path)
    }

    @Test(
        "Omits file names, which grant access to the files",
        arguments: [
            ("/parse/files/app/0123_a.png", "/parse/files/app/\u{2026}"),
            ("/parse/files/app/metadata/0123_a.png", "/parse/files/app/\u{2026}"),
            ("/parse/Files/app/0123_a.png", "/parse/Files/app/\u{2026}"),
            ("/parse/files/a.png", "/parse/files/\u{2026}"), ("/parse/classes/files", "/parse/classes/files"),
        ])
    func files(target: String, path: String) {
        let fields = RequestFields(id: RequestID(1), method: "GET", target: target, status: 200, duration: .zero)
        #expect(fields.fields.first { $0.name == "path" }?.value == path)
    }

    @Test("Logs failures as errors and slow requests as warnings, and aborted requests without a status")
    func levels() {
        func fields(_ status: Int?, _ seconds: Int) -> RequestFields {
            RequestFields(id: RequestID(1), method: "GET", target: "/", status: status, duration: .seconds(seconds))
        }
        let slow = Duration.seconds(1)
        #expect(fields(200, 0).level(isQuiet: false, slow: slow) == .info)
        #expect(fields(404, 0).level(isQuiet: false, slow: slow) == .info)
        #expect(fields(200, 1).level(isQuiet: false, slow: slow) == .warning)
        #expect(fields(500, 2).level(isQuiet: false, slow: slow) == .error)
        #expect(fields(nil, 7).level(isQuiet: false, slow: slow) == .info)
        #expect(fields(503, 2).level(isQuiet: true, slow: slow) == .debug)
        #expect(!fields(nil, 7).fields.contains { $0.name == "status" })
        #expect(fields(nil, 7).fields.contains { $0.name == "aborted" && $0.value == "true" })
    }
}
