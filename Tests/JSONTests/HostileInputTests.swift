import JSON
import Testing

/// Documents that are expensive to parse. Each would take minutes if any step were quadratic; the limits allow for slow
/// machines and unoptimized builds.
@Suite("Hostile JSON documents")
struct HostileInputTests {
    private func read(_ text: String) throws(JSONError) -> JSONValue {
        try JSONValue(parsing: text)
    }

    @Test("Reads an object with 100,000 keys", .timeLimit(.minutes(10)))
    func manyKeys() throws {
        let text = "{" + (0..<100_000).map { "\"key\($0)\":\($0)" }.joined(separator: ",") + "}"
        let value = try read(text)
        #expect(value.objectValue?.count == 100_000)
        #expect(value["key99999"] == 99_999)
    }

    @Test("Reads a key repeated 100,000 times as one member", .timeLimit(.minutes(10)))
    func sameKey() throws {
        let value = try read("{" + String(repeating: "\"a\":0,", count: 100_000) + "\"a\":1}")
        #expect(value == ["a": 1])
    }

    @Test("Rejects a megabyte of opening brackets", .timeLimit(.minutes(10)))
    func openingBrackets() {
        for opening in ["[", "{\"\":", "[{\"a\":"] {
            #expect(throws: JSONError.self) { try read(String(repeating: opening, count: 1 << 20)) }
        }
    }

    @Test("Reads strings of a megabyte: ASCII, Chinese and nothing but escapes", .timeLimit(.minutes(10)))
    func longStrings() throws {
        for (written, plain) in [("x", "x"), ("日", "日"), ("\\n", "\n"), ("\\u0061", "a"), ("\\ud83d\\ude00", "😀")] {
            let count = (1 << 20) / written.utf8.count
            let value = try read("\"" + String(repeating: written, count: count) + "\"")
            #expect(value.stringValue?.utf8.count == count * plain.utf8.count)
        }
    }

    @Test("Rejects an unterminated string of a megabyte", .timeLimit(.minutes(10)))
    func endlessString() {
        let text = "\"" + String(repeating: "x", count: 1 << 20)
        #expect(throws: JSONError(offset: text.utf8.count, reason: "unexpected end")) { try read(text) }
    }

    @Test("Reads numbers of a megabyte, or rejects them if out of range", .timeLimit(.minutes(10)))
    func longNumbers() throws {
        let digits = String(repeating: "7", count: 1 << 20)
        let zeros = String(repeating: "0", count: 1 << 20)
        #expect(throws: JSONError(offset: 0, reason: "number out of range")) { try read(digits) }
        #expect(throws: JSONError(offset: 0, reason: "number out of range")) { try read("1e" + digits) }
        #expect(try read("0." + digits) == .number(0.7777777777777778))
        #expect(try read("0." + zeros + "1") == 0)
        #expect(try read("1e-" + digits) == 0)
    }

    @Test("Skips a megabyte of whitespace", .timeLimit(.minutes(10)))
    func longWhitespace() throws {
        let blank = String(repeating: " \n", count: 1 << 19)
        #expect(try read(blank + "[" + blank + "1" + blank + "]" + blank) == [1])
    }

    @Test("Reads an array of 200,000 small values", .timeLimit(.minutes(10)))
    func manyElements() throws {
        let value = try read("[" + String(repeating: "{},[],0,\"\",", count: 50_000) + "null]")
        #expect(value.arrayValue?.count == 200_001)
    }
}
