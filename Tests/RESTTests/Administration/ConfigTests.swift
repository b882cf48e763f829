import JSON
import TestSupport
import Testing

@Suite struct ConfigTests {
    @Test("Only the master key updates config parameters, each separately; clients read them")
    func values() async throws {
        try await TestServer.run { server in
            #expect(try await server.send("GET", "/config")["params"] == [:])
            let refused = try await server.send("PUT", "/config", ["params": ["a": 1]])
            #expect(refused.status == 403)
            let parameters: JSONObject = [
                "welcome": "Hi", "limit": 15, "on": true, "list": [1, 2], "start": .date("2024-05-01T10:00:00.000Z"),
            ]
            let written = try await server.send("PUT", "/config", ["params": .object(parameters)], as: .master)
            #expect(written.status == 200)
            #expect(written.json == ["result": true])
            _ = try await server.send(
                "PUT", "/config", ["params": ["limit": .increment(5), "on": ["__op": "Delete"]]], as: .master
            ).succeeded()
            let read = try await server.send("GET", "/config")
            #expect(read["params"]?["welcome"] == "Hi")
            #expect(read["params"]?["limit"] == 20)
            #expect(read["params"]?["on"] == nil)
            #expect(read["params"]?["list"] == [1, 2])
            #expect(same(read["params"]?["start"], .date("2024-05-01T10:00:00.000Z")))
        }
    }
}
