import HTTP
import JSON
import NIOHTTP1
import REST
import Testing

@Suite("Request headers and entity tags")
struct RequestHeadersTests {
    @Test("Finds every header name in any case and position")
    func names() {
        let fields = HeaderName.allCases.enumerated().flatMap { index, name in
            [("X-Other-\(index)", "other"), (index % 2 == 0 ? name.text.lowercased() : name.text, "value \(index) ")]
        }
        let headers = RequestHeaders(HTTPHeaders(fields))
        for (index, name) in HeaderName.allCases.enumerated() {
            #expect(headers[name] == "value \(index)")
            #expect(HeaderName(field: name.text.uppercased()) == name)
            #expect(HeaderName(field: name.text + "s") == nil)
            #expect(RequestHeaders(HTTPHeaders())[name] == nil)
        }
    }

    @Test("Joins repeated headers with commas")
    func repetitions() {
        let headers = RequestHeaders([
            ("Origin", "a"), ("Host", "x"), ("host", "y"), ("X-Other", "c"), ("ORIGIN", "b"), ("Range", "d"),
        ])
        #expect(headers[.origin] == "a, b")
        #expect(headers[.host] == "x, y")
        #expect(headers[.range] == "d")
        #expect(headers[.expect] == nil)
        let many = (0..<70_000).map { (name: "X-Other", value: "\($0)") }
        #expect(RequestHeaders([("Host", "x")] + many)[.host] == "x")
    }

    @Test("An ETag encodes the response's hash in eleven base64url digits, lowest first", arguments: [0, 1, 4096])
    func entityTag(length: Int) {
        let bytes = [UInt8](repeating: 7, count: length)
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let tag = EntityTag.weak(bytes)
        #expect(tag.hasPrefix("W/\"") && tag.hasSuffix("\"") && tag.count == 15)
        let hash = tag.dropFirst(3).dropLast().reversed().reduce(UInt64(0)) { hash, digit in
            hash << 6 | UInt64(digits.firstIndex(of: digit) ?? 0)
        }
        #expect(hash == ContentHash.of(bytes))
    }
}

extension RequestHeaders {
    fileprivate init(_ fields: [(String, String)]) {
        self.init(HTTPHeaders(fields))
    }
}
