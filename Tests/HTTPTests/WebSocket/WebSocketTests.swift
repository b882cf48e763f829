import Foundation
import HTTP
import Limits
import NIOCore
import NIOPosix
import TestSupport
import Testing

/// WebSocket handlers added by a deployment.
@Suite struct WebSocketTests {
    /// Echoes messages at `/socket`, ends at "end" and fails at "fail". Trusts proxies' addresses.
    private struct Echo: WebSocketHandler {
        struct Failure: Error {}

        func sender(of request: WebSocketRequest) -> Sender { Sender(address: request.forwardedFor ?? request.peer) }

        func accepts(_ request: WebSocketRequest) -> Bool { request.path == "/socket" && request.origin != "evil" }

        func serve(_ connection: WebSocketConnection) async throws {
            for try await text in connection.texts {
                if text == "end" { return }
                if text == "fail" { throw Failure() }
                try await connection.send(text)
            }
        }
    }

    /// Echoes messages, authenticates clients that send "hello", and sends endless texts at "flood".
    private struct Strict: WebSocketHandler {
        let ended = Lines()

        var knowsClientsLater: Bool { true }

        func accepts(_ request: WebSocketRequest) -> Bool { true }

        func serve(_ connection: WebSocketConnection) async throws {
            defer { ended.append("") }
            for try await text in connection.texts {
                if text == "hello" { connection.markKnown() }
                while text == "flood" { try await connection.send(String(repeating: "x", count: 100_000)) }
                try await connection.send(text)
            }
        }
    }

    private static func run(
        _ handler: any WebSocketHandler, _ limits: HTTPServer.Limits, _ body: (TransportClient) async throws -> Void
    ) async throws {
        var additions = HTTPServer.Additions()
        additions.webSockets = handler
        try await TransportServer.run(limits: limits, additions: additions, body: body)
    }

    private static var additions: HTTPServer.Additions {
        var additions = HTTPServer.Additions()
        additions.webSockets = Echo()
        return additions
    }

    private static func opening(
        _ path: String = "/socket", version: Int = 13, upgrade: String = "websocket", fields: String = ""
    ) -> String {
        "GET \(path) HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\nUpgrade: \(upgrade)\r\n"
            + "Sec-WebSocket-Version: \(version)\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\(fields)\r\n"
    }

    /// A client frame. Without a mask it violates the protocol.
    private static func frame(
        _ opcode: UInt8, _ data: [UInt8], isLast: Bool = true, reserved: UInt8 = 0, mask: [UInt8]? = [1, 2, 3, 4]
    ) -> [UInt8] {
        var bytes = [(isLast ? 0x80 : 0) | reserved | opcode]
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        if data.count < 126 {
            bytes.append(maskBit | UInt8(data.count))
        } else {
            bytes += [maskBit | 127] + (0..<8).map { UInt8(truncatingIfNeeded: UInt64(data.count) >> (56 - 8 * $0)) }
        }
        bytes += mask ?? []
        bytes += data.enumerated().map { $0.element ^ (mask?[$0.offset % 4] ?? 0) }
        return bytes
    }

    /// A server frame of fewer than 126 bytes.
    private static func answer(_ opcode: UInt8, _ data: [UInt8]) -> [UInt8] {
        [0x80 | opcode, UInt8(data.count)] + data
    }

    private static func open(
        _ client: TransportClient, fields: String = "",
        then body: (inout TransportClient.Connection) async throws -> Void
    )
        async throws
    {
        try await client.connect { connection in
            try await connection.send(opening(fields: fields))
            let answer = try #require(try await connection.receive(toHead: true))
            #expect(answer.status == 101)
            // The example of RFC 6455, 1.3.
            #expect(answer.header("Sec-WebSocket-Accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
            #expect(answer.header("Upgrade") == "websocket")
            try await body(&connection)
        }
    }

