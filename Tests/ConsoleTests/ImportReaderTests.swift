import TestTools
import Testing

/// How the console reads files before they are imported: `scripts/fuzz.sh csv` goes on for longer.
@Suite struct ImportReaderTests {
    @Test("Reads tables and objects alike in one piece and in many, in linear time, and as they were written")
    func pieces() async throws {
        let outcome = try await Program.run(["node", Checkout.path("Fuzzing/csv.mjs"), "1"])
        #expect(outcome.status == 0, "\(outcome.output)")
    }
}
