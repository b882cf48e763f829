import Foundation
import HTTP
import Logging
import REST
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@Suite("Connections: pipelining, keep-alive and misbehaving clients")
struct TransportConnectionTests {
    private typealias Server = TransportServer

    private static let keys = "Host: x\r\nX-Parse-Application-Id: app\r\nX-Parse-REST-API-Key: rest\r\n"

    private static func post(_ path: String, _ fields: String, _ body: String = "") -> String {
        "POST /parse/\(path) HTTP/1.1\r\n\(keys)\(fields)\r\n\r\n\(body)"
    }

    private static func impatient(_ idle: Duration) -> HTTPServer.Limits {
        var limits = HTTPServer.Limits()
        limits.idle = idle
        limits.stall = idle
        return limits
    }

    @Test("Serves requests on a connection that rested")
    func rest() async throws {
        var limits = HTTPServer.Limits()
        limits.idle = .seconds(6)
        try await Server.run(limits: limits) { client in
            try await client.connect { connection in
                for _ in 0..<2 {
                    for _ in 0..<2 {
                        try await connection.send("GET /parse/x HTTP/1.1\r\n\(Self.keys)\r\n")
                        #expect(try await connection.receive()?.status == 200)
                    }
                    // The server checks connections every 1.5 s.
                    try await Task.sleep(for: .seconds(3.5))
                }
            }
        }
    }

