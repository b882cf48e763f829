import JSON
import TestSupport
import Testing

/// The options that accept access tokens, which may have been issued to other apps.
@Suite struct InsecureSignInTests {
    private static let gitHub: JSONObject = ["clientId": "c", "clientSecret": "s"]

    @Test(
        "To accept access tokens, the provider's option takes precedence over the global one and the preset",
        arguments: [
            (7, nil, nil, true), (8, nil, nil, true), (9, nil, nil, false), (7, false, nil, false),
            (9, true, nil, true),
            (9, nil, true, true), (7, nil, false, false), (9, false, true, true), (7, true, false, false),
        ] as [(Double, Bool?, Bool?, Bool)])
    func tokens(preset: Double, global: Bool?, own: Bool?, areTaken: Bool) async throws {
        let answer: IdentityStandIn.Answer = { _ in .init(["id": 1]) }
        try await IdentityStandIn.run(answer) { standIn in
            var gitHub = Self.gitHub
            gitHub["enableInsecureAuth"] = own.map { .bool($0) }
            var options: JSONObject = ["preset": .number(preset), "auth": ["github": .object(gitHub)]]
            options["enableInsecureAuthAdapters"] = global.map { .bool($0) }
            try await TestServer.run(standIn.options.merging(options) { $1 }) { server in
                let body: JSONValue = ["authData": ["github": ["id": "1", "access_token": "t"]]]
                let answer = try await server.send("POST", "/users", body)
                if areTaken {
                    #expect(answer.status == 201, "\(answer.text)")
                } else {
                    #expect(answer.code == 142 && answer.error == "GitHub code is required.", "\(answer.text)")
                }
            }
        }
    }

    @Test("Rejects disabled providers and disabled anonymous users as unsupported")
    func turnedOff() async throws {
        let answer: IdentityStandIn.Answer = { _ in .init(["id": "1"]) }
        try await IdentityStandIn.run(answer) { standIn in
            let off: JSONObject = Self.gitHub.merging(["enabled": false, "enableInsecureAuth": true]) { $1 }
            let options: JSONObject = ["enableAnonymousUsers": false, "auth": ["github": .object(off)]]
            try await TestServer.run(standIn.options.merging(options) { $1 }) { server in
                for data: JSONValue in [
                    ["github": ["id": "1", "access_token": "t"]],
                    ["anonymous": ["id": "b5e0d8f4-0000-4000-8000-000000000001"]],
                ] {
                    let answer = try await server.send("POST", "/users", ["authData": data])
                    #expect(answer.code == 252, "\(answer.text)")
                    #expect(answer.error == "This authentication method is unsupported.")
                }
                #expect(standIn.requests.isEmpty)
            }
        }
    }
}
