import TestTools
import Testing

/// Parsing of files to import. `scripts/fuzz.sh csv` runs longer.
@Suite struct ImportReaderTests {
    @Test("Parses tables and objects in linear time, regardless of how the input is chunked")
    func pieces() async throws {
        let outcome = try await Program.run(["node", Checkout.path("Fuzzing/csv.mjs"), "1"])
        #expect(outcome.status == 0, "\(outcome.output)")
    }
}
