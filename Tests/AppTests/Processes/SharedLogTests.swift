import Foundation
import JSON
import TestSupport
import Testing

/// Two processes whose lines are in the database.
@Suite("The log of several processes")
struct SharedLogTests {
    @Test("Whichever process is asked shows the lines of both, in order, after their end as well")
    func both() async throws {
        let options: JSONObject = [
            "logLevel": "info", "logStore": "database", "masterKeyIps": ["127.0.0.1"], "trustProxy": "loopback",
        ]
        try await ServerProcesses.run(2, options) { processes in
            let ids = (0..<20).map { "shared-\($0)" }
            for (index, id) in ids.enumerated() {
                _ = try await processes[index % 2].send(
                    "GET", "/classes/Song", as: .master, headers: ["X-Request-Id": id])
            }
            func shown(_ server: TestServer, _ query: String) async throws -> [JSONValue] {
                let answer = try await server.send("GET", "/scriptlog?n=200&\(query)", as: .master)
                return answer.json.arrayValue?.filter { ids.contains($0["id"]?.stringValue ?? "") } ?? []
            }
            for server in processes.servers {
                let haveCome = try await eventually { try await shown(server, "").count == ids.count }
                #expect(haveCome)
                let ascending = try await shown(server, "order=asc")
                // A line is written after the answer, so that of the next request may come before it.
                #expect(Set(ascending.compactMap { $0["id"]?.stringValue }) == Set(ids))
                let times = ascending.compactMap { $0["timestamp"]?.stringValue }
                #expect(times.count == ids.count && times == times.sorted())
                let descending = try await shown(server, "")
                #expect(descending == ascending.reversed())
                #expect(Set(descending.compactMap { $0["process"]?.stringValue }).count == 2)
                let one = try await server.send("GET", "/scriptlog?requestId=shared-7", as: .master)
                #expect(one.json.arrayValue?.count == 1 && one.json.arrayValue?.first?["status"] == 200)
                let errors = try await shown(server, "level=error")
                #expect(errors.isEmpty)
            }
        }
    }
}
