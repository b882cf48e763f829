import JSON
import TestSupport
import Testing

/// Three processes on one database that receive conflicting requests concurrently. Exactly one may succeed.
@Suite("Concurrent requests to three processes", .serialized, .timeLimit(.minutes(10)))
struct ProcessContestTests {
    @Test("Of three concurrent sign-ups with one user name, exactly one succeeds")
    func names() async throws {
        try await ServerProcesses.run(3) { processes in
            for round in 1...50 {
                let user: JSONValue = ["username": .string("kim\(round)"), "password": "secret"]
                let answers = try await concurrently(3) { turn in
                    try await processes[turn].send("POST", "/users", user)
                }
                #expect(answers.count { $0.status == 201 } == 1, "round \(round): \(answers.map(\.text))")
                #expect(answers.count { $0.code == 202 } == 2, "round \(round): \(answers.map(\.text))")
            }
            let names = try await processes[0].texts("SELECT username FROM \"_User\"")
            #expect(Set(names) == Set((1...50).map { "kim\($0)" }) && names.count == 50)
        }
    }

    @Test("Of concurrent requests with one request id, exactly one is executed")
    func identifiers() async throws {
        let options: JSONObject = ["idempotencyOptions": ["paths": ["classes/Note"], "ttl": 60]]
        try await ServerProcesses.run(3, options) { processes in
            _ = try await processes[0].create("Note", ["round": 0])
            for round in 1...50 {
                let answers = try await concurrently(6) { turn in
                    try await processes[turn].send(
                        "POST", "/classes/Note", ["round": .number(Double(round))],
                        headers: ["X-Parse-Request-Id": "round-\(round)"])
                }
                #expect(answers.count { $0.status == 201 } == 1, "round \(round): \(answers.map(\.text))")
                #expect(answers.count { $0.code == 159 } == 5, "round \(round): \(answers.map(\.text))")
            }
            let rounds = try await processes[0].texts("SELECT round::text FROM \"Note\"")
            #expect(Set(rounds) == Set((0...50).map(String.init)) && rounds.count == 51)
        }
    }

    @Test("Six hundred concurrent increments lose nothing, and each returns a different value")
    func increments() async throws {
        try await ServerProcesses.run(3) { processes in
            let id = try await processes[0].create("Counter", ["n": 0])
            let path = "/classes/Counter/\(id)"
            let values = try await concurrently(12) { client in
                var values: [Double] = []
                for turn in 0..<50 {
                    let answer = try await processes[client + turn].send("PUT", path, ["n": .increment(1)]).succeeded()
                    values.append(try #require(answer["n"]?.numberValue))
                }
                return values
            }
            #expect(Set(values.joined()) == Set((1...600).map(Double.init)))
            for server in processes.servers {
                let counter = try await server.send("GET", path)
                #expect(counter["n"] == 600)
            }
        }
    }

    @Test("A rate limit stored in the database applies to all three processes together")
    func limits() async throws {
        let limit: JSONValue = [
            "requestPath": "/classes/Shared", "requestTimeWindow": 3_600_000, "requestCount": 10,
            "includeInternalRequests": true,
        ]
        try await ServerProcesses.run(3, ["rateLimitStore": "database", "rateLimit": [limit]]) { processes in
            let answers = try await concurrently(30) { turn in
                try await processes[turn].send("GET", "/classes/Shared")
            }
            #expect(answers.count { $0.status == 200 } == 10)
            #expect(answers.count { $0.status == 429 } == 20)
        }
    }
}
