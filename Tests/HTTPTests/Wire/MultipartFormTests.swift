import HTTP
import JSON
import REST
import Testing

@Suite("Multipart forms")
struct MultipartFormTests {
    private static let type = "multipart/form-data; boundary=limit"

    /// Parses a body whose lines end with `\r\n`.
    private static func read(_ lines: [String], type: String = type) throws -> MultipartForm {
        try MultipartForm(Array(lines.joined(separator: "\r\n").utf8), contentType: type)
    }

    private static func part(_ header: String, _ content: String) -> [String] {
        ["--limit", "Content-Disposition: form-data; \(header)", "", content]
    }

    private static func isRefused(_ bytes: [UInt8], type: String = type) -> Bool {
        do {
            _ = try MultipartForm(bytes, contentType: type)
            return false
        } catch {
            return error.status == 400
        }
    }

    private static func isRefused(_ lines: [String], type: String = type) -> Bool {
        isRefused(Array(lines.joined(separator: "\r\n").utf8), type: type)
    }

    @Test("Distinguishes text fields from files, and preserves every byte")
    func parts() throws {
        let content: [UInt8] = Array("{\r\n--limi\r--limit\n\r\r\n-".utf8) + [0, 255, 13, 10, 13]
        var body = Array("--limit\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.json\"\r\n".utf8)
        body += Array("Content-Type: application/json\r\n\r\n".utf8) + content
        body += Array(
            "\r\n--limit\r\ncontent-disposition:form-data;name=mail\r\n\r\nkim@example.com\r\n--limit--\r\n".utf8)
        let form = try MultipartForm(body, contentType: Self.type)
        #expect(form.files == ["f": FormFile(path: "a.json", contentType: "application/json", bytes: content)])
        #expect(form.fields == ["mail": "kim@example.com"])
    }

    @Test("Accepts part headers up to the limit and rejects longer ones", arguments: 8180...8200)
    func headerLimit(length: Int) {
        let line = "X: " + String(repeating: "a", count: length - 3)
        let isRefused = Self.isRefused(
            ["--limit", line, "Content-Disposition: form-data; name=a", "", "1", "--limit--", "more"])
        #expect(isRefused == (length > 8192 - 44))
    }

    @Test("Ignores text before the first and after the last boundary")
    func surroundings() throws {
        let form = try Self.read(["hello", ""] + Self.part("name=a", "1") + ["--limit--", "--limit", "rubbish"])
        #expect(form.fields == ["a": "1"])
        #expect(try Self.read(["--limit--"]).fields == [:])
    }

    @Test("Accepts an empty file, and whitespace after a boundary")
    func empty() throws {
        let form = try Self.read(
            ["--limit \t", "Content-Disposition: form-data; name=\"a\"; filename=\"\"", "", "", "--limit--"])
        #expect(form.files == ["a": FormFile(path: "", bytes: [])])
    }

