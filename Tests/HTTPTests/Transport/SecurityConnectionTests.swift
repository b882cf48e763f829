import HTTP
import REST
import TestSupport
import Testing

@Suite("Attacks with many or slow connections")
struct SecurityConnectionTests {
    private typealias Server = TransportServer

    private static let keys = "Host: x\r\nX-Parse-Application-Id: app\r\nX-Parse-REST-API-Key: rest\r\n"

    /// An unfinished head of 50 KB.
    private static let largeHead =
        "GET /parse/stuck HTTP/1.1\r\n\(keys)"
        + (0..<240).map { "x-\($0): \(String(repeating: "y", count: 200))\r\n" }.joined()

    private static func limits(_ change: (inout HTTPServer.Limits) -> Void) -> HTTPServer.Limits {
        var limits = HTTPServer.Limits()
        change(&limits)
        return limits
    }

    /// Opens connections, sends a text on each, and keeps them open while `body` runs.
    ///
    /// - Returns: The number of connections that the server closed or whose request it rejected.
    private func occupy(
        _ count: Int, of client: TransportClient, saying text: String = "", untilClosed wanted: Int = 0,
        while body: () async throws -> Void
    ) async throws -> Int {
        let closed = Lines()
        try await withThrowingTaskGroup(of: Void.self) { group in
            let opened = Lines()
            for number in 0..<count {
                group.addTask {
                    try await client.connect { connection in
                        if !text.isEmpty { try? await connection.send(text) }
                        opened.append("\(number)")
                        while let answer = try await connection.receive(), answer.status != 503 {}
                        if !Task.isCancelled { closed.append("\(number)") }
                    }
                }
            }
            while opened.all.count < count { try await Task.sleep(for: .milliseconds(5)) }
            try await body()
            _ = try await eventually { closed.all.count >= wanted }
            group.cancelAll()
            while (try? await group.next()) != nil {}
        }
        return closed.all.count
    }

    /// Expects a response. If the connection is closed before it sent anything, it counted as idle, and the request is
    /// retried, as clients do.
    private func expectAnswer(from client: TransportClient) async {
        var answer = try? await client.request("GET", "/parse/x", headers: Server.client)
        for _ in 0..<4 where answer == nil {
            answer = try? await client.request("GET", "/parse/x", headers: Server.client)
        }
        #expect(answer?.status == 200)
    }

    @Test(
        "Serves requests despite many idle connections and unfinished heads",
        arguments: ["", "GET /parse/x HTTP/1.1\r\nHo"])
    func idle(text: String) async throws {
        try await Server.run(limits: Self.limits { $0.connections = 20 }) { client in
            let closed = try await occupy(70, of: client, saying: text) {
                for _ in 0..<10 { await expectAnswer(from: client) }
            }
            #expect(closed >= 70 - 20)
        }
    }

    @Test("Closes connections with slow bodies to serve others")
    func slowBodies() async throws {
        let limits = Self.limits {
            $0.connections = 20
            $0.grace = .seconds(1)
        }
        try await Server.run(limits: limits) { client in
            let head = "POST /parse/x HTTP/1.1\r\n\(Self.keys)Content-Length: 1000\r\n\r\n{"
            let closed = try await occupy(40, of: client, saying: head) {
                await expectAnswer(from: client)
            }
            #expect(closed >= 1)
        }
    }

    @Test(
        "Counts small input of many connections together, and closes the slowest",
        arguments: [
            // An unfinished body, a large head after a request, a large head of a slow request, and an unfinished large
            // head.
            "POST /parse/x HTTP/1.1\r\n\(keys)Content-Length: 60000\r\n\r\n" + String(repeating: " ", count: 50_000),
            "GET /parse/stuck HTTP/1.1\r\n\(keys)\r\n" + largeHead + "\r\n",
            largeHead + "\r\n", largeHead,
        ])
    func small(text: String) async throws {
        let limits = Self.limits {
            $0.transferMemory = 1024 * 1024
            $0.grace = .milliseconds(100)
        }
        try await Server.run(limits: limits) { client in
            // A third of the connections fit.
            let closed = try await occupy(60, of: client, saying: text, untilClosed: 20) {
                await expectAnswer(from: client)
            }
            #expect(closed >= 20, "\(closed)")
        }
    }

