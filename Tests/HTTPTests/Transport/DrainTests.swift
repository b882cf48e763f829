import HTTP
import JSON
import Logging
import REST
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@Suite("Draining before shutdown")
struct DrainTests {
    /// Runs a server that is shut down while clients send requests.
    private static func run(
        drain: Duration, firstRequest: Duration = .seconds(2), handler: EchoHandler = EchoHandler(),
        _ body: @Sendable (TransportClient, ServiceGroup) async throws -> Void
    ) async throws {
        var limits = HTTPServer.Limits()
        limits.drain = drain
        limits.firstRequest = firstRequest
        // A stalled machine must not abort requests in progress.
        limits.shutdown = .seconds(120)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let configuration = try TransportServer.configuration()
        let server = HTTPServer(
            host: "127.0.0.1", port: 0,
            handler: try Dispatcher(configuration, handler: handler, files: nil, logger: logger),
            crossOrigin: CrossOrigin(origins: ["*"], extraHeaders: []), limits: limits, logger: logger)
        let group = ServiceGroup(services: [server], logger: logger)
        let running = Task { try await group.run() }
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await body(TransportClient(port: try await server.boundPort), group))
        } catch {
            outcome = .failure(error)
        }
        await group.triggerGracefulShutdown()
        try await running.value
        try outcome.get()
    }

    private final class Log: Sendable {
        struct State {
            var answers = 0
            var closing = 0
            var failures: [String] = []
            var isTakenOut = false
        }
        let state = Mutex(State())
    }

    /// Sends requests on a connection until the server closes it. Missing and unsuccessful responses are failures.
    private static func ask(_ client: TransportClient, _ log: Log) async throws {
        try await client.connect { connection in
            while !log.state.withLock({ $0.isTakenOut }) {
                try await connection.send("GET /parse/x HTTP/1.1\r\nHost: a\r\n\(fields)\r\n")
                let answer = try await connection.receive()
                let isClosing = answer?.header("Connection")?.lowercased() == "close"
                log.state.withLock { state in
                    state.answers += 1
                    if isClosing { state.closing += 1 }
                    if answer?.status != 200 { state.failures.append(answer?.text ?? "no answer") }
                }
                if isClosing || answer == nil { return }
            }
        }
    }

    private static let fields = TransportServer.client.map { "\($0.key): \($0.value)\r\n" }.joined()

    @Test("Answers all requests while draining, with an unhealthy health check and Connection: close")
    func requests() async throws {
        try await Self.run(drain: .seconds(15)) { client, group in
            let log = Log()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for _ in 0..<8 {
                    tasks.addTask {
                        while !log.state.withLock({ $0.isTakenOut }) { try await Self.ask(client, log) }
                    }
                }
                tasks.addTask {
                    let healthy = try await client.request("GET", "/parse/health")
                    #expect(healthy.status == 200)
                    #expect(healthy.header("Connection") != "close")
                    let isBusy = try await eventually { log.state.withLock { $0.answers } > 100 }
                    #expect(isBusy)
                    #expect(log.state.withLock { $0.closing } == 0)
                    await group.triggerGracefulShutdown()
                    let isNoticed = try await eventually {
                        try await client.request("GET", "/parse/health").status == 503
                    }
                    #expect(isNoticed)
                    let health = try await client.request("GET", "/parse/health")
                    #expect(health.json == ["status": "error"])
                    #expect(health.header("Connection") == "close")
                    let isServed = try await eventually { log.state.withLock { $0.closing } > 100 }
                    #expect(isServed)
                    log.state.withLock { $0.isTakenOut = true }
                }
                try await tasks.waitForAll()
            }
            #expect(log.state.withLock { $0.failures } == [])
        }
    }

    @Test("Accepts no connections after the drain, and completes open requests")
    func end() async throws {
        let handler = EchoHandler()
        try await Self.run(drain: .milliseconds(300), handler: handler) { client, group in
            let slow = Task { try await client.request("GET", "/parse/gate", headers: TransportServer.client) }
            let isUnderWay = try await eventually { !handler.arrivals.all.isEmpty }
            #expect(isUnderWay)
            await group.triggerGracefulShutdown()
            let isClosed = try await eventually { (try? await client.request("GET", "/parse/health")) == nil }
            #expect(isClosed)
            handler.gate.open()
            let answer = try await slow.value
            #expect(answer.status == 200)
        }
    }

    @Test("Serves a request of a client that connected before the drain ended")
    func lastConnection() async throws {
        try await Self.run(drain: .seconds(3), firstRequest: .seconds(60)) { client, group in
            try await client.connect { connection in
                // The server has accepted the connection long before the drain ends.
                await group.triggerGracefulShutdown()
                let isClosed = try await eventually { (try? await client.request("GET", "/parse/health")) == nil }
                #expect(isClosed)
                try await connection.send("GET /parse/x HTTP/1.1\r\nHost: a\r\n\(Self.fields)\r\n")
                let answer = try await connection.receive()
                #expect(answer?.status == 200)
                #expect(answer?.header("Connection")?.lowercased() == "close")
                let end = try await connection.receive()
                #expect(end == nil)
            }
        }
    }
}
