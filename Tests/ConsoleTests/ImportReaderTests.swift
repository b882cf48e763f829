import TestTools
import Testing

/// Parsing of files to import. `scripts/fuzz.sh csv` runs longer.
@Suite struct ImportReaderTests {
    @Test("Reads tables and objects alike in one piece and in many, in linear time, and as they were written")
    func pieces() async throws {
        let outcome = try await Program.run(["node", Checkout.path("Fuzzing/csv.mjs"), "1"])
        #expect(outcome.status == 0, "\(outcome.output)")
    }
}
