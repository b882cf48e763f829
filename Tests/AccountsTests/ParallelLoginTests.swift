import JSON
import TestSupport
import Testing

@Suite struct ParallelLoginTests {
    @Test("Concurrent log-ins from one installation leave a single valid session")
    func oneInstallation() async throws {
        try await TestServer.run { server in
            _ = try await server.signUp("kim")
            let phone = ["X-Parse-Installation-Id": "b5e0d8f4-0000-4000-8000-000000000001"]
            for _ in 0..<3 {
                let answers = try await concurrently(8) { _ in
                    try await server.send(
                        "POST", "/login", ["username": "kim", "password": "secret"], headers: phone)
                }
                #expect(answers.allSatisfy { $0.status == 200 })
                let left = try await server.texts(
                    "SELECT \"sessionToken\" FROM \"_Session\" WHERE \"installationId\" IS NOT NULL")
                #expect(left.count == 1)
                let good = try await concurrently(answers.count) { index in
                    try await server.send("GET", "/users/me", as: .session(answers[index].string("sessionToken")))
                        .status
                }
                #expect(good.count { $0 == 200 } == 1, "\(good)")
            }
        }
    }
}