    @Test("Answers pipelined requests in order")
    func pipelining() async throws {
        try await Server.run { client in
            let answers = try await client.connect { connection in
                let slow = Self.post("slow/0", "Content-Length: 2", "{}")
                let others = (1..<20).map { Self.post("x/\($0)", "Content-Length: 2", "{}") }
                try await connection.send(slow + others.joined())
                var paths: [String] = []
                for _ in 0..<20 { paths.append(try await connection.receive()?.text ?? "") }
                return paths
            }
            for (index, answer) in answers.enumerated() { #expect(answer.contains("\"\(index)\"]")) }
        }
    }

    @Test("Rejects a body over the limit with 413 and keeps the connection open", arguments: [true, false])
    func tooLarge(isChunked: Bool) async throws {
        try await Server.run { client in
            let size = 150_000
            let body = String(repeating: "a", count: size)
            let request =
                isChunked
                ? Self.post("x", "Transfer-Encoding: chunked", "\(String(size, radix: 16))\r\n\(body)\r\n0\r\n\r\n")
                : Self.post("x", "Content-Length: \(size)", body)
            let statuses = try await client.connect { connection in
                try await connection.send(request + Self.post("x", "Content-Length: 2", "{}"))
                let first = try await connection.receive()
                let second = try await connection.receive()
                #expect(first?.text == #"{"error":"request entity too large"}"#)
                return [first?.status, second?.status]
            }
            #expect(statuses == [413, 200])
        }
    }

    @Test("Rejects a huge Content-Length immediately and closes the connection")
    func hugePromise() async throws {
        try await Server.run(limits: Self.impatient(.seconds(20))) { client in
            let answer = try await client.connect { connection in
                try await connection.send(Self.post("x", "Content-Length: 10000000000", "{"))
                let answer = try await connection.receive()
                let next = try await connection.receive()
                #expect(next == nil)
                return answer
            }
            #expect(answer?.status == 413)
            #expect(answer?.header("Connection") == "close")
        }
    }

    @Test("Answers Expect: 100-continue with 100, or with 413 if the body is too large")
    func expectContinue() async throws {
        try await Server.run { client in
            let welcome = try await client.connect { connection in
                try await connection.send(Self.post("x", "Content-Length: 2\r\nExpect: 100-continue"))
                let first = try await connection.receive()
                try await connection.send("{}")
                return [first?.status, try await connection.receive()?.status]
            }
            #expect(welcome == [100, 200])
            let refused = try await client.connect { connection in
                try await connection.send(Self.post("x", "Content-Length: 200000\r\nExpect: 100-continue"))
                return [try await connection.receive()?.status, try await connection.receive()?.status]
            }
            #expect(refused == [413, nil])
        }
    }

    @Test("Responds to a client that half-closed its connection")
    func halfClosed() async throws {
        try await Server.run { client in
            let answer = try await client.connect { connection in
                try await connection.send(Self.post("slow", "Content-Length: 2", "{}"))
                connection.finish()
                return try await connection.receive()
            }
            #expect(answer?.status == 200)
        }
    }

    @Test(
        "Doesn't execute a request whose body is cut off",
        arguments: ["Content-Length: 20", "Transfer-Encoding: chunked"])
    func cutOff(field: String) async throws {
        try await Server.run { client in
            let answer = try await client.connect { connection in
                let body = field.hasPrefix("Content") ? "{}" : "2\r\n{}\r\n"
                try await connection.send(Self.post("x", field, body))
                connection.finish()
                return try await connection.receive()
            }
            #expect(answer == nil || answer?.status == 400)
        }
    }

    @Test("Closes connections with slow heads, slow bodies or no request")
    func slowness() async throws {
        try await Server.run(limits: Self.impatient(.milliseconds(400))) { client in
            let start = ContinuousClock.now
            try await client.connect { connection in
                try await connection.send("GET /parse/x HTTP/1.1\r\nHo")
                let answer = try await connection.receive()
                #expect(answer == nil)
            }
            try await client.connect { connection in
                let answer = try await connection.receive()
                #expect(answer == nil)
            }
            let isClosed = try await client.connect { connection in
                try await connection.send(Self.post("x", "Content-Length: 1000"))
                return try await connection.drips("{")
            }
            #expect(isClosed)
            #expect(ContinuousClock.now - start < .seconds(300))
        }
    }

    @Test(
        "Keeps connections open or closes them as the HTTP version and Connection header require",
        arguments: [
            ("1.1", "", nil), ("1.1", "Connection: close\r\n", "close"), ("1.1", "connection: Close\r\n", "close"),
            ("1.0", "", "close"), ("1.0", "Connection: keep-alive\r\n", "keep-alive"),
        ])
    func keepAlive(version: String, field: String, answered: String?) async throws {
        try await Server.run { client in
            let request = "GET /parse/x HTTP/\(version)\r\n\(Self.keys)\(field)\r\n"
            let answers = try await client.connect { connection in
                try await connection.send(request)
                let first = try await connection.receive()
                try? await connection.send(request)
                return [first, try await connection.receive()]
            }
            #expect(answers[0]?.status == 200)
            #expect(answers[0]?.header("Connection") == answered)
            #expect(answers[1]?.status == (answered == "close" ? nil : 200))
        }
    }

    @Test("Completes a request that takes longer than the idle timeout")
    func longRequest() async throws {
        // Long enough for the request to be sent first, even if all tests share two CPUs.
        try await Server.run(limits: Self.impatient(.seconds(10))) { client in
            let answer = try await client.request("GET", "/parse/seconds/12", headers: Server.client)
            #expect(answer.status == 200)
        }
    }

    @Test("Sends a large response completely")
    func largeAnswer() async throws {
        try await Server.run { client in
            let answer = try await client.request("GET", "/parse/large/3", headers: Server.client)
            #expect(answer.body.count == 3 * 1024 * 1024)
        }
    }

    @Test("Disconnects a client that doesn't read its response")
    func unreadAnswer() async throws {
        try await Server.run(limits: Self.impatient(.milliseconds(400))) { client in
            let isClosed = try await client.connect { connection in
                try await connection.send(Self.post("large/64", "Content-Length: 2", "{}"))
                return try await connection.drips(" ")
            }
            #expect(isClosed)
        }
    }

    @Test("Rejects oversized and malformed request heads")
    func brokenHeads() async throws {
        try await Server.run { client in
            for head in [
                "GET /parse/x HTTP/1.1\r\nX: \(String(repeating: "a", count: 100_000))\r\n\r\n",
                "GET /parse/x HTTP/1.1\r\n" + String(repeating: "X-Long: aaaaaaaaaaaaa\r\n", count: 5000) + "\r\n",
                "nonsense\r\n\r\n", "GET /parse/x HTTP/1.1\r\nbad header\r\n\r\n", "GET /parse/x HTTP/9.9\r\n\r\n",
                Self.post("x", "Content-Length: -1"), Self.post("x", "Content-Length: 2\r\nContent-Length: 3", "{}"),
                Self.post("x", "Content-Length: 2\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
                "\u{0}\u{1}\u{2}\r\n\r\n",
            ] {
                let answer = try await client.connect { connection in
                    try? await connection.send(head)
                    connection.finish()
                    return try await connection.receive()
                }
                #expect(answer == nil || answer?.status == 400, "\(head.prefix(60))")
            }
            #expect(try await client.request("GET", "/parse/x", headers: Server.client).status == 200)
        }
    }

    private static let length =
        "Content-Length is invalid, repeated, or combined with Transfer-Encoding."

    @Test(
        "Rejects ambiguous requests with the reason and closes the connection",
        arguments: [
            ("GET /parse/x HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", "More than one Host header."),
            ("GET /parse/x HTTP/1.1\r\nhost: x\r\nA: b\r\nHOST: y\r\n\r\n", "More than one Host header."),
            ("GET /parse/x HTTP/1.1\r\nA: b\r\n\r\n", "The Host header is missing."),
            (
                "GET /parse/x HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
                "The Host header is missing."
            ),
            (
                "POST /parse/x HTTP/1.0\r\n\(keys)Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
                "HTTP/1.0 doesn't support Transfer-Encoding."
            ),
            (
                post("x", "Content-Length: 2\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
                "Transfer-Encoding is not chunked or is combined with Content-Length, or a line does not end in CR LF."
            ),
            (post("x", "Transfer-Encoding: chunked\r\nContent-Length: 2", "0\r\n\r\n"), length),
            (
                post("x", "Transfer-Encoding: gzip, chunked", "0\r\n\r\n"),
                "The only supported Transfer-Encoding is chunked."
            ),
            (
                post("x", "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
                "The only supported Transfer-Encoding is chunked."
            ),
            (post("x", "Content-Length: 2\r\nContent-Length: 3", "{}"), length),
            (post("x", "Content-Length: -1"), length),
            ("GET /parse/x HTTP/9.9\r\n\(keys)\r\n", "The HTTP version must be 1.0 or 1.1."),
            ("GET /parse/x HTTP/1.1\r\nbad header\r\n\r\n", "A header field has a character that is not allowed."),
            (
                "GET /parse/x HTTP/1.1\r\n\(keys)X: \(String(repeating: "a", count: 100_000))\r\n\r\n",
                "The header fields are too large."
            ),
        ])
    func ambiguous(request: String, reason: String) async throws {
        try await Server.run { client in
            try await client.connect { connection in
                try await connection.send(request)
                let answer = try await connection.receive()
                #expect(answer?.status == 400)
                #expect(answer?.json == ["error": .string("Bad request: \(reason)")], "\(answer?.text ?? "")")
                #expect(answer?.header("Connection") == "close")
                #expect(answer?.header("Content-Type") == "application/json; charset=utf-8")
                #expect(try await connection.receive() == nil)
            }
        }
    }

    @Test("Accepts HTTP/1.0 requests without a Host header and with Content-Length")
    func versionOne() async throws {
        try await Server.run { client in
            let fields = "X-Parse-Application-Id: app\r\nX-Parse-REST-API-Key: rest\r\nContent-Length: 7\r\n"
            let answer = try await client.connect { connection in
                try await connection.send("POST /parse/x HTTP/1.0\r\n\(fields)\r\n{\"a\":1}")
                return try await connection.receive()
            }
            #expect(answer?.status == 200 && answer?.json["body"]?["a"] == 1, "\(answer?.text ?? "")")
        }
    }

    @Test("Completes open requests on shutdown")
    func gracefulShutdown() async throws {
        let (answer, _) = try await shutDown(path: "/parse/slow", limit: .seconds(10))
        #expect(answer?.status == 200)
    }

    @Test("Limits how long a shutdown waits for open requests")
    func boundedShutdown() async throws {
        let (answer, duration) = try await shutDown(path: "/parse/stuck", limit: .milliseconds(300))
        #expect(answer == nil)
        // The request would never end. A lower limit isn't possible if all tests share two CPUs.
        #expect(duration < .seconds(60))
    }

    @Test("Serves no request before the port callback returns")
    func portIsKnownFirst() async throws {
        let handler = EchoHandler()
        let server = try Self.server(handler, HTTPServer.Limits())
        let early = Mutex<Task<TransportClient.Answer?, Never>?>(nil)
        let answeredTooEarly = Mutex(0)
        let running = Task {
            try await server.run { port in
                early.withLock {
                    $0 = Task.detached {
                        try? await TransportClient(port: port).request("GET", "/parse/x", headers: Server.client)
                    }
                }
                Thread.sleep(forTimeInterval: 0.3)
                answeredTooEarly.withLock { $0 = handler.arrivals.all.count }
            }
        }
        _ = try await server.boundPort
        let answer = await early.withLock { $0 }?.value
        running.cancel()
        _ = try? await running.value
        #expect(answer?.status == 200)
        #expect(answeredTooEarly.withLock { $0 } == 0)
    }

    private static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private static func server(_ handler: EchoHandler, _ limits: HTTPServer.Limits) throws -> HTTPServer {
        let configuration = try Server.configuration()
        return HTTPServer(
            host: "127.0.0.1", port: 0,
            handler: try Dispatcher(configuration, handler: handler, files: nil, logger: silent),
            crossOrigin: CrossOrigin(origins: ["*"], extraHeaders: []), limits: limits, logger: silent)
    }

    private func shutDown(
        path: String, limit: Duration
    ) async throws -> (answer: TransportClient.Answer?, duration: Duration) {
        var limits = HTTPServer.Limits()
        limits.shutdown = limit
        let handler = EchoHandler()
        let server = try Self.server(handler, limits)
        let group = ServiceGroup(services: [server], logger: Self.silent)
        let running = Task { try await group.run() }
        let client = TransportClient(port: try await server.boundPort)
        let request = Task { try? await client.request("GET", path, headers: Server.client) }
        while handler.arrivals.all.isEmpty { try await Task.sleep(for: .milliseconds(10)) }
        let start = ContinuousClock.now
        await group.triggerGracefulShutdown()
        try await running.value
        return (await request.value, .now - start)
    }

    @Test("Logs a request without its query string and keys")
    func accessLog() async throws {
        let box = LogLines()
        try await Server.run(logger: box.logger) { client in
            _ = try await client.request(
                "POST", "/parse/x?password=secret1", headers: Server.master, text: #"{"_SessionToken":"secret2"}"#)
        }
        let line = try #require(box.all.first { $0.contains("path=/parse/x") })
        #expect(line.contains("method=POST"))
        #expect(line.contains("status="))
        #expect(line.contains("id="))
        #expect(!box.all.contains { $0.contains("secret") || $0.contains("master") })
    }

    @Test(
        "Answers unsupported upgrades and CONNECT, then closes the connection without buffering more input",
        arguments: [
            "GET /parse/health HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n",
            "GET /parse HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
            "CONNECT /parse/health HTTP/1.1\r\nHost: x\r\n\r\n",
        ])
    func offers(request: String) async throws {
        try await Server.run { client in
            let answer = try await client.connect { connection in
                try await connection.send(request)
                return try await connection.receive()
            }
            #expect(answer?.header("Connection") == "close", "\(request)")
            // Much more than the parser may buffer, so the connection is closed, and the client doesn't wait forever.
            await #expect(throws: (any Error).self) {
                try await client.connect { connection in
                    try await connection.send(request)
                    for _ in 0..<200 { try await connection.send(String(repeating: "x", count: 1_000_000)) }
                }
            }
        }
    }

    @Test("Ignores an Upgrade header without Connection: Upgrade")
    func keepsHTTP() async throws {
        try await Server.run { client in
            let statuses = try await client.connect { connection in
                for _ in 0..<2 {
                    try await connection.send("GET /parse/health HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n")
                }
                return [try await connection.receive()?.status, try await connection.receive()?.status]
            }
            #expect(statuses == [200, 200])
        }
    }
}
