import HTTP
import Logging
import NIOCore
import TestSupport
import Testing

@Suite("Streamed responses")
struct StreamedAnswerTests {
    /// Sends a chunk, pauses, and sends another.
    private struct Handler: HTTPHandler {
        let pause: Duration
        var overloaded: Reply { Reply(status: 503, body: .empty) }

        func mayTake(_ body: IncomingBody, headers: RequestHeaders) -> Bool { true }

        func answer(_ request: IncomingRequest) async -> Reply {
            let stream = Reply.ByteStream(length: 2) { [pause] sink in
                try await sink(ByteBuffer(string: "a"))
                try await Task.sleep(for: pause)
                try await sink(ByteBuffer(string: "b"))
            }
            return Reply(body: .stream(stream))
        }
    }

    @Test("Doesn't time out a client while the server pauses within a response")
    func pause() async throws {
        var limits = HTTPServer.Limits()
        limits.stall = .milliseconds(300)
        let server = HTTPServer(
            host: "127.0.0.1", port: 0, handler: Handler(pause: .seconds(2)),
            crossOrigin: CrossOrigin(origins: ["*"], extraHeaders: []), limits: limits,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await server.run() }
        let client = TransportClient(port: try await server.boundPort)
        let answer = try? await client.request("GET", "/")
        running.cancel()
        _ = try? await running.value
        #expect(answer?.text == "ab")
    }
}
