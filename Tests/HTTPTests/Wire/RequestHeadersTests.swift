import HTTP
import JSON
import NIOHTTP1
import REST
import Testing

@Suite("Header fields")
struct RequestHeadersTests {
    @Test("Every name is found in any case and at any place")
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

    @Test("Fields of one name are one with commas, whatever else comes twice")
    func repetitions() {
        let headers = RequestHeaders([
            ("Origin", "a"), ("Host", "x"), ("host", "y"), ("X-Other", "c"), ("ORIGIN", "b"), ("Range", "d"),
        ])
        #expect(headers[.origin] == "a, b")
        #expect(headers[.host] == "x, y")
        #expect(headers[.range] == "d")
        #expect(headers[.expect] == nil)
    }

    @Test("A tag is the hash of an answer in eleven digits of six bits, the lowest first", arguments: [0, 1, 4096])
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
