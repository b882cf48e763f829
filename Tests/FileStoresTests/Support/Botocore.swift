import Foundation
import JSON
import TestTools

/// Amazon's own library for Python, which `scripts/test_libraries.sh` installs: a second opinion on signatures, keys and what
/// lies in a bucket.
enum Botocore {
    struct Failure: Error { let output: String }

    /// Asks it for something; `s3_client.py` has the words.
    static func ask(_ arguments: [String], input: JSONValue = .null) async throws -> JSONValue {
        let script = Checkout.path("Tests/FileStoresTests/Support/s3_client.py")
        let outcome = try await Program.run(
            ["python3", "-W", "ignore", script] + arguments,
            environment: ["PYTHONPATH": Checkout.pythonLibraries], input: input.serialized())
        guard outcome.status == 0 else { throw Failure(output: outcome.output) }
        return try JSONValue(parsing: Array(outcome.output.utf8))
    }

    /// The key and the secret of a store of tests.
    static let keys = ["test:tester", "testing"]
}
