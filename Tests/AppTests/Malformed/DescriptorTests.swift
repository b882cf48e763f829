#if os(Linux)
    import Foundation
    import JSON
    import TestSupport
    import Testing

    @Suite("File descriptors of a process")
    struct DescriptorTests {
        /// Starts the server with limits on file descriptors.
        private static func launcher(_ soft: Int, _ hard: Int) -> [String] {
            ["/bin/sh", "-c", "ulimit -S -n \(soft) && ulimit -H -n \(hard) && exec \"$@\"", "sh"]
        }

        private static func occupy(_ count: Int, of server: TestServer) throws -> [MalformedSocket] {
            let port = try #require(URL(string: server.url)?.port)
            return try (0..<count).map { _ in
                let socket = MalformedSocket(port: port)
                try socket.send([])
                return socket
            }
        }

        /// Sends a request on a new connection, because used ones may have been closed. Retries, because the server may
        /// close a connection among many waiting ones before it reads a request.
        private static func expectServed(
            _ server: TestServer, _ line: String, _ body: String, _ status: Int, attempts: Int = 5
        ) throws {
            do {
                try expectAnswer(server, line, body, status)
            } catch MalformedSocket.Failure.connectionEnded where attempts > 1 {
                try expectServed(server, line, body, status, attempts: attempts - 1)
            }
        }

        private static func expectAnswer(_ server: TestServer, _ line: String, _ body: String, _ status: Int) throws {
            let socket = MalformedSocket(port: try #require(URL(string: server.url)?.port))
            let fields = [
                "Host: x", "X-Parse-Application-Id: \(TestServer.applicationID)",
                "X-Parse-REST-API-Key: \(TestServer.restKey)", "Content-Length: \(body.utf8.count)",
            ]
            let text = "\(line) HTTP/1.1\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n" + body
            let answer = try socket.exchange(Array(text.utf8), isHead: false)
            #expect(answer.status == status, "\(String(decoding: answer.body, as: UTF8.self))")
        }

        private static func limit(of process: pid_t) throws -> String {
            let limits = try String(contentsOfFile: "/proc/\(process)/limits", encoding: .utf8)
            let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max open files") })
            return String(line.split(separator: " ")[3])
        }

        /// The CPU time of a process in hundredths of a second.
        private static func ticks(of process: pid_t) throws -> Int {
            let text = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
            let fields = try #require(text.split(separator: ")").last).split(separator: " ")
            return (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0)
        }

        @Test("Raises the soft limit to the hard limit")
        func raised() async throws {
            try await ServerProcesses.run(1, launcher: Self.launcher(256, 2048)) { processes in
                let limit = try Self.limit(of: processes.identifiers[0])
                #expect(limit == "2048")
            }
        }

        @Test("More idle connections than descriptors neither lock out clients nor keep the CPU busy")
        func exhausted() async throws {
            try await ServerProcesses.run(1, launcher: Self.launcher(256, 256)) { processes in
                let process = processes.identifiers[0]
                let sockets = try Self.occupy(500, of: processes[0])
                for _ in 0..<5 {
                    try Self.expectServed(processes[0], "POST /parse/classes/Song", "{\"title\":\"a\"}", 201)
                }
                let before = try Self.ticks(of: process)
                try await Task.sleep(for: .milliseconds(500))
                let after = try Self.ticks(of: process)
                // A busy loop would take 50.
                #expect(after - before < 25)
                #expect(kill(process, 0) == 0)
                #expect(sockets.count == 500)
            }
        }

        @Test("Still serves requests if descriptors run out before the connection limit is reached")
        func wanting() async throws {
            // The system allows fewer descriptors than connections, so the connection limit doesn't help.
            try await ServerProcesses.run(
                1, ["maximumConnections": 16], launcher: Self.launcher(64, 64)
            ) { processes in
                let sockets = try Self.occupy(100, of: processes[0])
                for _ in 0..<3 { try Self.expectServed(processes[0], "GET /parse/health", "", 200) }
                #expect(sockets.count == 100)
                #expect(kill(processes.identifiers[0], 0) == 0)
            }
        }
    }
#endif
