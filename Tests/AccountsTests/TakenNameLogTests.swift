import JSON
import TestSupport
import Testing

@Suite("Log entries for taken user names")
struct TakenNameLogTests {
    @Test(
        "Logs sign-ups with a taken name, in any case, at the configured level and without the name",
        arguments: [(nil, "info"), ("warn", "warning"), ("silent", nil)] as [(String?, String?)])
    func taken(level: String?, expected: String?) async throws {
        let lines = LogLines()
        let options: JSONObject = level.map { ["logLevels": ["signupUsernameTaken": .string($0)]] } ?? [:]
        try await TestServer.run(options, logger: lines.logger) { server in
            _ = try await server.send("POST", "/users", ["username": "anna", "password": "secret"]).succeeded()
            #expect(lines.all.allSatisfy { !$0.contains("is taken") })
            let second = try await server.send("POST", "/users", ["username": "Anna", "password": "secret"])
            #expect(second["code"] == 202)
        }
        let found = lines.all.filter { $0.contains("sign-up: the user name is taken") }
        #expect(
            found.map { $0.split(separator: " ").first.map(String.init) } == (expected.map { [$0] } ?? []), "\(found)")
        #expect(found.allSatisfy { !$0.contains("nna") })
    }
}
