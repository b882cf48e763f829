import Foundation

/// Prometheus' own program, which checks metrics and rules. `scripts/test_libraries.sh` gets it.
public enum Promtool {
    /// Runs it.
    ///
    /// - Parameters:
    ///   - arguments: What it is asked for, as `check metrics`.
    ///   - input: What it reads.
    /// - Throws: When there is no such program.
    public static func run(_ arguments: [String], input: String = "") async throws -> Program.Outcome {
        let own = Checkout.path(".build/prometheus/usr/bin/promtool")
        let name = FileManager.default.isExecutableFile(atPath: own) ? own : "promtool"
        return try await Program.run([name] + arguments, input: Array(input.utf8))
    }
}
