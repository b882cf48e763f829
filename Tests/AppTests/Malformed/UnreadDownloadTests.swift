#if os(Linux)
    import Foundation
    import JSON
    import TestSupport
    import Testing

    /// The memory usage of file transfers. The server runs in a separate process.
    @Suite("Memory of downloads and uploads", .serialized, .timeLimit(.minutes(10)))
    struct UnreadDownloadTests {
        private static let megabyte = 1_048_576

        private struct Cost: Sendable {
            /// The transfer memory in bytes that the server reports.
            var held = 0.0
            /// The growth of the process's memory in bytes.
            var growth = 0
        }

        /// Sends bytes on many connections and reads nothing, until the server reports the expected transfer memory.
        /// Then closes the connections, one every few milliseconds.
        private static func send(
            _ bytes: [UInt8], on count: Int, to server: TestServer, metrics: Int, until expected: Double,
            _ cost: ServerCost
        ) async throws -> Cost {
            let port = try #require(URL(string: server.url)?.port)
            return await withCheckedContinuation { continuation in
                Thread {
                    let before = cost.memory
                    let sockets = (0..<count).map { _ in
                        MalformedSocket(port: port, timeLimit: .seconds(30), receiveBuffer: 4096)
                    }
                    for socket in sockets { try? socket.send(bytes) }
                    let reader = MalformedSocket(port: metrics)
                    var result = Cost()
                    for _ in 0..<300 where result.held < expected {
                        usleep(200_000)
                        let page = try? reader.exchange(
                            Array("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".utf8), isHead: false)
                        let samples = MetricSamples(String(decoding: page?.body ?? [], as: UTF8.self))
                        result.held = samples["roost_transfer_memory_bytes"] ?? 0
                    }
                    result.growth = cost.memory - before
                    continuation.resume(returning: result)
                    for socket in sockets {
                        socket.disconnect()
                        usleep(6_000)
                    }
                }.start()
            }
        }

        @Test("Hundreds of unread downloads take little memory each, which is reported as transfer memory")
        func unread() async throws {
            let metrics = try await FreePort.find()
            let options: JSONObject = [
                "metrics": ["port": .number(Double(metrics))], "preserveFileName": true, "maxUploadSize": "40mb",
            ]
            try await ServerProcesses.run(1, options) { processes in
                let server = processes.servers[0]
                let bytes = [UInt8](repeating: 7, count: 19 * Self.megabyte)
                #expect(try await server.send("POST", "/files/a.bin", bytes: bytes, as: .master).status == 201)
                let path = "/parse/files/\(TestServer.applicationID)/a.bin"
                _ = try await server.send("GET", "/files/\(TestServer.applicationID)/a.bin", as: .nobody)
                let cost = ServerCost(of: server, process: processes.identifiers[0])
                let count = 300
                let unread = try await Self.send(
                    Array("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n".utf8), on: count, to: server, metrics: metrics,
                    until: Double(count * 60_000), cost)
                print(
                    "unread downloads: memory grew by \(unread.growth / Self.megabyte) MB, \(unread.held) bytes are held"
                )
                #expect(unread.held >= Double(count * 60_000))
                #expect(unread.held <= Double(count * 70_000))
                #expect(unread.growth <= 44 * Self.megabyte)
                let isGone = try await eventually(within: .seconds(60)) {
                    try await TestServer.metrics(at: metrics)["roost_transfer_memory_bytes"] == 0
                }
                #expect(isGone)
            }
        }

        @Test("Memory of hundreds of small bodies returns to the system after their connections close")
        func smallBodies() async throws {
            let metrics = try await FreePort.find()
            try await ServerProcesses.run(1, ["metrics": ["port": .number(Double(metrics))]]) { processes in
                let server = processes.servers[0]
                let cost = ServerCost(of: server, process: processes.identifiers[0])
                let (count, size) = (500, 64 * 1024)
                // One byte is missing, so the bodies stay in memory.
                let head = """
                    POST /parse/classes/Item HTTP/1.1\r
                    Host: x\r
                    X-Parse-Application-Id: \(TestServer.applicationID)\r
                    X-Parse-Master-Key: \(TestServer.masterKey)\r
                    Content-Length: \(size + 1)\r
                    \r

                    """
                let before = cost.memory
                let held = try await Self.send(
                    Array(head.utf8) + [UInt8](repeating: 0x20, count: size), on: count, to: server, metrics: metrics,
                    until: Double(count * size), cost)
                print("small bodies: memory grew by \(held.growth / Self.megabyte) MB")
                #expect(held.held >= Double(count * size))
                #expect(held.growth >= count * size / 4 * 3)
                let isReturned = try await eventually(within: .seconds(60)) {
                    cost.memory - before <= 12 * Self.megabyte
                }
                #expect(isReturned, "\((cost.memory - before) / Self.megabyte) MB are left")
            }
        }

        @Test("Uploads and downloads a large file encrypted in segments without holding it in memory")
        func segments() async throws {
            let options: JSONObject = [
                "encryptionKey": "a key", "encryptionFormat": "segments", "preserveFileName": true,
                "maxUploadSize": "100mb",
            ]
            try await ServerProcesses.run(1, options) { processes in
                let server = processes.servers[0]
                let cost = ServerCost(of: server, process: processes.identifiers[0])
                // One-time allocations don't count.
                #expect(try await server.send("POST", "/files/b.bin", bytes: [1], as: .master).status == 201)
                cost.forgetPeak()
                let before = cost.memory
                var bytes = [UInt8](repeating: 7, count: 63 * Self.megabyte)
                bytes[50_000_000] = 9
                #expect(try await server.send("POST", "/files/a.bin", bytes: bytes, as: .master).status == 201)
                let path = "/files/\(TestServer.applicationID)/a.bin"
                let whole = try await server.send("GET", path, as: .nobody)
                #expect(whole.bytes == bytes)
                let part = try await server.send(
                    "GET", path, as: .nobody, headers: ["Range": "bytes=49999999-50000001"])
                #expect(part.status == 206 && part.bytes == [7, 9, 7])
                print("segments: memory grew by \((cost.peak - before) / Self.megabyte) MB at most")
                #expect(cost.peak - before <= 24 * Self.megabyte)
            }
        }
    }
#endif
