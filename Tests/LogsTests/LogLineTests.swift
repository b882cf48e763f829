import JSON
import Logging
import Logs
import ParseModel
import Testing

@Suite("Log lines")
struct LogLineTests {
    private static let time = "2026-03-01T00:00:00.000Z"

    private static func line(_ text: String, _ metadata: Logger.Metadata = [:]) throws -> LogLine {
        LogLine(
            moment: try #require(ParseDate(iso: time)), level: .error, label: "roost", message: "\(text)",
            metadata: metadata)
    }

    private static func object(_ line: LogLine) throws -> JSONObject {
        var bytes: [UInt8] = []
        line.write(as: .json, to: &bytes)
        return try #require(try JSONValue(parsing: Array(bytes.dropLast())).objectValue)
    }

    @Test("Writes levels by parse-server's names and numbers as numbers")
    func fields() throws {
        let line = try Self.object(Self.line("words", ["id": "a", "ms": "1.5"]))
        #expect(line["level"] == "error" && line["id"] == "a" && line["ms"] == 1.5)
    }

    @Test("A field named like a standard one gets an underscore appended")
    func ownNames() throws {
        let line = try Self.object(Self.line("words", ["message": "other words", "timestamp": "never"]))
        #expect(line["message"] == "words" && line["message_"] == "other words")
        #expect(line["timestamp"] == .string(Self.time) && line["timestamp_"] == "never")
    }

    @Test("Writes the message first, then fields, quoted if they contain spaces and omitted if empty")
    func text() throws {
        var bytes: [UInt8] = []
        try Self.line("many words", ["c": "1", "b": "", "a": "the \"best\" song"]).write(as: .text, to: &bytes)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "\(Self.time) error roost: many words a=\"the \\\"best\\\" song\" c=1\n")
    }

    @Test("Replaces control characters of one or two bytes with spaces")
    func controlCharacters() throws {
        var bytes: [UInt8] = []
        try Self.line("a\n\u{1B}\u{9B}\u{85}é\u{A9}").write(as: .text, to: &bytes)
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.hasSuffix("a  \u{A0}\u{A0}é\u{A9}\n"))
    }
}
