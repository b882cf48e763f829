import JSON
import Testing

/// Documents that are expensive to parse. Each would take minutes if any step were quadratic; the limits allow for slow
/// machines and unoptimized builds.
@Suite("Hostile documents")
struct HostileInputTests {
    private func read(_ text: String) throws(JSONError) -> JSONValue {
        try JSONValue(parsing: text)
    }

    @Test("An object of 100,000 keys is read", .timeLimit(.minutes(10)))
    func manyKeys() throws {
        let text = "{" + (0..<100_000).map { "\"key\($0)\":\($0)" }.joined(separator: ",") + "}"
        let value = try read(text)
        #expect(value.objectValue?.count == 100_000)
        #expect(value["key99999"] == 99_999)
    }

    @Test("One key 100,000 times is one member", .timeLimit(.minutes(10)))
    func sameKey() throws {
        let value = try read("{" + String(repeating: "\"a\":0,", count: 100_000) + "\"a\":1}")
        #expect(value == ["a": 1])
    }

    @Test("A megabyte of opening brackets is refused at once", .timeLimit(.minutes(10)))
    func openingBrackets() {
        for opening in ["[", "{\"\":", "[{\"a\":"] {
            #expect(throws: JSONError.self) { try read(String(repeating: opening, count: 1 << 20)) }
        }
    }

    @Test("A megabyte of one string is read, plain, in many scripts, and all escapes", .timeLimit(.minutes(10)))
    func longStrings() throws {
        for (written, plain) in [("x", "x"), ("日", "日"), ("\\n", "\n"), ("\\u0061", "a"), ("\\ud83d\\ude00", "😀")] {
            let count = (1 << 20) / written.utf8.count
            let value = try read("\"" + String(repeating: written, count: count) + "\"")
            #expect(value.stringValue?.utf8.count == count * plain.utf8.count)
        }
    }

    @Test("A string that never ends is refused", .timeLimit(.minutes(10)))
    func endlessString() {
        let text = "\"" + String(repeating: "x", count: 1 << 20)
        #expect(throws: JSONError(offset: text.utf8.count, reason: "unexpected end")) { try read(text) }
    }

    @Test("Numbers of a megabyte are read or refused", .timeLimit(.minutes(10)))
    func longNumbers() throws {
        let digits = String(repeating: "7", count: 1 << 20)
        let zeros = String(repeating: "0", count: 1 << 20)
        #expect(throws: JSONError(offset: 0, reason: "number out of range")) { try read(digits) }
        #expect(throws: JSONError(offset: 0, reason: "number out of range")) { try read("1e" + digits) }
        #expect(try read("0." + digits) == .number(0.7777777777777778))
        #expect(try read("0." + zeros + "1") == 0)
        #expect(try read("1e-" + digits) == 0)
    }

    @Test("Whitespace of a megabyte is skipped", .timeLimit(.minutes(10)))
    func longWhitespace() throws {
        let blank = String(repeating: " \n", count: 1 << 19)
        #expect(try read(blank + "[" + blank + "1" + blank + "]" + blank) == [1])
    }

    @Test("An array of 200,000 small values is read", .timeLimit(.minutes(10)))
    func manyElements() throws {
        let value = try read("[" + String(repeating: "{},[],0,\"\",", count: 50_000) + "null]")
        #expect(value.arrayValue?.count == 200_001)
    }
}
