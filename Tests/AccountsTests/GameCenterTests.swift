import Foundation
import JSON
import TestSupport
import Testing

@Suite struct GameCenterTests {
    private static let provider: JSONValue = [
        "bundleId": "app.music", "rootCertificateUrl": "https://authority.example/root.pem",
    ]

    @Test("Accepts a player's signature, and rejects other players, keys, apps, hosts and old timestamps")
    func players() async throws {
        let key = try PlayerKey()
        let other = try PlayerKey()
        let answer: IdentityStandIn.Answer = { request in
            .init(request.host == "authority.example" ? key.authority : key.certificate)
        }
        try await IdentityStandIn.run(answer) { standIn in
            let options = standIn.options.merging(["auth": ["gcenter": Self.provider], "preset": 9]) { $1 }
            try await TestServer.run(options) { server in
                func logIn(_ data: JSONObject) async throws -> TestAnswer {
                    try await server.send("POST", "/users", ["authData": ["gcenter": .object(data)]])
                }
                let right = try key.loginData("G:1", bundle: "app.music")
                #expect(try await logIn(right).status == 201)
                #expect(try await logIn(right).status == 200)
                #expect(standIn.requests.count == 2, "certificates are cached")
                let evil = "https://apple.com.evil.example/a.cer"
                let refused: [(String, JSONObject, String)] = [
                    ("another player", right.merging(["id": "G:2"]) { $1 }, "Invalid signature."),
                    ("another key", try other.loginData("G:1", bundle: "app.music"), "Invalid signature."),
                    ("another app", try key.loginData("G:1", bundle: "app.evil"), "Invalid signature."),
                    ("another bundleId", right.merging(["bundleId": "app.evil"]) { $1 }, "Invalid bundleId."),
                    (
                        "an old timestamp", try key.loginData("G:1", bundle: "app.music", at: Date() - 90_000),
                        "Invalid signature."
                    ),
                    ("no salt", right.filter { $0.key != "salt" }, "AuthData salt is missing."),
                    (
                        "another host", right.merging(["publicKeyUrl": .string(evil)]) { $1 },
                        "Invalid publicKeyUrl: \(evil)"
                    ),
                    (
                        "a publicKeyUrl that isn't a string", right.merging(["publicKeyUrl": ["$ne": 1]]) { $1 },
                        "Invalid publicKeyUrl: "
                    ),
                ]
                for (name, data, text) in refused {
                    let answer = try await logIn(data)
                    #expect(answer.code == 101 && answer.error == text, "\(name): \(answer.text)")
                }
                #expect(standIn.requests.count == 2)
            }
        }
    }

    @Test("Concurrent log-ins fetch each certificate once, and made-up certificate URLs cause few requests")
    func fetches() async throws {
        let key = try PlayerKey()
        let port = try await FreePort.find()
        let answer: IdentityStandIn.Answer = { request in
            if request.path.contains("drawn") { return .init("", status: 404) }
            // All concurrent requests wait for this response. Later ones use the cached certificate.
            _ = try await eventually(within: .seconds(2)) {
                try await TestServer.metrics(at: port).activeRequests >= 8
            }
            return .init(request.host == "authority.example" ? key.authority : key.certificate)
        }
        try await IdentityStandIn.run(answer) { standIn in
            let options: JSONObject = ["auth": ["gcenter": Self.provider], "metrics": ["port": .number(Double(port))]]
            try await TestServer.run(standIn.options.merging(options) { $1 }) { server in
                @Sendable func logIn(_ data: JSONObject) async throws -> TestAnswer {
                    try await server.send("POST", "/users", ["authData": ["gcenter": .object(data)]])
                }
                let first = try await concurrently(8) { number in
                    try await logIn(try key.loginData("G:\(number)", bundle: "app.music")).status
                }
                #expect(first == Array(repeating: 201, count: 8))
                #expect(standIn.requests.count == 2)
                let right = try key.loginData("G:1", bundle: "app.music")
                let drawn = try await concurrently(60) { number in
                    let url: JSONValue = .string("https://x.apple.com/drawn\(number).cer")
                    return try await logIn(right.merging(["publicKeyUrl": url]) { $1 }).code
                }
                #expect(drawn.allSatisfy { $0 == 101 })
                #expect(standIn.requests.count <= 2 + 30)
                #expect(try await logIn(right).status == 200)
            }
        }
    }

    @Test("Rejects certificates that have expired or that the authority didn't sign", arguments: [false, true])
    func authority(isSigned: Bool) async throws {
        let key = try PlayerKey(end: isSigned ? -60 : 86_400)
        let authority = isSigned ? key.authority : try PlayerKey().authority
        let answer: IdentityStandIn.Answer = { request in
            .init(request.host == "authority.example" ? authority : key.certificate)
        }
        try await IdentityStandIn.run(answer) { standIn in
            try await TestServer.run(standIn.options.merging(["auth": ["gcenter": Self.provider]]) { $1 }) { server in
                let data = try key.loginData("G:1", bundle: "app.music")
                let answer = try await server.send("POST", "/users", ["authData": ["gcenter": .object(data)]])
                #expect(answer.code == 101, "\(answer.text)")
            }
        }
    }
}
