import FileStorage
import FileStores
import Foundation
import JSON
import TestSupport
import TestTools
import Testing

/// Clients that download large files slowly. The server runs in a separate process.
@Suite("Slow downloads from a bucket", .enabled(if: BucketServer.isInstalled))
struct S3SlowReaderTests {
    private static let megabyte = 1024.0 * 1024
    private static let clients = 8

    @Test("A slow download uses at most 4 MB and releases memory and connections when it ends")
    func leave() async throws {
        let roost = try #require(Checkout.program())
        let adapter = try await BucketServer.adapter(["bucketPrefix": .string("\(UUID().uuidString)/")])
        try await BucketServer.withStorage(adapter["filesAdapter"]?["options"]?.objectValue) { storage in
            try await storage.write(name: "long.bin", details: FileDetails(), contents: Blocks(count: 96))
            try await storage.write(name: "short.bin", details: FileDetails(), contents: Blocks(count: 1))
        }
        let folder = FileManager.default.temporaryDirectory.path + "/roost-slow-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (port, metrics) = (try await FreePort.find(), try await FreePort.find())
        try await TestServer.withDatabase { uri in
            var options: JSONObject = [
                "appId": .string(TestServer.applicationID), "masterKey": "m", "databaseURI": .string(uri),
                "dataDir": .string(folder), "host": "127.0.0.1", "port": .number(Double(port)),
                "metrics": ["port": .number(Double(metrics))],
            ]
            options.merge(adapter) { $1 }
            let path = folder + "/config.json"
            try Data(options.serialized()).write(to: URL(fileURLWithPath: path))
            try await Program.run([roost, "serve", path]) {
                let server = TestServer(url: "http://127.0.0.1:\(port)/parse", databaseURI: "")
                let isUp = try await eventually(within: .seconds(60)) {
                    (try? await server.send("GET", "/health", as: .nobody).status) == 200
                }
                try #require(isUp)
                // One-time allocations don't count.
                for _ in 0..<Self.clients { _ = try await server.send("GET", Self.path("short.bin"), as: .nobody) }
                try await Self.read(port: port, metrics: metrics)
            }
        }
    }

    private static func path(_ name: String) -> String { "/files/\(TestServer.applicationID)/\(name)" }

    private static func read(port: Int, metrics: Int) async throws {
        let before = try await TestServer.metrics(at: metrics)
        let latch = Latch()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<clients {
                group.addTask {
                    try await TransportClient(port: port).connect { connection in
                        try await connection.send("GET /parse\(path("long.bin")) HTTP/1.1\r\nHost: x\r\n\r\n")
                        let answer = try await connection.receive(toHead: true)
                        #expect(answer?.status == 200)
                        #expect(try await connection.receive(bytes: Int(megabyte)).count == Int(megabyte))
                        await latch.wait()
                    }
                }
            }
            var (most, held, calm) = (0.0, 0.0, 0)
            // Once the memory is stable, the server has read ahead as far as it will.
            let stands = try await eventually(within: .seconds(60)) {
                let samples = try await TestServer.metrics(at: metrics)
                let memory = samples["process_resident_memory_bytes"] ?? .infinity
                calm = memory > most ? 0 : calm + 1
                most = max(most, memory)
                held = samples["roost_transfer_memory_bytes"] ?? 0
                return held >= Double(clients) * 60_000 && calm >= 50
            }
            #expect(stands)
            let growth = (most - (before["process_resident_memory_bytes"] ?? 0)) / megabyte
            print("slow readers: memory grew by \(growth) MB, \(held) bytes are held")
            #expect(growth <= 4 * Double(clients))
            #expect(held <= Double(clients) * 512 * 1024)
            latch.open()
            try await group.waitForAll()
        }
        let open = "process_open_fds"
        let isGone = try await eventually(within: .seconds(60)) {
            let samples = try await TestServer.metrics(at: metrics)
            return samples["roost_transfer_memory_bytes"] == 0 && samples[open] ?? .infinity <= (before[open] ?? 0) + 2
        }
        #expect(isGone)
    }
}
