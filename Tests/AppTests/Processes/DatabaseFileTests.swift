#if os(Linux)
    import Foundation
    import JSON
    import TestSupport
    import Testing

    /// Files in the database of a server that is a process of its own.
    @Suite("Files in the database of a process", .serialized, .timeLimit(.minutes(10)))
    struct DatabaseFileTests {
        private static let megabyte = 1_048_576
        private static let file = "/files/\(TestServer.applicationID)/a.bin"

        private static func run(
            _ body: @Sendable (ServerProcesses, TransportClient, _ metrics: Int) async throws -> Void
        ) async throws {
            let metrics = try await FreePort.find()
            let options: JSONObject = [
                "metrics": ["port": .number(Double(metrics))], "preserveFileName": true, "maxUploadSize": "300mb",
                "filesAdapter": "postgres",
            ]
            try await ServerProcesses.run(1, options) { processes in
                let port = try #require(URL(string: processes[0].url)?.port)
                try await body(processes, TransportClient(port: port), metrics)
            }
        }

        @Test("Rows that are read ahead for clients that read nothing count as memory of transfers")
        func ahead() async throws {
            try await Self.run { processes, client, metrics in
                let bytes = [UInt8](repeating: 7, count: 16 * Self.megabyte)
                #expect(try await processes[0].send("POST", "/files/a.bin", bytes: bytes, as: .master).status == 201)
                let latch = Latch()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<10 {
                        group.addTask {
                            try await client.connect { connection in
                                try await connection.send("GET /parse\(Self.file) HTTP/1.1\r\nHost: x\r\n\r\n")
                                _ = try await connection.receive(toHead: true)
                                await latch.wait()
                            }
                        }
                    }
                    let counts = try await eventually {
                        try await TestServer.metrics(at: metrics)["roost_transfer_memory_bytes"] == 10 * 2 * 262_144
                    }
                    #expect(counts)
                    // Two connections are all that files have: others are not kept waiting.
                    #expect(try await processes[0].send("GET", "/classes/Song").status == 200)
                    let one = try await processes[0].send(
                        "GET", Self.file, as: .nobody, headers: ["Range": "bytes=0-0"])
                    #expect(one.bytes == [7])
                    latch.open()
                    try await group.waitForAll()
                }
                let isFree = try await eventually(within: .seconds(60)) {
                    try await TestServer.metrics(at: metrics)["roost_transfer_memory_bytes"] == 0
                }
                #expect(isFree)
            }
        }
    }
#endif
