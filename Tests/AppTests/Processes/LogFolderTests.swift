import Foundation
import JSON
import TestSupport
import Testing

@Suite("The folder of logs")
struct LogFolderTests {
    @Test("/scriptlog reads the files, also those of a process before, and finds the lines of one request")
    func folder() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-logs-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let options: JSONObject = [
            "logLevel": "info", "logsFolder": .string(folder), "masterKeyIps": ["127.0.0.1"],
        ]
        try await ServerProcesses.run(1, options) { processes in
            let answer = try await processes[0].send(
                "GET", "/classes/Song?limit=1", headers: ["X-Parse-Client-Version": "js9.8.7"])
            #expect(answer.status == 200)
        }
        try await ServerProcesses.run(1, options) { processes in
            let server = processes[0]
            _ = try await server.send("GET", "/classes/Song", as: .master)
            let isThere = try await eventually {
                let answer = try await server.send("GET", "/scriptlog?n=100", as: .master)
                return answer.json.arrayValue?.contains { $0["power"] == "master" } ?? false
            }
            #expect(isThere)
            for from in ["-9223372036854775808", "9e18", "1e300"] {
                #expect(try await server.send("GET", "/scriptlog?from=\(from)", as: .master).status == 200)
            }
            let before = try await server.send("GET", "/scriptlog?text=js9.8.7", as: .master)
            #expect(before.json.arrayValue?.count == 1)
            let id = try #require(before.json.arrayValue?.first?["id"]?.stringValue)
            let found = try await server.send("GET", "/scriptlog?requestId=\(id)", as: .master)
            #expect(found.json.arrayValue?.count == 1)
            #expect(found.json.arrayValue?.first?["url"] == "/parse/classes/Song")
            #expect(found.json.arrayValue?.first?["status"] == 200)
        }
    }
}
