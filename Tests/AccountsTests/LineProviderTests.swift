import Crypto
import Foundation
import JSON
import TestSupport
import Testing

/// Sign-in with LINE. Tokens from phones have ECDSA signatures, those from the web an HMAC with the channel secret.
@Suite(.timeLimit(.minutes(10))) struct LineProviderTests {
    private static let key = P256.Signing.PrivateKey()
    private static let secret = "a channel's secret"

    private static var published: JSONValue {
        let point = key.publicKey.rawRepresentation
        return [
            "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "line",
            "x": .string(IdentityKey.base64(point.prefix(32))), "y": .string(IdentityKey.base64(point.suffix(32))),
        ]
    }

    private static func claims(_ more: JSONObject = [:]) -> JSONObject {
        let claims: JSONObject = [
            "iss": "https://access.line.me", "aud": "channel", "sub": "kim",
            "exp": .number(Date().timeIntervalSince1970.rounded() + 600), "nonce": "n",
        ]
        return claims.merging(more) { $1 }
    }

    private static func ofPhone(_ more: JSONObject = [:]) throws -> JSONValue {
        let signed = try IdentityKey.unsigned(claims(more), ["alg": "ES256", "kid": "line"])
        let signature = try key.signature(for: Data(signed.utf8)).rawRepresentation
        return .string("\(signed).\(IdentityKey.base64(signature))")
    }

    private static func ofWeb(_ more: JSONObject = [:], secret: String = secret) throws -> JSONValue {
        let signed = try IdentityKey.unsigned(claims(more), ["alg": "HS256", "typ": "JWT"])
        let code = HMAC<SHA256>.authenticationCode(
            for: Data(signed.utf8), using: SymmetricKey(data: Data(secret.utf8)))
        return .string("\(signed).\(IdentityKey.base64(Data(code)))")
    }

    private static func run(
        _ options: JSONObject, _ body: @escaping @Sendable (TestServer) async throws -> Void
    ) async throws {
        let keys = IdentityStandIn.Reply(["keys": [published]])
        let answer: IdentityStandIn.Answer = { _ in keys }
        try await IdentityStandIn.run(answer) { standIn in
            let auth: JSONValue = ["line": .object(options)]
            try await TestServer.run(standIn.options.merging(["auth": auth]) { $1 }, body)
        }
    }

    private static func logIn(_ server: TestServer, _ data: JSONObject) async throws -> TestAnswer {
        try await server.send("POST", "/users", ["authData": ["line": .object(data)]])
    }

    @Test("Accepts phone and web tokens for the same user, and rejects forged, foreign and expired ones")
    func tokens() async throws {
        try await Self.run(["clientId": "channel", "clientSecret": .string(Self.secret)]) { server in
            let first = try await Self.logIn(server, ["id": "kim", "id_token": try Self.ofPhone(), "nonce": "n"])
            #expect(first.status == 201, "\(first.text)")
            // The user id is taken from the token.
            for token in [try Self.ofPhone(), try Self.ofWeb()] {
                let again = try await Self.logIn(server, ["id_token": token])
                #expect(again.status == 200 && again["objectId"] == first["objectId"], "\(again.text)")
            }
            let public64 = IdentityKey.base64(Self.key.publicKey.rawRepresentation)
            let refused: [(JSONObject, String)] = [
                (["id_token": try Self.ofWeb(secret: "another")], "invalid signature"),
                (["id_token": try Self.ofWeb(secret: "")], "invalid signature"),
                (["id_token": try Self.ofWeb(secret: public64)], "invalid signature"),
                (["id_token": try Self.ofWeb(["aud": "other"])], "jwt audience invalid. expected: channel"),
                (["id_token": try Self.ofWeb(["exp": 1])], "jwt expired"),
                (["id_token": try Self.ofWeb(), "id": "eve"], "auth data is invalid for this user."),
                (["id_token": try Self.ofPhone(), "id": "eve"], "auth data is invalid for this user."),
                (["id_token": try Self.ofPhone(), "nonce": "m"], "jwt nonce invalid."),
                (["id_token": try Self.ofWeb(), "nonce": "m"], "jwt nonce invalid."),
                (
                    ["id_token": try Self.ofWeb(["iss": "https://evil.example"])],
                    "id token not issued by correct OpenID provider - expected: https://access.line.me | from: "
                        + "https://evil.example"
                ),
            ]
            for (data, text) in refused {
                let answer = try await Self.logIn(server, data)
                #expect(answer.code == 101 && answer.error == text, "\(answer.text)")
            }
            #expect(try await server.texts("SELECT count(*)::text FROM \"_User\"") == ["1"])
        }
    }

    @Test("Without clientSecret, accepts tokens from phones, but no codes, web tokens or access tokens")
    func channel() async throws {
        try await Self.run(["clientId": "channel"]) { server in
            #expect(try await Self.logIn(server, ["id_token": try Self.ofPhone()]).status == 201)
            let code = try await Self.logIn(server, ["code": "c0de"])
            #expect(code.error == "Line clientSecret is required to exchange code for token.", "\(code.text)")
            for secret in ["", "channel", Self.secret] {
                let web = try await Self.logIn(server, ["id_token": try Self.ofWeb(secret: secret)])
                #expect(web.error == "Line clientSecret is required to verify HS256 id_token.", "\(web.text)")
            }
            let token = try await Self.logIn(server, ["id": "kim", "access_token": "t"])
            #expect(token.code == 142 && token.error == "Line code is required.", "\(token.text)")
        }
    }
}
