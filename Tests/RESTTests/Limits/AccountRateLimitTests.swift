import JSON
import TestSupport
import Testing

/// The built-in limits of log-ins, sign-ups and emails.
@Suite struct AccountRateLimitTests {
    private static func statuses(
        _ server: TestServer, _ count: Int, from address: @escaping @Sendable (Int) -> String, _ path: String
    ) async throws -> [Int: Int] {
        let answers = try await concurrently(count) { number in
            try await server.send(
                "POST", path, ["email": "nobody@example.com"], headers: ["X-Forwarded-For": address(number)])
        }
        return Dictionary(grouping: answers, by: \.status).mapValues(\.count)
    }

    @Test("Limits emails per public IPv4 address and per IPv6 network; private addresses are exempt")
    func mails() async throws {
        try await TestServer.run(["trustProxy": true]) { server in
            let path = "/requestPasswordReset"
            let one = try await Self.statuses(server, 120, from: { _ in "203.0.113.7" }, path)
            #expect(one[429] == 20, "\(one)")
            let other = try await Self.statuses(server, 10, from: { _ in "203.0.113.8" }, path)
            #expect(other[429] == nil, "\(other)")
            let network = try await Self.statuses(server, 120, from: { "2001:db8:1:2::\($0 + 1)" }, path)
            #expect(network[429] == 20, "\(network)")
            for address in ["10.1.2.3", "192.168.1.1", "fd00::1"] {
                let local = try await Self.statuses(server, 101, from: { _ in address }, path)
                #expect(local[429] == nil, "\(address): \(local)")
            }
            // A loopback address in the header doesn't make a client local.
            let written = try await Self.statuses(server, 101, from: { _ in "127.0.0.1" }, path)
            #expect(written[429] == 1, "\(written)")
        }
    }

    @Test("Counts each email request in a batch, unless accountRateLimit is false or the preset is 8")
    func batches() async throws {
        let call: JSONValue = [
            "method": "POST", "path": "/parse/requestPasswordReset", "body": ["email": "nobody@example.com"],
        ]
        let batch: JSONValue = ["requests": .array(Array(repeating: call, count: 50))]
        let headers = ["X-Forwarded-For": "203.0.113.7"]
        try await TestServer.run(["trustProxy": true]) { server in
            for status in [200, 200, 429] {
                #expect(try await server.send("POST", "/batch", batch, headers: headers).status == status)
            }
            let answer = try await server.send("POST", "/requestPasswordReset", ["email": "a@b.c"], headers: headers)
            #expect(answer.status == 429)
            #expect(answer.code == 100)
            #expect(answer.error == "Too many requests.")
            #expect(answer.headers["retry-after"].flatMap { Int($0) }.map { (1...300).contains($0) } == true)
        }
        for options: JSONObject in [["accountRateLimit": false], ["preset": 8]] {
            try await TestServer.run(options.merging(["trustProxy": true]) { $1 }) { server in
                for _ in 1...3 {
                    let answer = try await server.send("POST", "/batch", batch, headers: headers)
                    #expect(answer.status == 200)
                }
            }
        }
    }

    @Test(
        "Limits log-in and sign-up requests to 1000 per address",
        arguments: ["/login", "/verifyPassword", "/challenge", "/users"])
    func school(path: String) async throws {
        try await TestServer.run(["trustProxy": true]) { server in
            // Requests without a name compute no password hash, but count like other log-ins.
            let answers = try await concurrently(1001) { _ in
                try await server.send("POST", path, [:], headers: ["X-Forwarded-For": "203.0.113.7"])
            }
            #expect(answers.count { $0.status == 429 } == 1)
            #expect(answers.count { $0.status == 400 } == 1000, "\(answers.first?.text ?? "")")
        }
    }
}
