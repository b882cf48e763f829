import FileStores
import Foundation
import JSON
import NIOCore
import NIOPosix
import TestSupport
import TestTools
import Testing

/// Leftovers of a process that was killed during an upload.
@Suite("Uploads of a killed process", .enabled(if: BucketServer.isInstalled))
struct KilledUploadTests {
    /// Sends the first 20 MB of a 64 MB upload.
    private static func beginUpload(at port: Int) async throws -> any Channel {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: "127.0.0.1", port: port).get()
        var head = ByteBuffer(
            string: "POST /parse/files/long.bin HTTP/1.1\r\nHost: a\r\nX-Parse-Application-Id: a\r\n"
                + "X-Parse-Master-Key: m\r\nContent-Type: application/octet-stream\r\nContent-Length: 67108864\r\n\r\n")
        head.writeRepeatingByte(7, count: 20 * 1024 * 1024)
        try await channel.writeAndFlush(head)
        return channel
    }

    @Test("An upload of a killed process leaves no file and is aborted only when old enough")
    func killed() async throws {
        let roost = try #require(Checkout.program())
        let folder = FileManager.default.temporaryDirectory.path + "/roost-killed-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let adapter = try await BucketServer.adapter()
        let port = try await FreePort.find()
        try await TestServer.run { server in
            var options: JSONObject = [
                "appId": "a", "masterKey": "m", "databaseURI": .string(server.databaseURI), "dataDir": .string(folder),
                "host": "127.0.0.1", "port": .number(Double(port)), "maxUploadSize": "100mb",
            ]
            options.merge(adapter) { $1 }
            let path = folder + "/config.json"
            try Data(options.serialized()).write(to: URL(fileURLWithPath: path))
            let inside = adapter["filesAdapter"]?["options"]?.objectValue
            try await BucketServer.withStorage(inside) { storage in
                // At the end of the closure, the process is killed.
                try await Program.run([roost, "serve", path]) {
                    let client = TestServer(url: "http://127.0.0.1:\(port)/parse", databaseURI: "")
                    let isUp = try await eventually(within: .seconds(60)) {
                        (try? await client.send("GET", "/health", as: .nobody).status) == 200
                    }
                    #expect(isUp)
                    let upload = try await Self.beginUpload(at: port)
                    let isBegun = try await eventually(within: .seconds(60)) {
                        try await storage.openUploads() == 1
                    }
                    #expect(isBegun)
                    _ = upload
                }
                let names = try await storage.names()
                #expect(names.isEmpty)
                // Recent uploads, which may still be in progress elsewhere, are left alone.
                try await storage.abortUploads(before: Int(Date().timeIntervalSince1970) - 24 * 3600)
                let young = try await storage.openUploads()
                #expect(young == 1)
                try await storage.abortUploads(before: Int.max)
                let after = try await storage.openUploads()
                #expect(after == 0)
            }
        }
    }
}
