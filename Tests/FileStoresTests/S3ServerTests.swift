import FileStorage
import FileStores
import Foundation
import JSON
import TestSupport
import Testing

@Suite("Server with files in a bucket")
struct S3ServerTests {
    private static let song = Array("0123456789".utf8)

    @Test(
        "Serves uploads, downloads, ranges, conditional requests, metadata and deletions",
        .enabled(if: BucketServer.isInstalled))
    func life() async throws {
        try await TestServer.run(try await BucketServer.adapter()) { server in
            let stored = try await server.send(
                "POST", "/files/song.txt", bytes: Self.song, as: .master,
                headers: ["Content-Type": "text/plain", "X-Parse-File-Metadata": #"{"Artist":"Größe"}"#])
            #expect(stored.status == 201, "\(stored.text)")
            let (url, name) = (try stored.string("url"), try stored.string("name"))
            let whole = try await server.send("GET", url, as: .nobody)
            #expect(whole.status == 200)
            #expect(whole.bytes == Self.song)
            #expect(whole.headers["content-type"] == "text/plain; charset=utf-8")
            #expect(whole.headers["content-security-policy"] == "sandbox")
            let tag = try #require(whole.headers["etag"])
            let time = try #require(whole.headers["last-modified"])
            for (range, status, text, given) in [
                ("bytes=0-0", 206, "0", "bytes 0-0/10"), ("bytes=5-", 206, "56789", "bytes 5-9/10"),
                ("bytes=-4", 206, "6789", "bytes 6-9/10"), ("bytes=8-99", 206, "89", "bytes 8-9/10"),
                ("bytes=10-", 416, "", "bytes */10"), ("bytes=0-1,4-5", 200, "0123456789", nil),
            ] as [(String, Int, String, String?)] {
                let answer = try await server.send("GET", url, as: .nobody, headers: ["Range": range])
                #expect(answer.status == status, "\(range)")
                #expect(answer.text == text, "\(range)")
                #expect(answer.headers["content-range"] == given, "\(range)")
            }
            for (headers, status) in [
                (["If-None-Match": tag], 304), (["If-None-Match": "\"x\""], 200), (["If-Modified-Since": time], 304),
                (["If-Range": tag, "Range": "bytes=1-2"], 206), (["If-Range": "\"x\"", "Range": "bytes=1-2"], 200),
            ] as [([String: String], Int)] {
                let answer = try await server.send("GET", url, as: .nobody, headers: headers)
                #expect(answer.status == status, "\(headers)")
            }
            let head = try await server.send("HEAD", url, as: .nobody)
            #expect(head.status == 200)
            #expect(head.headers["content-length"] == "10")
            let metadata = try await server.send(
                "GET", "/files/\(TestServer.applicationID)/metadata/\(name)", as: .nobody)
            #expect(metadata["metadata"]?["Artist"] == "Größe")
            #expect(try await server.send("DELETE", "/files/\(name)", as: .master).status == 200)
            let gone = try await server.send("GET", url, as: .nobody)
            #expect(gone.status == 404)
            #expect(gone.text == "File not found.")
            #expect(try await server.send("DELETE", "/files/\(name)", as: .master).status == 200)
        }
    }

    @Test("Stores files encrypted in the bucket and serves them decrypted", .enabled(if: BucketServer.isInstalled))
    func encrypted() async throws {
        var options = try await BucketServer.adapter()
        options["encryptionKey"] = "secret"
        options["preserveFileName"] = true
        try await TestServer.run(options) { [options] server in
            let url = try await server.send("POST", "/files/song.txt", bytes: Self.song, as: .master).string("url")
            #expect(try await server.send("GET", url, as: .nobody, headers: ["Range": "bytes=2-3"]).text == "23")
            let inside = options["filesAdapter"]?["options"]?.objectValue
            let stored = try await BucketServer.withStorage(inside) { try await $0.read("song.txt") }
            #expect(try #require(stored).count == Self.song.count + FileCipher.overhead)
        }
    }

    @Test(
        "Starts and answers 503, never 404, while the store is down, and recovers when it is back",
        .enabled(if: BucketServer.isInstalled))
    func down() async throws {
        let port = try await FreePort.find()
        let options = try await BucketServer.adapter(endpointPort: port)
        try await TestServer.run(options) { server in
            // The probe reports a store as down that has never responded, even before the first file request.
            let isKnown = try await eventually(within: .seconds(60)) {
                try await server.send("GET", "/health/ready", as: .nobody)["checks"]?["fileStore"]?["status"] == "down"
            }
            #expect(isKnown)
            let upload = try await server.send("POST", "/files/a.txt", bytes: Self.song, as: .master)
            #expect(upload.status == 503)
            #expect(upload.code == 130)
            #expect(upload.headers["retry-after"] != nil)
            let download = try await server.send("GET", "/files/\(TestServer.applicationID)/a.txt", as: .nobody)
            #expect(download.status == 503)
            #expect(download.text == "File store unavailable.")
            #expect(download.headers["cache-control"] == "no-store")
            let deletion = try await server.send("DELETE", "/files/a.txt", as: .master)
            #expect(deletion.status == 503)
            #expect(deletion.code == 153)
            // After five consecutive failures, the server sends no further requests and reports the store as degraded.
            let isDegraded = try await eventually(within: .seconds(60)) {
                let ready = try await server.send("GET", "/health/ready", as: .nobody)
                _ = try await server.send("POST", "/files/a.txt", bytes: Self.song, as: .master)
                return ready["status"] == "degraded" && ready["checks"]?["fileStore"]?["status"] == "down"
            }
            #expect(isDegraded)
            let before = ContinuousClock.now
            let refused = try await server.send("POST", "/files/a.txt", bytes: Self.song, as: .master)
            #expect(refused.status == 503)
            #expect(ContinuousClock.now - before < .seconds(20))
            let behaviour: StoreStandIn.Behaviour = { _, _ in .reply(200, headers: [("ETag", "\"a\"")]) }
            try await StoreStandIn.run(port: port, behaviour) { _ in
                // Recovery doesn't depend on client requests.
                let isReady = try await eventually(within: .seconds(60)) {
                    try await server.send("GET", "/health/ready", as: .nobody)["status"] == "ready"
                }
                #expect(isReady)
                let isBack = try await eventually(within: .seconds(60)) {
                    try await server.send("POST", "/files/a.txt", bytes: Self.song, as: .master).status == 201
                }
                #expect(isBack)
            }
        }
    }

    @Test("Uploads that exceed the transfer memory wait and all succeed", .enabled(if: BucketServer.isInstalled))
    func many() async throws {
        var options = try await BucketServer.adapter()
        options["transferMemory"] = "24mb"
        try await TestServer.run(options) { server in
            let size = 9 * 1024 * 1024
            let names = try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<12 {
                    group.addTask {
                        let bytes = [UInt8](repeating: UInt8(number), count: size)
                        let stored = try await server.send("POST", "/files/\(number).bin", bytes: bytes, as: .master)
                        #expect(stored.status == 201, "\(stored.text)")
                        return try stored.string("url")
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for url in names {
                let bytes = try await server.send("GET", url, as: .nobody).bytes
                #expect(bytes.count == size)
                #expect(bytes.allSatisfy { $0 == bytes[0] })
            }
        }
    }

    private static func transferMemory(_ port: Int) async throws -> Double? {
        try await TestServer.metrics(at: port)["roost_transfer_memory_bytes"]
    }

    @Test("A network that exhausts its share of the transfer memory doesn't block uploads from another")
    func networks() async throws {
        let behaviour = S3FaultTests.store { call, _ in call.method == "PUT" && call.has("slow") ? .silence : nil }
        let size = 9 * 1024 * 1024
        try await StoreStandIn.run(behaviour) { store in
            var options = try await BucketServer.adapter(endpointPort: store.port)
            let port = try await FreePort.find()
            options["transferMemory"] = "64mb"
            options["trustProxy"] = "loopback"
            options["masterKeyIps"] = ["0.0.0.0/0"]
            options["preserveFileName"] = true
            options["metrics"] = ["port": .number(Double(port))]
            try await TestServer.run(options) { server in
                let ended = Lines()
                let flood = Task {
                    await withTaskGroup(of: Void.self) { group in
                        for number in 0..<12 {
                            group.addTask {
                                _ = try? await server.send(
                                    "POST", "/files/slow\(number).bin", bytes: [UInt8](repeating: 1, count: size),
                                    as: .master, headers: ["X-Forwarded-For": "192.0.2.1"])
                                ended.append("\(number)")
                            }
                        }
                    }
                }
                // Three quarters of the memory of uploads: four of nine megabytes.
                let isFull = try await eventually {
                    try await Self.transferMemory(port) ?? 0 >= Double(4 * size)
                        && store.calls.count { $0.has("slow") && $0.method == "PUT" } == 4
                }
                #expect(isFull)
                let answer = try await server.send(
                    "POST", "/files/other.bin", bytes: [UInt8](repeating: 2, count: size), as: .master,
                    headers: ["X-Forwarded-For": "198.51.100.1"])
                #expect(answer.status == 201, "\(answer.text)")
                #expect(ended.all.isEmpty)
                flood.cancel()
                await flood.value
            }
        }
    }

    private static func begin(
        _ connection: TransportClient.Connection, _ name: String, length: Int?, _ bytes: [UInt8] = []
    ) async throws {
        let field = length.map { "Content-Length: \($0)" } ?? "Transfer-Encoding: chunked"
        try await connection.send(
            "POST /parse/files/\(name) HTTP/1.1\r\nHost: x\r\nX-Parse-Application-Id: \(TestServer.applicationID)\r\n"
                + "X-Parse-Master-Key: \(TestServer.masterKey)\r\nX-Parse-Upload-Mode: stream\r\n\(field)\r\n\r\n")
        try await connection.send(bytes)
    }

    private static func client(of server: TestServer) -> TransportClient {
        TransportClient(port: URL(string: server.url)?.port ?? 0)
    }

    @Test("A slow upload sends nothing to the store before a part is complete")
    func slowClients() async throws {
        let size = 1024 * 1024
        try await StoreStandIn.run(S3FaultTests.store()) { store in
            var options = try await BucketServer.adapter(endpointPort: store.port)
            let port = try await FreePort.find()
            options["metrics"] = ["port": .number(Double(port))]
            try await TestServer.run(options) { server in
                let (waits, goOn) = AsyncStream.makeStream(of: Void.self)
                let begun = Task { for await _ in waits {} }
                try await withThrowingTaskGroup(of: Int?.self) { group in
                    for number in 0..<20 {
                        group.addTask {
                            try await Self.client(of: server).connect { connection in
                                let bytes = [UInt8](repeating: 1, count: size)
                                try await Self.begin(
                                    connection, "\(number).bin", length: size, Array(bytes[..<100_000]))
                                await begun.value
                                try await connection.send(Array(bytes[100_000...]))
                                return try await connection.receive()?.status
                            }
                        }
                    }
                    // Everything that the clients sent has been read.
                    let isHeld = try await eventually { try await Self.transferMemory(port) == Double(20 * size) }
                    #expect(isHeld)
                    #expect(!store.calls.contains { $0.method == "PUT" || $0.method == "POST" })
                    goOn.finish()
                    for try await status in group { #expect(status == 201) }
                }
                #expect(store.calls.count { $0.method == "PUT" } == 20)
            }
        }
    }

    @Test(
        "Forwards an upload of unknown length in parts and aborts it if it exceeds maxUploadSize",
        arguments: [(50, 201), (70, 400)])
    func unknownLength(megabytes: Int, status: Int) async throws {
        try await StoreStandIn.run(S3FaultTests.store()) { store in
            var options = try await BucketServer.adapter(endpointPort: store.port)
            let port = try await FreePort.find()
            options["metrics"] = ["port": .number(Double(port))]
            options["maxUploadSize"] = "60mb"
            try await TestServer.run(options) { server in
                let answer = try await Self.client(of: server).connect { connection in
                    try await Self.begin(connection, "a.bin", length: nil)
                    let chunk =
                        Array("100000\r\n".utf8) + [UInt8](repeating: 7, count: 1024 * 1024) + Array("\r\n".utf8)
                    for number in 0..<megabytes {
                        // After a rejection, the server reads the rest only for a short time.
                        guard (try? await connection.send(chunk)) != nil else { break }
                        guard number % 10 == 9 else { continue }
                        let held = try await Self.transferMemory(port)
                        // In addition to the part that waits for the store.
                        #expect(held ?? .infinity <= Double(2 * S3Upload.partSize + 256 * 1024))
                    }
                    try? await connection.send("0\r\n\r\n")
                    return try await connection.receive()
                }
                #expect(answer?.status == status, "\(answer?.text ?? "none")")
                if status == 400 {
                    #expect(answer?.json["code"] == 130)
                    let isGivenUp = try await eventually { store.calls.contains { $0.method == "DELETE" } }
                    #expect(isGivenUp)
                    #expect(!store.calls.contains { $0.method == "POST" && $0.has("uploadId") })
                } else {
                    let parts = store.calls.filter { $0.has("partNumber") }.map(\.body.count)
                    #expect(parts.dropLast().allSatisfy { $0 == S3Upload.partSize })
                    #expect(parts.reduce(0, +) == megabytes * 1024 * 1024)
                }
            }
        }
    }
}
