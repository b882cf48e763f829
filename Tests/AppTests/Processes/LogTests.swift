import Foundation
import JSON
import TestSupport
import Testing

@Suite("Log output of a process")
struct LogTests {
    @Test("Logs each request as one line of text with the time in UTC")
    func text() async throws {
        try await ServerProcesses.run(1, ["logLevel": "info"]) { processes in
            _ = try await processes[0].send("GET", "/classes/Song?where=%7B%22secret%22%3A1%7D")
            let line = try #require(try await Self.line(containing: "path=/parse/classes/Song ", of: processes))
            let form =
                /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info roost: request bytes=\d+ id=\w+ method=GET ms=[\d.]+ path=\S+ route=\S+ status=200/
            #expect(line.wholeMatch(of: form) != nil, "\(line)")
            #expect(!processes.log.contains("secret"))
        }
    }

    @Test("Logs concurrent requests in the order of their timestamps")
    func order() async throws {
        try await ServerProcesses.run(1, ["logLevel": "info"]) { processes in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<32 {
                    group.addTask {
                        for _ in 0..<60 { _ = try await processes[0].send("GET", "/nowhere", as: .nobody) }
                    }
                }
                try await group.waitForAll()
            }
            var times: [Substring] = []
            let areThere = try await eventually {
                times = processes.log.split(separator: "\n").filter { $0.contains("/nowhere ") }.map { $0.prefix(24) }
                return times.count == 32 * 60
            }
            #expect(areThere, "\(times.count)")
            #expect(times == times.sorted())
        }
    }

    @Test("Logs no PostgreSQL notices while tables are created")
    func notices() async throws {
        try await ServerProcesses.run(1, ["logLevel": "verbose"]) { processes in
            #expect(!processes.log.contains("NOTICE"), "\(processes.log.prefix(2000))")
        }
    }

    @Test("With jsonLogs, logs each request as a JSON object")
    func json() async throws {
        try await ServerProcesses.run(1, ["logLevel": "info", "jsonLogs": true]) { processes in
            _ = try await processes[0].send("GET", "/classes/Song")
            let line = try #require(try await Self.line(containing: "/parse/classes/Song", of: processes))
            let object = try #require(try JSONValue(parsing: Array(line.utf8)).objectValue)
            #expect(object["level"] == "info")
            #expect(object["message"] == "request")
            #expect(object["method"] == "GET")
            #expect(object["status"] == 200)
            #expect(object["ms"]?.numberValue ?? 0 > 0)
            #expect(object["route"] == "/classes/{className}")
            #expect(
                Set(object.keys) == [
                    "timestamp", "level", "message", "bytes", "id", "method", "path", "route", "status", "ms",
                ])
        }
    }

    @Test("An unread log doesn't block the server: excess lines are dropped and counted")
    func unread() async throws {
        let pipe = FileManager.default.temporaryDirectory.path + "/roost-log-\(UUID().uuidString)"
        defer { unlink(pipe) }
        // The shell holds both ends of the pipe, so that nobody reads before the test does.
        let launcher = ["/bin/sh", "-c", "mkfifo \(pipe) && exec 9<>\(pipe) && exec \"$@\" 2>&9", "sh"]
        try await ServerProcesses.run(1, ["logLevel": "info"], launcher: launcher) { processes in
            let port = try #require(URL(string: processes[0].url)?.port)
            // More lines than fit in the pipe and the queue.
            let statuses = try await Self.onThread { try Self.ask(port: port, times: 110, together: 100) }
            #expect(statuses == [404])
            let report = try await Self.onThread { try Self.read(pipe, until: "count=") }
            let number = report.split(separator: "count=").last?.prefix { $0.isNumber }
            #expect(number.flatMap { Int($0) } ?? 0 > 0, "\(report.suffix(200))")
        }
    }

    /// Sends requests in groups, and returns the statuses.
    private static func ask(port: Int, times: Int, together: Int) throws -> Set<Int> {
        let socket = MalformedSocket(port: port)
        let request = Array("GET /other/health HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
        let group = Array(repeatElement(request, count: together).joined())
        var statuses: Set<Int> = []
        for _ in 0..<times {
            try socket.send(group)
            for _ in 0..<together { statuses.insert(try socket.receive(isHead: false).status) }
        }
        return statuses
    }

    /// Reads a pipe until a text appears, for at most ten seconds.
    private static func read(_ pipe: String, until text: String) throws -> String {
        let descriptor = open(pipe, O_RDONLY | O_NONBLOCK)
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 * 1024)
        for _ in 0..<1000 {
            let count = Foundation.read(descriptor, &piece, piece.count)
            if count > 0 { bytes += piece[..<count] } else { usleep(10_000) }
            let end = String(decoding: bytes.suffix(128 * 1024), as: UTF8.self)
            if end.contains(text) { return end }
        }
        return ""
    }

    private static func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Result(catching: body)) }.start()
        }
    }

    /// Waits for a line, because lines are written shortly after the response.
    private static func line(containing text: String, of processes: ServerProcesses) async throws -> Substring? {
        var line: Substring?
        _ = try await eventually {
            line = processes.log.split(separator: "\n").first { $0.contains(text) }
            return line != nil
        }
        return line
    }
}
