import Foundation
import HTTP
import Limits
import Logging
import NIOPosix
import REST
import Synchronization
import TestSupport
import Testing

@Suite("Fair turns on event loops and threads")
struct WorkTurnTests {
    /// Counts requests. The first one records the count after other requests had their turns.
    private struct Counting: HTTPHandler {
        let requests = Lines()
        let atTurn = Lines()

        func answer(_ request: IncomingRequest) async -> Reply {
            if requests.all.isEmpty, let loop = MultiThreadedEventLoopGroup.currentEventLoop {
                LoopQueue.of(loop)?.later(of: .server) { atTurn.append("\(requests.all.count)") }
            }
            requests.append("")
            return overloaded
        }

        func mayTake(_ body: IncomingBody, headers: RequestHeaders) -> Bool { true }

        var overloaded: Reply { Reply(status: 404, body: .empty) }
    }

    @Test("Yields to other connections after at most eight pipelined requests")
    func pipelined() async throws {
        let handler = Counting()
        let server = HTTPServer(
            host: "127.0.0.1", port: 0, handler: handler, crossOrigin: CrossOrigin(origins: ["*"], extraHeaders: []),
            limits: HTTPServer.Limits(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await server.run() }
        try await TransportClient(port: try await server.boundPort).connect { connection in
            let head = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
            try await connection.send(String(repeating: head, count: 1_000))
            for number in 0..<1_000 {
                let answer = try await connection.receive()
                try #require(answer?.status == 404, "\(number)")
            }
        }
        running.cancel()
        _ = try? await running.value
        let count = try #require(handler.atTurn.all.first.flatMap { Int($0) })
        #expect((1...AnswerTurn.maxRequests).contains(count))
    }

    /// Keeps a thread busy until stopped.
    private final class Hog: Sendable {
        private let isOver = Atomic(false)
        private let begun = Atomic(0)

        func work() {
            begun.add(1, ordering: .relaxed)
            while !isOver.load(ordering: .relaxed) { usleep(500) }
        }

        func stop() { isOver.store(true, ordering: .relaxed) }

        var hasBegun: Bool { begun.load(ordering: .relaxed) > 0 }
    }

    @Test("Small bodies never queue behind larger ones", arguments: [5 << 20, 2 << 20, 200 << 10])
    func classes(size: Int) async throws {
        let (queue, hog) = (RequestQueue(), Hog())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { try await queue.run(bytes: size) { hog.work() } } }
            let hasBegun = try await eventually { hog.hasBegun }
            #expect(hasBegun)
            for smaller in [20 << 10, 200 << 10, 2 << 20] where smaller < size {
                let isDone = Latch()
                group.addTask {
                    try await queue.run(bytes: smaller) {}
                    isDone.open()
                }
                let isInTime = try await eventually(within: .seconds(10)) { isDone.isOpen }
                #expect(isInTime, "\(smaller)")
            }
            hog.stop()
            try await group.waitForAll()
        }
    }

    @Test("Prefers work of senders that have used less thread time")
    func senders() async throws {
        let (hog, order) = (Hog(), Lines())
        func work(of address: String, _ name: String, time: UInt32 = 0) async {
            await CallerPresence.$current.withValue(CallerPresence(sender: Sender(address: address))) {
                await LongWork.giant.run {
                    usleep(time)
                    order.append(name)
                }
            }
        }
        await work(of: "192.0.2.1", "first", time: 50_000)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await LongWork.giant.run { hog.work() } }
            _ = try? await eventually { hog.hasBegun }
            for number in 0..<3 { group.addTask { await work(of: "192.0.2.1", "again \(number)") } }
            try? await Task.sleep(for: .milliseconds(200))
            group.addTask { await work(of: "192.0.2.2", "other") }
            try? await Task.sleep(for: .milliseconds(200))
            hog.stop()
        }
        #expect(order.all.prefix(2) == ["first", "other"])
    }
}