    @Test(
        "Removes folders from file names and parameters from types, and defaults to application/octet-stream",
        arguments: [
            ("a.png", "image/PNG; q=1", "a.png", "image/png"), ("../../a", "text/plain", "a", "text/plain"),
            (#"C:\d\é.txt"#, "nonsense", "é.txt", "application/octet-stream"),
            ("a/", "", "", "application/octet-stream"),
        ])
    func descriptions(path: String, type: String, filename: String, contentType: String) throws {
        let header = "Content-Disposition: form-data; name=a; filename=\"\(path)\""
        let form = try Self.read(["--limit", header, "Content-Type: \(type)", "", "x", "--limit--"])
        let file = try #require(form.files["a"])
        #expect(file.filename == filename && file.contentType == contentType)
        let untold = try Self.read(["--limit", header, "", "x", "--limit--"])
        #expect(untold.files["a"]?.contentType == "application/octet-stream")
    }

    @Test(
        "Accepts quoted names with escapes",
        arguments: [
            (#"name="a b""#, "a b"), (#"name="a\"b""#, #"a"b"#), (#"name="c:\d\\e""#, #"c:\d\e"#), ("name=é;", "é"),
        ])
    func names(header: String, name: String) throws {
        let form = try Self.read(Self.part(header, "x") + ["--limit--"])
        #expect(form.fields == [Name(name): "x"])
    }

    @Test(
        "Rejects missing and invalid boundaries",
        arguments: [
            "multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"\"",
            "multipart/form-data; boundary=\"limit", "multipart/form-data; boundary=limit; boundary=other",
            "multipart/form-data; boundary=\"limit \"", "multipart/form-data; boundary=li\u{e9}mit",
            "multipart/form-data; boundary=" + String(repeating: "a", count: 71), "; boundary=limit",
        ])
    func boundaries(type: String) {
        #expect(Self.isRefused(Self.part("name=a", "1") + ["--limit--"], type: type))
    }

    @Test(
        "Rejects malformed bodies",
        arguments: [
            [], [""], ["--"], ["--limit"], ["--limit-"], ["--limit", ""], ["--limitation", "", "", "--limit--"],
            ["--limit", "", "1", "--limit--"], ["--limit", "Content-Disposition: form-data; name=a", "--limit--"],
            ["--limit", "Content-Disposition: form-data; name=a", "", "1", "--limi--"],
            ["--limit", "Content-Disposition: attachment; name=a", "", "1", "--limit--"],
            ["--limit", "Content-Disposition: form-data", "", "1", "--limit--"],
            ["--limit", "Content-Disposition: form-data; name=\"a", "", "1", "--limit--"],
            ["--limit", "Content-Disposition: form-data; name=a; name=b", "", "1", "--limit--"],
            ["--limit", "Content-Disposition: form-data; name=\"\"", "", "1", "--limit--"],
            ["--limit", "Content-Disposition: form-data; name=a b", "", "1", "--limit--"],
            ["--limit", "Content-Disposition: form-data;", " name=a", "", "1", "--limit--"],
            ["--limit", ": form-data; name=a", "", "1", "--limit--"],
            [
                "--limit", "Content-Disposition: form-data; name=a", "Content-Disposition: form-data; name=b", "", "1",
                "--limit--",
            ],
            [
                "--limit", "Content-Disposition: form-data; name=a", "Content-Type: a/b", "Content-Type: a/c", "", "1",
                "--limit--",
            ],
            [
                "--limit", "Content-Disposition: form-data; name=a", "Content-Transfer-Encoding: base64", "", "MQ==",
                "--limit--",
            ],
        ])
    func malformed(lines: [String]) {
        #expect(Self.isRefused(lines))
    }

    @Test("Rejects duplicate names, invalid UTF-8 and NUL characters")
    func ambiguous() {
        #expect(Self.isRefused(Self.part("name=a", "1") + Self.part("name=a; filename=x", "2") + ["--limit--"]))
        let head = Array("--limit\r\nContent-Disposition: form-data; name=a\r\n\r\n".utf8)
        for content: [UInt8] in [[0xFF], [0xC3], [0]] {
            #expect(Self.isRefused(head + content + Array("\r\n--limit--".utf8)))
        }
    }

    @Test("Rejects too many parts and oversized headers")
    func limits() throws {
        func body(_ count: Int) -> [String] {
            (0..<count).flatMap { Self.part("name=p\($0)", "1") } + ["--limit--"]
        }
        #expect(try Self.read(body(MultipartForm.maxParts)).fields.count == MultipartForm.maxParts)
        #expect(Self.isRefused(body(MultipartForm.maxParts + 1)))
        let long = "X-Long: " + String(repeating: "a", count: MultipartForm.maxHeaderBytes)
        #expect(Self.isRefused(["--limit", long, "Content-Disposition: form-data; name=a", "", "1", "--limit--"]))
        #expect(Self.isRefused(["--limit", long]))
    }

    @Test("Rejects a body truncated at any byte")
    func truncated() {
        let whole = Array(
            (Self.part("name=\"a\"; filename=\"b\"", "12\r\n--lim") + ["--limit--"]).joined(separator: "\r\n").utf8)
        #expect(!Self.isRefused(whole))
        for length in 0..<whole.count {
            #expect(Self.isRefused(Array(whole[..<length])), "\(length)")
        }
    }

    @Test("Parses or rejects random bytes without crashing")
    func random() {
        var generator = SystemRandomNumberGenerator()
        let pieces = [
            "--limit", "--", "\r\n", "\r", "\n", "Content-Disposition:", " form-data", "; ", "name", "=", "\"", "\\",
            "a",
            "filename", "\u{0}", ":", " ",
        ]
        for _ in 0..<2000 {
            let text = (0..<Int.random(in: 0..<40, using: &generator)).map { _ in
                pieces.randomElement(using: &generator) ?? ""
            }.joined()
            if let form = try? MultipartForm(Array(("--limit" + text).utf8), contentType: Self.type) {
                #expect(form.fields.count + form.files.count <= MultipartForm.maxParts)
            }
        }
    }
}
