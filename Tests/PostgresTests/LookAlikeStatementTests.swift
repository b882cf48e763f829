import Postgres
import Testing

@Suite("Statements with canonically equivalent text")
struct LookAlikeStatementTests {
    @Test("Doesn't confuse statements whose text is canonically equivalent but differs in bytes")
    func lookAlikes() async throws {
        try await TestDatabase.run(shared: 1) { (database) async throws in
            for text in ["K", "\u{212a}", "\u{e9}", "e\u{301}", "a\u{301}\u{323}", "a\u{323}\u{301}"] {
                let result = try await database.client.query("SELECT '\(text)'::text")
                #expect(result.string(0, 0).map { Array($0.utf8) } == Array(text.utf8))
            }
        }
    }
}