    @Test("Exchanges text messages, fragmented messages and pings, with and without TLS", arguments: [false, true])
    func echo(isSecure: Bool) async throws {
        let security = try TransportSecurity()
        defer { try? FileManager.default.removeItem(atPath: security.folder) }
        let certificate = isSecure ? security.certificate : nil
        try await TransportServer.run(additions: Self.additions, certificate: certificate) { plain in
            let client = isSecure ? try security.client(plain) : plain
            try await Self.open(client) { connection in
                try await connection.send(Self.frame(1, Array("häh".utf8)))
                #expect(try await connection.receive(bytes: 6) == Self.answer(1, Array("häh".utf8)))
                try await connection.send(Self.frame(1, Array("on".utf8), isLast: false))
                try await connection.send(Self.frame(9, [7]))
                try await connection.send(Self.frame(0, Array("e".utf8)))
                #expect(try await connection.receive(bytes: 3) == Self.answer(10, [7]))
                #expect(try await connection.receive(bytes: 5) == Self.answer(1, Array("one".utf8)))
                // The client sends a close frame.
                try await connection.send(Self.frame(8, [3, 232]))
                #expect(try await connection.receive(bytes: 4) == Self.answer(8, [3, 232]))
            }
        }
    }

    @Test(
        "Closes the connection with the matching code on protocol violations and when the handler ends",
        arguments: [
            ("invalid UTF-8", frame(1, [0xFF]), 1007),
            ("unmasked frame", frame(1, [0x61], mask: nil), 1002),
            ("first reserved bit", frame(1, [0x61], reserved: 0x40), 1002),
            ("second reserved bit", frame(9, [0x61], reserved: 0x20), 1002),
            ("third reserved bit", frame(1, [0x61], reserved: 0x10), 1002),
            ("binary frame", frame(2, [0x61]), 1003),
            ("message over 1 MiB", frame(1, Array(repeating: 0x61, count: 1_048_577)), 1009),
            (
                "fragments over 1 MiB together",
                frame(1, Array(repeating: 0x61, count: 600_000), isLast: false)
                    + frame(0, Array(repeating: 0x61, count: 600_000)), 1009
            ),
            (
                "more than 1024 fragments",
                frame(1, [0x61], isLast: false) + (0..<1024).flatMap { _ in frame(0, [0x61], isLast: false) }, 1009
            ),
            ("continuation without a message", frame(0, [0x61]), 1002),
            ("text frame within a fragmented message", frame(1, [0x61], isLast: false) + frame(1, [0x61]), 1002),
            ("unknown opcode", frame(3, [0x61]), 1002),
            ("handler returns", frame(1, Array("end".utf8)), 1000),
            ("handler throws", frame(1, Array("fail".utf8)), 1011),
        ])
    func endings(name: String, bytes: [UInt8], code: Int) async throws {
        try await TransportServer.run(additions: Self.additions) { client in
            try await Self.open(client) { connection in
                try await connection.send(bytes)
                let closing = Self.answer(8, [UInt8(code >> 8), UInt8(code & 0xFF)])
                #expect(try await connection.receive(bytes: 4) == closing, "\(name)")
                let rest = try? await connection.receive(bytes: 1)
                #expect(rest?.isEmpty != false, "\(name)")
            }
        }
    }

    private static func from(_ address: String) -> String { "X-Forwarded-For: \(address)\r\n" }

    private static func holding(
        _ count: Int, from address: String, _ client: TransportClient, _ body: () async throws -> Void
    ) async throws {
        guard count > 0 else { return try await body() }
        try await open(client, fields: from(address)) { _ in
            try await holding(count - 1, from: address, client, body)
        }
    }

    private static func status(from address: String, _ client: TransportClient) async throws -> Int? {
        try await client.connect { connection in
            try await connection.send(opening(fields: from(address)))
            return try await connection.receive(toHead: true)
        }?.status
    }

    @Test("Limits WebSockets to half of all connections and a network to half of those, and responds 503 beyond")
    func places() async throws {
        var limits = HTTPServer.Limits()
        limits.connections = 12
        try await Self.run(Echo(), limits) { client in
            try await Self.holding(3, from: "10.0.0.1", client) {
                #expect(try await Self.status(from: "10.0.0.1", client) == 503)
                try await Self.holding(2, from: "10.0.0.2", client) {
                    try await Self.holding(1, from: "10.0.0.3", client) {
                        let refused = try await Self.status(from: "10.0.0.4", client)
                        let health = try await client.request("GET", "/parse/health").status
                        #expect(refused == 503)
                        #expect(health == 200)
                    }
                }
            }
            // Closed connections make room for new ones.
            let hasRoom = try await eventually { try await Self.status(from: "10.0.0.1", client) == 101 }
            #expect(hasRoom)
        }
    }

