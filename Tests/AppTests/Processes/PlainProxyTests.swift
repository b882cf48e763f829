import Foundation
import JSON
import TestSupport
import Testing

/// Clients of a proxy on the server's machine must not count as local.
@Suite("Behind a plain proxy on the same machine")
struct PlainProxyTests {
    private static func ask(
        _ method: String, _ path: String, _ body: JSONValue? = nil, at server: TestServer,
        headers: [String: String] = [:]
    ) async throws -> TestAnswer {
        try await server.send(
            method, String(server.url.dropLast("/parse".count)) + path, body, as: .nobody, headers: headers)
    }

    private static func signIn(
        _ body: JSONValue, at server: TestServer, headers: [String: String] = [:]
    ) async throws -> TestAnswer {
        try await ask("POST", "/console/api/session", body, at: server, headers: headers)
    }

    /// The example's key is public, so the server prints a ticket even into a log.
    private static let exampleKey = "music-example-master-key"
    private static let options: JSONObject = [
        "masterKey": .string(exampleKey), "console": ["signIn": "thisMachine"],
    ]

    private static func printedTicket(_ processes: ServerProcesses) async throws -> String {
        let isPrinted = try await eventually { processes.log.contains("/console/#ticket=") }
        try #require(isPrinted, "\(processes.log)")
        return String(try #require(processes.log.firstMatch(of: /#ticket=([0-9a-f]+)/)).1)
    }

    @Test(
        "A proxied client can't sign in without a secret, and its failures lock out no valid ticket or key",
        arguments: PlainProxy.allCases)
    func session(proxy: PlainProxy) async throws {
        try await ServerProcesses.run(1, Self.options) { processes in
            let server = processes[0]
            let ticket: JSONValue = ["ticket": .string(try await Self.printedTicket(processes))]
            try await proxy.run(before: server) { proxied in
                // HAProxy forwards the host name that the client sends.
                let names = ["Host": String(server.url.dropFirst("http://".count).prefix { $0 != "/" })]
                for body: JSONValue in [[:], ["ticket": ""], ["ticket": .string(String(repeating: "0", count: 64))]] {
                    let answer = try await Self.signIn(body, at: proxied, headers: names)
                    #expect([401, 404].contains(answer.status), "\(body): \(answer.text)")
                    #expect(answer["token"] == nil)
                }
                for _ in 0..<12 {
                    _ = try await Self.signIn(["masterKey": "wrong"], at: proxied, headers: names)
                    _ = try await Self.signIn(["name": "kim", "password": "wrong"], at: server)
                }
                #expect(try await Self.signIn(["masterKey": "wrong"], at: server).status == 429)
                let key: JSONValue = ["masterKey": .string(Self.exampleKey)]
                // The printed ticket can be used more than once.
                for secret in [ticket, key, ticket] {
                    let answer = try await Self.signIn(secret, at: server)
                    #expect(answer.status == 200, "\(answer.text)")
                    #expect(answer["operator"]?["role"] == "owner")
                }
            }
        }
    }

    @Test("A console ticket is invalid once its process restarts")
    func ticket() async throws {
        try await ServerProcesses.run(1, Self.options) { processes in
            let ticket: JSONValue = ["ticket": .string(try await Self.printedTicket(processes))]
            #expect(try await Self.signIn(ticket, at: processes[0]).status == 200)
            try await processes.killAndStart(0)
            let isBack = try await eventually(within: .seconds(60)) {
                (try? await processes[0].send("GET", "/health", as: .nobody))?.status == 200
            }
            try #require(isBack)
            #expect(try await Self.signIn(ticket, at: processes[0]).status == 401)
        }
    }

    @Test("No X-Forwarded-For header makes a client local, and trustProxy: true logs a warning")
    func writtenAddress() async throws {
        let options: JSONObject = ["trustProxy": true, "console": ["enabled": true, "allowPlainHTTP": true]]
        try await ServerProcesses.run(1, options) { processes in
            let server = processes[0]
            #expect(processes.log.contains("option trustProxy: true trusts every client"))
            #expect(try await Self.ask("GET", "/console/", at: server).status == 200)
            #expect(try await server.send("GET", "/schemas", as: .master).status == 200)
            let name = String(server.url.dropFirst("http://".count).prefix { $0 != "/" })
            for written in ["127.0.0.1", "::1", "::ffff:127.0.0.1", "127.0.0.1, 127.0.0.1", "203.0.113.7", "garbage"] {
                let headers = ["X-Forwarded-For": written, "Host": name]
                try await Self.expectStranger(server, headers)
                for proxy in PlainProxy.allCases {
                    try await proxy.run(before: server) { try await Self.expectStranger($0, headers) }
                }
            }
        }
    }

    private static func expectStranger(_ server: TestServer, _ headers: [String: String]) async throws {
        let page = try await ask("GET", "/console/", at: server, headers: headers)
        #expect(page.status == 404, "\(headers): \(page.text.prefix(200))")
        let schemas = try await server.send("GET", "/schemas", as: .master, headers: headers)
        #expect(schemas.status == 403, "\(headers): \(schemas.text)")
    }

    @Test("Checks masterKeyIps against the client address that trustProxy selects")
    func ownHop() async throws {
        for (trust, written, status) in [
            (true, "10.1.1.1", 403), (1, "10.1.1.1", 403), (2, "10.1.1.1", 200), ("loopback", "10.1.1.1", 200),
            ("loopback", "10.1.1.1, 203.0.113.7", 403),
        ] as [(JSONValue, String, Int)] {
            try await ServerProcesses.run(1, ["trustProxy": trust, "masterKeyIps": ["10.0.0.0/8"]]) { processes in
                try await PlainProxy.appendingNginx.run(before: processes[0]) { proxied in
                    let answer = try await proxied.send(
                        "GET", "/schemas", as: .master, headers: ["X-Forwarded-For": written])
                    #expect(answer.status == status, "\(trust) \(written): \(answer.text)")
                }
            }
        }
    }
}
