#if os(Linux)
    import Foundation
    import Synchronization
    import TestSupport
    import Testing

    /// Gets of one object, one after the other on one connection and a thread of their own: what else this process computes
    /// does not keep them waiting.
    final class SteadyGets: Sendable {
        private let port: Int
        private let request: [UInt8]
        private let isOver = Mutex(false)

        /// - Parameter object: The class and the id, with a slash between them.
        init(of object: String, on server: TestServer) throws {
            port = try #require(URL(string: server.url)?.port)
            request = Array(
                """
                GET /parse/classes/\(object)?keys=n HTTP/1.1\r
                Host: x\r
                X-Parse-Application-Id: \(TestServer.applicationID)\r
                X-Parse-Master-Key: \(TestServer.masterKey)\r
                \r

                """.utf8)
        }

        /// Ends it with the get that is under way.
        func stop() { isOver.withLock { $0 = true } }

        /// Asks until ``stop()``, and gives the longest time that an answer took, without what the thread had to wait for a
        /// processor meanwhile.
        func slowest() async throws -> Duration {
            try await withCheckedThrowingContinuation { continuation in
                Thread { continuation.resume(with: Result { try self.ask() }) }.start()
            }
        }

        private func ask() throws -> Duration {
            let socket = MalformedSocket(port: port)
            var slowest = Duration.zero
            let waited = ServerCost.schedule(of: "/proc/thread-self").waited
            repeat {
                let start = ContinuousClock.now
                let answer = try socket.exchange(request, isHead: false)
                slowest = max(slowest, .now - start)
                guard answer.status == 200 else {
                    throw CrashServer.Failure(description: "a get answers \(answer.status)")
                }
            } while !isOver.withLock { $0 }
            return slowest - (ServerCost.schedule(of: "/proc/thread-self").waited - waited)
        }
    }
#endif
