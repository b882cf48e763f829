import Testing

@testable import Postgres

@Suite("SQL text")
struct SQLTests {
    @Test("quotes identifiers so that no name can leave its quotes")
    func identifiers() {
        #expect(SQL.identifier("Playlist") == "\"Playlist\"")
        #expect(SQL.identifier("a\"; DROP TABLE t; --") == "\"a\"\"; DROP TABLE t; --\"")
        #expect(SQL.identifier("a\0b") == "\"a\u{FFFD}b\"")
        // A quote with a combining mark is one character, but its byte is a quote all the same.
        #expect(SQL.identifier("\"\u{301}x") == "\"\"\"\u{301}x\"")
    }

    @Test("literals come back as they were, whatever they contain", .timeLimit(.minutes(1)))
    func literals() async throws {
        try await TestDatabase.withClient { client, _ async throws in
            for text in ["", "it's", "back\\slash", "\\'", "'\u{301}", "\\", "line\nbreak"] {
                #expect(try await client.query("SELECT \(SQL.literal(text))::text").string(0, 0) == text)
                let quoted = try await client.query("SELECT 1 AS \(SQL.identifier("x" + text))")
                #expect(quoted.columnName(0) == "x" + text)
            }
        }
    }
}