    @Test("Evicts the oldest unauthenticated client for a new one, never an authenticated one")
    func strangers() async throws {
        var limits = HTTPServer.Limits()
        limits.connections = 8
        try await Self.run(Strict(), limits) { client in
            try await Self.open(client) { known in
                try await known.send(Self.frame(1, Array("hello".utf8)))
                #expect(try await known.receive(bytes: 7) == Self.answer(1, Array("hello".utf8)))
                try await Self.open(client) { stranger in
                    try await Self.open(client) { other in
                        #expect((try? await stranger.receive(bytes: 1))?.isEmpty != false)
                        try await other.send(Self.frame(1, Array("hello".utf8)))
                        #expect(try await other.receive(bytes: 7) == Self.answer(1, Array("hello".utf8)))
                        // No connection is left to evict.
                        let refused = try await client.connect { connection in
                            try await connection.send(Self.opening())
                            return try await connection.receive()
                        }
                        #expect(refused?.status == 503)
                        try await known.send(Self.frame(1, Array("on".utf8)))
                        #expect(try await known.receive(bytes: 4) == Self.answer(1, Array("on".utf8)))
                    }
                }
            }
        }
    }

    @Test("Pauses between handshakes for three times the duration of the last one")
    func pauses() async throws {
        let slots = WebSocketSlots(limit: 2, handshakes: 1)
        @Sendable func shakeHands() async throws -> Range<ContinuousClock.Instant> {
            try await slots.shakeHands(
                of: Sender(address: "10.0.0.1"), on: MultiThreadedEventLoopGroup.singleton.next()
            ) {
                let begin = ContinuousClock.now
                try await Task.sleep(for: .milliseconds(3))
                return begin..<ContinuousClock.now
            }
        }
        let (first, second) = (try await shakeHands(), try await shakeHands())
        let pause = second.lowerBound - first.upperBound
        let wanted = min((first.upperBound - first.lowerBound) * 3, .milliseconds(20))
        #expect(pause >= wanted - .milliseconds(1), "\(pause)")
    }

    @Test("Disconnects clients that don't read, or don't complete their message")
    func stalls() async throws {
        var limits = HTTPServer.Limits()
        limits.stall = .milliseconds(500)
        let handler = Strict()
        try await Self.run(handler, limits) { client in
            try await Self.open(client) { connection in
                try await connection.send(Self.frame(1, Array("flood".utf8)))
                #expect(try await eventually { handler.ended.all.count == 1 })
            }
            try await Self.open(client) { connection in
                try await connection.send(Self.frame(1, [0x61], isLast: false))
                // Control frames within a message don't extend its time limit, whether they get a response or not.
                try await connection.send(Self.frame(9, [7]))
                let received = try await connection.receive(bytes: 7)
                #expect([Self.answer(10, [7]), []].map { $0 + Self.answer(8, [3, 240]) }.contains(received))
            }
        }
        try await Self.run(handler, HTTPServer.Limits()) { client in
            try await Self.open(client) { connection in
                try await connection.send(Self.frame(1, [0x61], isLast: false))
                try await connection.send(Self.frame(9, [7]))
                #expect(try await connection.receive(bytes: 3) == Self.answer(10, [7]))
            }
        }
    }

    @Test("Responds to rejected and invalid handshakes over HTTP")
    func refusals() async throws {
        try await TransportServer.run(additions: Self.additions) { client in
            let answers: [(String, Int)] = [
                (Self.opening("/other"), 404), (Self.opening(fields: "Origin: evil\r\n"), 404),
                (Self.opening(upgrade: "h2c"), 404), (Self.opening(version: 8), 400),
            ]
            for (request, status) in answers {
                let answer = try await client.connect { connection in
                    try await connection.send(request)
                    return try await connection.receive()
                }
                #expect(answer?.status == status, "\(request)")
            }
            let health = try await client.request("GET", "/parse/health")
            #expect(health.status == 200)
        }
    }
}
