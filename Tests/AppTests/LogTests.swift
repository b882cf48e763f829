import JSON
import TestSupport
import Testing

@Suite("The log of a process")
struct LogTests {
    @Test("Each request is one line of text, with the time in UTC")
    func text() async throws {
        try await ServerProcesses.run(1, ["logLevel": "info"]) { processes in
            _ = try await processes[0].send("GET", "/classes/Song?where=%7B%22secret%22%3A1%7D")
            let lines = processes.log.split(separator: "\n")
            let line = try #require(lines.first { $0.contains("path=/parse/classes/Song ") })
            let form =
                /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info roost: id=\w+ method=GET ms=[\d.]+ path=\S+ status=200 request/
            #expect(line.wholeMatch(of: form) != nil, "\(line)")
            #expect(!processes.log.contains("secret"))
        }
    }

    @Test("With the option jsonLogs each line is an object of JSON")
    func json() async throws {
        try await ServerProcesses.run(1, ["logLevel": "info", "jsonLogs": true]) { processes in
            _ = try await processes[0].send("GET", "/classes/Song")
            let lines = processes.log.split(separator: "\n")
            let line = try #require(lines.first { $0.contains("/parse/classes/Song") })
            let object = try #require(try JSONValue(parsing: Array(line.utf8)).objectValue)
            #expect(object["level"] == "info")
            #expect(object["message"] == "request")
            #expect(object["method"] == "GET")
            #expect(object["status"] == "200")
            #expect(Set(object.keys) == ["timestamp", "level", "message", "id", "method", "path", "status", "ms"])
        }
    }
}
