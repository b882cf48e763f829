import FileStores
import Foundation
import JSON
import TestSupport
import TestTools
import Testing

@Suite("Commands with files in a bucket", .enabled(if: BucketServer.isInstalled))
struct BucketCommandTests {
    private static func configuration(
        _ server: TestServer, _ adapter: JSONObject, in folder: String, _ name: String
    ) throws -> String {
        var options: JSONObject = ["appId": "a", "masterKey": "m", "databaseURI": .string(server.databaseURI)]
        options["dataDir"] = .string("\(folder)/\(name)-data")
        options.merge(adapter) { $1 }
        let path = "\(folder)/\(name).json"
        try Data(options.serialized()).write(to: URL(fileURLWithPath: path))
        return path
    }

    @Test("Exports files from one bucket, imports them into another, and doctor reports their size")
    func exportAndImport() async throws {
        let roost = try #require(Checkout.program())
        let folder = FileManager.default.temporaryDirectory.path + "/roost-bucket-commands-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (source, target) = (try await BucketServer.adapter(), try await BucketServer.adapter())
        var options: JSONObject = ["preserveFileName": true]
        options.merge(source) { $1 }
        let bytes = [UInt8](repeating: 7, count: 9_000_000)
        try await TestServer.run(options) { server in
            let stored = try await server.send(
                "POST", "/files/long.bin", bytes: bytes, as: .master,
                headers: ["X-Parse-File-Metadata": #"{"artist":"a"}"#])
            #expect(stored.status == 201)
            _ = try await server.create("Song", ["cover": ["__type": "File", "name": "long.bin"]])
            let path = try Self.configuration(server, source, in: folder, "source")
            let exported = try await Program.run([roost, "export", folder + "/out", path])
            #expect(exported.status == 0, "\(exported.output)")
        }
        let size = try FileManager.default.attributesOfItem(atPath: folder + "/out/files/long.bin")[.size] as? Int
        #expect(size == bytes.count)
        try await TestServer.run(target) { server in
            let path = try Self.configuration(server, target, in: folder, "target")
            let imported = try await Program.run([roost, "import", folder + "/out", path])
            #expect(imported.status == 0, "\(imported.output)")
            try await BucketServer.withStorage(target["filesAdapter"]?["options"]?.objectValue) { storage in
                let copy = try await storage.read("long.bin")
                #expect(copy == bytes)
                let details = try await storage.details(name: "long.bin")
                #expect(details.metadata["artist"] == "a")
            }
            let counted = try await Program.run([roost, "doctor", "--files", "--json", path])
            #expect(counted.output.contains(#""bytes":9000000,"#), "\(counted.output)")
            #expect(counted.output.contains(#""name":"s3 files""#), "\(counted.output)")
        }
    }
}
