#if os(Linux)
    import Foundation
    import JSON
    import TestSupport
    import Testing

    /// Files in the database. The server runs in a separate process.
    @Suite("Files stored in the database", .serialized, .timeLimit(.minutes(10)))
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

        private static func block(_ number: Int) -> [UInt8] {
            [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: megabyte)
        }

        private static func begin(_ connection: TransportClient.Connection, _ name: String, megabytes: Int) async throws
        {
            try await connection.send(
                "POST /parse/files/\(name) HTTP/1.1\r\nHost: x\r\nX-Parse-Application-Id: \(TestServer.applicationID)\r\n"
                    + "X-Parse-Master-Key: \(TestServer.masterKey)\r\nContent-Type: application/octet-stream\r\n"
                    + "Content-Length: \(megabytes * megabyte)\r\n\r\n")
        }

        @Test("Streams 200 MB each way with little memory; a reader keeps its version during an overwrite")
        func large() async throws {
            try await Self.run { processes, client, _ in
                let server = processes[0]
                _ = try await server.create("Song", ["title": "a"])
                // One-time allocations don't count.
                let small = try await server.send("POST", "/files/b.bin", bytes: Self.block(1), as: .master)
                #expect(small.status == 201, "\(small.text)")
                _ = try await server.send("GET", "/files/\(TestServer.applicationID)/b.bin", as: .nobody)
                let cost = ServerCost(of: server, process: processes.identifiers[0])
                cost.forgetPeak()
                let before = cost.memory
                let stored = try await client.connect { connection in
                    try await Self.begin(connection, "a.bin", megabytes: 200)
                    for number in 0..<200 { try await connection.send(Self.block(number)) }
                    return try await connection.receive()
                }
                #expect(stored?.status == 201, "\(stored?.text ?? "none")")
                let part = try await server.send(
                    "GET", Self.file, as: .nobody, headers: ["Range": "bytes=\(Self.megabyte - 2)-\(Self.megabyte + 1)"]
                )
                #expect(part.status == 206 && part.bytes == [0, 0, 1, 1])
                try await client.connect { connection in
                    try await connection.send("GET /parse\(Self.file) HTTP/1.1\r\nHost: x\r\n\r\n")
                    let head = try await connection.receive(toHead: true)
                    #expect(head?.header("Content-Length") == "\(200 * Self.megabyte)")
                    for number in 0..<200 {
                        if number == 20 {
                            let new = try await server.send("POST", "/files/a.bin", bytes: [9], as: .master)
                            #expect(new.status == 201)
                            let found = try await server.find("Song")
                            #expect(found.json["results"]?.arrayValue?.count == 1)
                        }
                        let isSame = try await connection.receive(bytes: Self.megabyte) == Self.block(number)
                        #expect(isSame, "\(number)")
                    }
                }
                print("files in the database: memory grew by \((cost.peak - before) / Self.megabyte) MB at most")
                #expect(cost.peak - before <= 16 * Self.megabyte)
                #expect(try await server.send("GET", Self.file, as: .nobody).bytes == [9])
            }
        }

        @Test("Counts rows read ahead for stalled clients as transfer memory, and serves other requests")
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
                    // Files use at most two connections, so other requests don't wait.
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

        @Test("An upload interrupted by a kill is invisible, and is deleted only after an hour")
        func killed() async throws {
            try await Self.run { processes, client, _ in
                let server = processes[0]
                func count(_ table: String) async throws -> Int {
                    Int(try await server.texts("SELECT count(*)::text FROM \"\(table)\"").first ?? "") ?? -1
                }
                for name in ["old.bin", "young.bin"] {
                    let rows = try await count("_roost_file_chunk")
                    try await client.connect { connection in
                        try await Self.begin(connection, name, megabytes: 8)
                        for number in 0..<4 { try await connection.send(Self.block(number)) }
                        let isBegun = try await eventually { try await count("_roost_file_chunk") >= rows + 12 }
                        #expect(isBegun)
                        try await processes.killAndStart(0)
                    }
                    let isBack = try await eventually(within: .seconds(60)) {
                        (try? await server.send("GET", "/health", as: .nobody))?.status == 200
                    }
                    #expect(isBack)
                    let path = "/files/\(TestServer.applicationID)/\(name)"
                    #expect(try await server.send("GET", path, as: .nobody).status == 404)
                    guard name == "old.bin" else { continue }
                    #expect(try await count("_roost_file") == 1)
                    try await server.execute(
                        "UPDATE \"_roost_file\" SET \"modified\" = \"modified\" - interval '61 minutes'")
                    // The next start deletes it.
                }
                let isRemoved = try await eventually(within: .seconds(60)) {
                    try await server.texts("SELECT \"name\" FROM \"_roost_file\"").allSatisfy {
                        $0.hasSuffix("young.bin")
                    }
                }
                #expect(isRemoved)
                let left = try await server.texts(
                    "SELECT DISTINCT f.\"name\" FROM \"_roost_file_chunk\" JOIN \"_roost_file\" f ON f.\"id\" = \"file\""
                )
                #expect(left == ["young.bin"])
                let orphans = try await server.texts(
                    """
                    SELECT "file"::text FROM "_roost_file_chunk"
                    WHERE NOT EXISTS (SELECT FROM "_roost_file" f WHERE f."id" = "file")
                    """)
                #expect(orphans.isEmpty)
            }
        }
    }
#endif
