import JSON
import ParseModel
import Rules
import Testing

@Suite("Allowed file URLs")
struct FileURLRuleTests {
    private static func file(_ url: String) -> JSONValue {
        ["__type": "File", "name": "a.txt", "url": .string(url)]
    }

    private static func refusal(_ host: String) -> ParseError {
        ParseError(130, "File URL domain '\(host)' is not allowed.")
    }

    private static let allowed = ["files.example", "*.cdn.example", "LOUD.example"]

    @Test("An asterisk allows every host", arguments: [["*"], ["files.example", "*"]])
    func everywhere(allowed: [String]) throws {
        for url in ["https://evil.example/a", "/a", "data:text/plain,a", "no url"] {
            try FileURLRules.check(Self.file(url), allowed: allowed)
        }
    }

    @Test("An empty list allows no host")
    func nowhere() {
        #expect(throws: Self.refusal("files.example")) {
            try FileURLRules.check(Self.file("https://files.example/a"), allowed: [])
        }
    }

    @Test(
        "Allows hosts by name in any case, or by wildcard for subdomains",
        arguments: [
            "https://files.example/a.txt", "http://files.example:8080/a", "https://FILES.Example", "//files.example/a",
            "https://user:password@files.example/a", "https://a.cdn.example/a", "https://a.b.cdn.example/a",
            "https://loud.example/a", "https://files.example/a?to=\\b", "https://files.example#@evil.example",
        ])
    func known(url: String) throws {
        try FileURLRules.check(Self.file(url), allowed: Self.allowed)
    }

    @Test(
        "Rejects any other host and names it in the error",
        arguments: [
            ("https://evil.example/a", "evil.example"), ("https://EVIL.example", "evil.example"),
            ("https://afiles.example/a", "afiles.example"), ("https://a.files.example/a", "a.files.example"),
            ("https://files.example.evil.example/", "files.example.evil.example"),
            ("https://cdn.example/a", "cdn.example"), ("https://evilcdn.example/a", "evilcdn.example"),
            ("https://files.example@evil.example/a", "evil.example"),
            ("https://files.example:80@evil.example/a", "evil.example"),
            ("https://evil.example/files.example", "evil.example"),
            ("https://evil.example?https://files.example/", "evil.example"),
            ("https://evil.example#https://files.example/", "evil.example"),
            ("https://files.example./a", "files.example."), ("http://[::1]/a", "[::1]"),
            ("http://127.0.0.1/a", "127.0.0.1"),
        ])
    func unknown(url: String, host: String) {
        #expect(throws: Self.refusal(host)) { try FileURLRules.check(Self.file(url), allowed: Self.allowed) }
    }

    @Test(
        "Rejects URLs without a host",
        arguments: [
            "/files/a", "a.txt", "data:text/plain,a", "file:///etc/passwd", "https:files.example", "https:///a", " ",
        ])
    func withoutHost(url: String) {
        #expect(throws: Self.refusal("")) { try FileURLRules.check(Self.file(url), allowed: ["", "*.", "*.example"]) }
        #expect(throws: Self.refusal("")) { try FileURLRules.check(Self.file(url), allowed: Self.allowed) }
    }

    /// For browsers, a backslash ends the host like a slash, so an `@` after it doesn't begin the host.
    @Test(
        "Rejects URLs whose backslash leads browsers to another host",
        arguments: [
            #"https://evil.example\@files.example/a"#, #"https:\\evil.example\@files.example/a"#,
            #"https://evil.example\.cdn.example/a"#, #"https://evil.example:80\@a.cdn.example/a"#,
            #"//evil.example\@files.example/a"#,
        ])
    func backslashes(url: String) {
        #expect(throws: Self.refusal("")) { try FileURLRules.check(Self.file(url), allowed: Self.allowed) }
    }

    @Test(
        "Rejects hosts with escaped delimiters, even below an allowed domain",
        arguments: [
            "https://evil.example%2F.cdn.example/a", "https://evil.example%5C.cdn.example/a",
            "https://evil.example%3F.cdn.example/a", "https://evil.example%23.cdn.example/a",
            "https://evil.example%00.cdn.example/a", "https://evil.example%0A.cdn.example/a",
            "https://user%40evil.example%3A80.cdn.example/a",
        ])
    func escapedSigns(url: String) {
        #expect(throws: Self.refusal("")) { try FileURLRules.check(Self.file(url), allowed: Self.allowed) }
    }

    // MARK: - Values that are files

    @Test(
        "Checks files at any depth",
        arguments: [
            ["a": file("https://evil.example/a")], ["a": [1, file("https://evil.example/a")]],
            ["a": ["b": [["c": file("https://evil.example/a")]]]],
            ["a": file("https://files.example/a"), "b": file("https://evil.example/a")],
            ["a": ["__op": "Add", "objects": [file("https://evil.example/a")]]],
            ["a": ["__type": "File", "name": "a", "more": file("https://evil.example/a")]],
        ] as [JSONValue])
    func depth(value: JSONValue) {
        #expect(throws: Self.refusal("evil.example")) { try FileURLRules.check(value, allowed: Self.allowed) }
    }

    @Test(
        "Ignores values that aren't files with a URL",
        arguments: [
            "https://evil.example/a", ["url": "https://evil.example/a"],
            ["__type": "Object", "url": "https://evil.example/a"], ["__type": "File", "name": "a.txt"],
            ["__type": "File", "name": "a.txt", "url": ""], ["__type": "File", "name": "a.txt", "url": 5], .null, 1,
        ] as [JSONValue])
    func others(value: JSONValue) throws {
        try FileURLRules.check(value, allowed: Self.allowed)
        try FileURLRules.check(["a": [value]], allowed: Self.allowed)
    }
}
