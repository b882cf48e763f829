import Foundation
import JSON
import TestTools

/// Amazon's Python library, installed by `scripts/test_libraries.sh`. Verifies signatures, keys and bucket contents
/// independently.
enum Botocore {
    struct Failure: Error { let output: String }

    /// Runs a command of `s3_client.py`.
    static func ask(_ arguments: [String], input: JSONValue = .null) async throws -> JSONValue {
        let script = Checkout.path("Tests/FileStoresTests/Support/s3_client.py")
        let outcome = try await Program.run(
            ["python3", "-W", "ignore", script] + arguments,
            environment: ["PYTHONPATH": Checkout.pythonLibraries], input: input.serialized())
        guard outcome.status == 0 else { throw Failure(output: outcome.output) }
        return try JSONValue(parsing: Array(outcome.output.utf8))
    }

    static let keys = ["test:tester", "testing"]
}
