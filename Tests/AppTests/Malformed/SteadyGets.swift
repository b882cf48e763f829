#if os(Linux)
    import Foundation
    import Synchronization
    import TestSupport
    import Testing

    /// Sends gets of an object one after the other, on one connection and a separate thread, so that other work of this
    /// process doesn't delay them.
    final class SteadyGets: Sendable {
        private let port: Int
        private let request: [UInt8]
        private let isOver = Mutex(false)

        /// - Parameter object: The class and the object id, separated by a slash.
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

        func stop() { isOver.withLock { $0 = true } }

        /// Sends gets until ``stop()``, and returns the longest duration, minus the time that the thread waited for a
        /// CPU.
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
