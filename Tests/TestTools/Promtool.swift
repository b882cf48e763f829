import Foundation

/// Prometheus's promtool, which checks metrics and rules. Installed by `scripts/test_libraries.sh`.
public enum Promtool {
    public static func run(_ arguments: [String], input: String = "") async throws -> Program.Outcome {
        let own = Checkout.path(".build/prometheus/usr/bin/promtool")
        let name = FileManager.default.isExecutableFile(atPath: own) ? own : "promtool"
        return try await Program.run([name] + arguments, input: Array(input.utf8))
    }
}
