import FileStores
import Foundation
import JSON
import NIOCore
import NIOPosix
import TestSupport
import TestTools
import Testing

/// A process that is killed while a file goes to the store, and what the operator sees of it.
@Suite("Uploads of a killed process", .enabled(if: BucketServer.isInstalled))
struct KilledUploadTests {
    /// Begins an upload of 64 MB and sends 20 MB of it.
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

    private static func sweep(_ arguments: [String], _ configuration: String) async throws -> Program.Outcome {
        let roost = try #require(Checkout.program())
        return try await Program.run([roost, "files", "sweep", "--json"] + arguments + [configuration])
    }

    @Test("What it leaves is listed by roost files sweep, given up with --delete, and no file shows it")
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
                // When the closure ends, the process is killed.
                try await Program.run([roost, "serve", path]) {
                    let client = TestServer(url: "http://127.0.0.1:\(port)/parse", databaseURI: "")
                    let isUp = try await eventually(within: .seconds(60)) {
                        (try? await client.send("GET", "/health", as: .nobody).status) == 200
                    }
                    #expect(isUp)
                    let upload = try await Self.beginUpload(at: port)
                    let isBegun = try await eventually(within: .seconds(60)) {
                        try await storage.unfinishedUploads(before: Int.max, givesUp: false).count == 1
                    }
                    #expect(isBegun)
                    _ = upload
                }
                let names = try await storage.names()
                #expect(names.isEmpty)
                // One that is just going on elsewhere is left alone.
                let young = try await Self.sweep([], path)
                #expect(young.status == 0, "\(young.output)")
                #expect(young.output.contains(#""unfinished":0"#), "\(young.output)")
                let isOld = try await eventually {
                    try await Self.sweep(["--older", "0"], path).output.contains("_long.bin")
                }
                #expect(isOld)
                let left = try await storage.unfinishedUploads(before: Int.max, givesUp: false)
                #expect(left.count == 1)
                let swept = try await Self.sweep(["--older", "0", "--delete"], path)
                #expect(swept.status == 0 && swept.output.contains(#""unfinished":1"#), "\(swept.output)")
                let after = try await storage.unfinishedUploads(before: Int.max, givesUp: false)
                #expect(after.isEmpty)
            }
        }
    }

    @Test("On the command line a sweep lists what no object mentions, and removes it when it is told to")
    func command() async throws {
        let adapter = try await BucketServer.adapter(["bucketPrefix": .string("\(UUID().uuidString)/")])
        var options: JSONObject = ["preserveFileName": true]
        options.merge(adapter) { $1 }
        let path = FileManager.default.temporaryDirectory.path + "/roost-sweep-\(UUID().uuidString).json"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await TestServer.run(options) { server in
            for name in ["kept.txt", "orphan.txt"] {
                _ = try await server.send("POST", "/files/\(name)", bytes: [1], as: .master)
            }
            _ = try await server.create("Song", ["cover": ["__type": "File", "name": "kept.txt"]])
            var file: JSONObject = ["appId": "a", "masterKey": "m", "databaseURI": .string(server.databaseURI)]
            file.merge(adapter) { $1 }
            try Data(file.serialized()).write(to: URL(fileURLWithPath: path))
            let young = try await Self.sweep([], path)
            #expect(young.status == 0 && young.output.contains(#""orphans":0"#), "\(young.output)")
            let isFound = try await eventually {
                try await Self.sweep(["--older", "0"], path).output.contains(#""orphans":1"#)
            }
            #expect(isFound)
            let swept = try await Self.sweep(["--older", "0", "--delete"], path)
            #expect(swept.status == 0, "\(swept.output)")
            #expect(swept.output.contains(#""file":"orphan.txt""#) && swept.output.contains(#""deleted":1"#))
            let names = try await BucketServer.withStorage(adapter["filesAdapter"]?["options"]?.objectValue) {
                try await $0.names()
            }
            #expect(names == ["kept.txt"])
        }
    }
}