    @Test("Doesn't read further pipelined requests while one is being answered")
    func pipelined() async throws {
        let requests = String(repeating: "GET /parse/stuck HTTP/1.1\r\n\(Self.keys)\r\n", count: 500)
        let limits = Self.limits { $0.transferMemory = 1024 * 1024 }
        let handler = EchoHandler()
        try await Server.run(handler: handler, limits: limits) { client in
            let closed = try await occupy(60, of: client, saying: requests) {
                let isAnswering = try await eventually { handler.arrivals.all.count == 60 }
                #expect(isAnswering)
                await expectAnswer(from: client)
            }
            #expect(closed == 0)
        }
    }

    @Test("Cuts off a body that exceeds the transfer timeout, however steadily it arrives")
    func endlessBody() async throws {
        try await Server.run(limits: Self.limits { $0.transfer = .milliseconds(400) }) { client in
            let wasCutOff = try await client.connect { connection in
                try await connection.send("POST /parse/x HTTP/1.1\r\n\(Self.keys)Content-Length: 90000\r\n\r\n{")
                let piece = String(repeating: " ", count: 100)
                for _ in 0..<600 {
                    do { try await connection.send(piece) } catch { return true }
                    try await Task.sleep(for: .milliseconds(20))
                }
                return false
            }
            #expect(wasCutOff)
        }
    }

    @Test("Reads a body in chunks of one byte")
    func tinyChunks() async throws {
        try await Server.run { client in
            let body = Array((#"{"a":""# + String(repeating: "x", count: 50_000) + #""}"#).utf8)
            let chunks = body.flatMap { Array("1\r\n".utf8) + [$0] + Array("\r\n".utf8) } + Array("0\r\n\r\n".utf8)
            let answer = try await client.connect { connection in
                try await connection.send("POST /parse/x HTTP/1.1\r\n\(Self.keys)Transfer-Encoding: chunked\r\n\r\n")
                try await connection.send(chunks)
                return try await connection.receive()
            }
            #expect(answer?.status == 200)
            #expect(answer?.body.count ?? 0 > 50_000)
        }
    }

    @Test("Limits the memory of unread responses, and serves clients that read")
    func unreadAnswers() async throws {
        let limits = Self.limits {
            $0.transferMemory = 40 * 1024 * 1024
            $0.grace = .milliseconds(200)
        }
        let handler = EchoHandler()
        try await Server.run(handler: handler, limits: limits) { client in
            try await withThrowingTaskGroup(of: Int?.self) { group in
                let gate = Lines()
                for _ in 0..<8 {
                    group.addTask {
                        try await client.connect { connection in
                            try await connection.send("GET /parse/large/16 HTTP/1.1\r\n\(Self.keys)\r\n")
                            while gate.all.isEmpty { try await Task.sleep(for: .milliseconds(10)) }
                            return try await connection.receive()?.status
                        }
                    }
                }
                // A request succeeds after another client has read its response.
                while handler.arrivals.all.count < 8 { try await Task.sleep(for: .milliseconds(10)) }
                let isServed = try await eventuallyServed(client)
                #expect(isServed)
                gate.append("open")
                var statuses: [Int?] = []
                for try await status in group { statuses.append(status) }
                // Two responses fit at the same time. The others were rejected, or cut off in favor of clients that
                // read.
                #expect(statuses.filter { $0 == 200 }.count <= 2, "\(statuses)")
            }
        }
    }

    private func eventuallyServed(_ client: TransportClient) async throws -> Bool {
        for _ in 0..<200 {
            let answer = try? await client.request("GET", "/parse/large/16", headers: Server.client)
            if answer?.status == 200 { return true }
            #expect(answer == nil || answer?.status == 503)
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
    }
}
