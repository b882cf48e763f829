import Foundation
import TestSupport
import TestTools

/// moto, a third-party store with object tags, ACLs and encryption, installed by `scripts/test_libraries.sh`. It
/// doesn't check signatures.
enum TaggingStore {
    static func run<R: Sendable>(_ body: @Sendable @escaping (Int) async throws -> R) async throws -> R {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-tags-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let script = Checkout.path("Tests/FileStoresTests/Support/tagging_store.py")
        return try await Program.run(
            ["python3", script, folder], environment: ["PYTHONPATH": Checkout.pythonLibraries]
        ) {
            let isUp = try await eventually(within: .seconds(120)) {
                FileManager.default.fileExists(atPath: folder + "/port")
            }
            guard isUp else { throw BucketServer.Unavailable(reason: "it did not start") }
            return try await body(Int(try String(contentsOfFile: folder + "/port", encoding: .utf8)) ?? 0)
        }
    }
}
