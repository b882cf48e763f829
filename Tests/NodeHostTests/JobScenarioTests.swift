import JSON
import TestSupport
import Testing

@Suite("Jobs in JavaScript")
struct JobScenarioTests {
    private static func row(_ server: TestServer, _ id: String) async throws -> TestAnswer {
        try await server.send("GET", "/classes/_JobStatus/\(id)", as: .master)
    }

    @Test("Rejects a second start of a job with the same request id")
    func idempotency() async throws {
        let code = "Parse.Cloud.job('once', () => 'ok');"
        let options: JSONObject = ["idempotencyOptions": ["paths": [".*"], "ttl": 60]]
        try await CloudApp.serve(["main.js": code], options) { server, _ in
            for path in ["/jobs/once", "/jobs"] {
                let headers = ["X-Parse-Request-Id": "id of \(path)"]
                let first = try await server.send("POST", path, ["jobName": "once"], as: .master, headers: headers)
                #expect(first.status == 200, "\(first.text)")
                let second = try await server.send("POST", path, ["jobName": "once"], as: .master, headers: headers)
                #expect(second.code == 159, "\(second.text)")
            }
            #expect(try await server.find("_JobStatus", as: .master).results.count == 2)
        }
    }

    @Test("Starts jobs in the background and stores their progress messages, results and errors")
    func jobs() async throws {
        try await CloudApp.serve(try CloudApp.files("scenarios")) { server, _ in
            #expect(try await server.send("POST", "/jobs/count", [:]).status == 403)
            let started = try await server.send(
                "POST", "/jobs/count", ["things": "sheep", "until": "Morning"], as: .master)
            #expect(started.status == 200 && started.json == [:], "\(started.text)")
            let id = try #require(started.headers["x-parse-job-status-id"])
            #expect(try await eventually { try await Self.row(server, id)["message"] == "counting sheep" })
            _ = try await server.create("Morning", [:])
            #expect(try await eventually { try await Self.row(server, id)["status"] == "succeeded" })
            #expect(try await Self.row(server, id)["message"] == "ok")
            let broken = try await server.send("POST", "/jobs/break", [:], as: .master)
            let other = try #require(broken.headers["x-parse-job-status-id"])
            #expect(try await eventually { try await Self.row(server, other)["status"] == "failed" })
            #expect(try await Self.row(server, other)["message"] == "broken")
            // Cloud code can start jobs, too, and gets the ids of their rows.
            let answer = try await server.call("start", ["things": "goats"])
            let third = try #require(answer["result"]?.stringValue, "\(answer.text)")
            #expect(try await eventually { try await Self.row(server, third)["status"] == "succeeded" })
        }
    }
}
