import Foundation
import JSON
import Testing

@Suite("JSON nesting depth")
struct DepthTests {
    private func nested(_ depth: Int, opening: String = "[", closing: String = "]") -> String {
        String(repeating: opening, count: depth) + (opening == "[" ? "" : "0")
            + String(repeating: closing, count: depth)
    }

    @Test("Reads 256 levels and rejects the 257th where it opens")
    func defaultLimit() throws {
        #expect(try JSONValue(parsing: nested(256)).text == nested(256))
        #expect(throws: JSONError(offset: 256, reason: "nesting deeper than 256")) {
            try JSONValue(parsing: nested(257))
        }
    }

    @Test("Objects count as levels, like arrays")
    func objects() throws {
        let opening = "{\"a\":"
        #expect(throws: Never.self) { try JSONValue(parsing: nested(256, opening: opening, closing: "}")) }
        #expect(throws: JSONError(offset: 256 * 5, reason: "nesting deeper than 256")) {
            try JSONValue(parsing: nested(257, opening: opening, closing: "}"))
        }
        #expect(throws: JSONError(offset: 7, reason: "nesting deeper than 2")) {
            try JSONValue(parsing: "[{\"a\": [1]}]", maximumDepth: 2)
        }
    }

    @Test("Siblings don't add to the depth")
    func siblings() throws {
        let text = "[" + String(repeating: "[[]],{\"a\":{}},", count: 1_000) + "0]"
        #expect(throws: Never.self) { try JSONValue(parsing: text, maximumDepth: 3) }
    }

    @Test("Callers choose the limit; 0 allows only scalars")
    func chosenLimit() throws {
        #expect(try JSONValue(parsing: "1", maximumDepth: 0) == 1)
        #expect(throws: JSONError(offset: 0, reason: "nesting deeper than 0")) {
            try JSONValue(parsing: "[]", maximumDepth: 0)
        }
        #expect(try JSONValue(parsing: "[[]]", maximumDepth: 2) == [[]])
    }

    @Test("Callers can't exceed the greatest depth")
    func greatestDepth() throws {
        let depth = JSONValue.greatestDepth
        #expect(throws: Never.self) { try JSONValue(parsing: nested(depth), maximumDepth: .max) }
        #expect(throws: JSONError(offset: depth, reason: "nesting deeper than \(depth)")) {
            try JSONValue(parsing: nested(depth + 1), maximumDepth: .max)
        }
    }

    @Test("Reads, compares, hashes, writes and frees the deepest values on a 512 KB stack")
    func smallStack() async {
        let texts = [
            nested(JSONValue.greatestDepth), nested(JSONValue.greatestDepth, opening: "{\"a\":", closing: "}"),
        ]
        let written: [String] = await withCheckedContinuation { continuation in
            let thread = Thread {
                continuation.resume(
                    returning: texts.compactMap { text in
                        let value = try? JSONValue(parsing: text, maximumDepth: .max)
                        let again = try? JSONValue(parsing: text, maximumDepth: .max)
                        return value == again && value.hashValue == again.hashValue ? value?.text : nil
                    })
            }
            thread.stackSize = 512 * 1024
            thread.start()
        }
        #expect(written == texts)
    }
}
