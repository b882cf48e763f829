import Foundation
import JSON
import TestSupport
import TestTools

/// A proxy in front of the bucket server that adds Google's service accounts, tokens and header names.
struct GoogleStore: Sendable {
    let folder: String
    let port: Int

    var address: String { "http://127.0.0.1:\(port)" }
    var accountFile: String { folder + "/account.json" }

    /// The adapter options for a bucket prefix that only this test uses.
    func options(_ others: JSONObject = [:]) -> JSONObject {
        var options: JSONObject = [
            "projectId": "songs", "keyFilename": .string(accountFile), "bucket": "files",
            "bucketPrefix": .string("\(UUID().uuidString)/"), "apiEndpoint": .string(address),
        ]
        options.merge(others) { $1 }
        return options
    }

    func adapter(_ others: JSONObject = [:]) -> JSONObject {
        ["filesAdapter": ["module": "@parse/gcs-files-adapter", "options": .object(options(others))]]
    }

    var requests: [JSONValue] {
        let text = (try? String(contentsOfFile: folder + "/requests", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { try? JSONValue(parsing: Array($0.utf8)) }
    }

    var tokenRequests: Int { requests.count { $0["path"] == "/token" } }

    func revoke() throws { try write("", "revoke") }

    func setLifetime(_ seconds: Double) throws { try write("\(seconds)", "lifetime") }

    private func write(_ text: String, _ name: String) throws {
        try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
    }

    static func run<R: Sendable>(_ body: @Sendable @escaping (GoogleStore) async throws -> R) async throws -> R {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-google-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let storePort = try await BucketServer.port
        let script = Checkout.path("Tests/FileStoresTests/Support/google_store.py")
        return try await Program.run(["/usr/bin/python3", script, folder, "\(storePort)"]) {
            let isUp = try await eventually(within: .seconds(30)) {
                FileManager.default.fileExists(atPath: folder + "/port")
            }
            guard isUp else { throw BucketServer.Unavailable(reason: "it did not start") }
            let port = Int(try String(contentsOfFile: folder + "/port", encoding: .utf8)) ?? 0
            return try await body(GoogleStore(folder: folder, port: port))
        }
    }
}
