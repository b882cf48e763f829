import Crypto
import Foundation
import JSON
import TestSupport
import Testing

/// Web push over TLS to stand-ins for the browsers' push services.
@Suite struct BrowserPushTests {
    private struct Browser: Sendable {
        let key = P256.KeyAgreement.PrivateKey()
        let secret = SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) }
        let path: String

        var token: String {
            let subscription: JSONValue = [
                "endpoint": .string("https://updates.push.services.mozilla.com\(path)"),
                "keys": [
                    "p256dh": .string(BrowserPushTests.text(Array(key.publicKey.x963Representation))),
                    "auth": .string(BrowserPushTests.text(secret)),
                ],
            ]
            return subscription.text
        }

        /// Decrypts a record (RFC 8188, RFC 8291), or returns nil if it is invalid.
        func decrypt(_ record: [UInt8]) throws -> JSONValue {
            let salt = record[..<16]
            let length = Int(record[20])
            let sender = record[21..<(21 + length)]
            let box = record[(21 + length)...]
            let shared = try key.sharedSecretFromKeyAgreement(
                with: P256.KeyAgreement.PublicKey(x963Representation: sender))
            let info = Array("WebPush: info\0".utf8) + Array(key.publicKey.x963Representation) + sender
            let input = shared.hkdfDerivedSymmetricKey(
                using: SHA256.self, salt: secret, sharedInfo: info, outputByteCount: 32)
            func derive(_ name: String, _ count: Int) -> SymmetricKey {
                HKDF<SHA256>.deriveKey(
                    inputKeyMaterial: input, salt: Array(salt), info: Array("Content-Encoding: \(name)\0".utf8),
                    outputByteCount: count)
            }
            let nonce = try derive("nonce", 12).withUnsafeBytes { try AES.GCM.Nonce(data: Data($0)) }
            let sealed = try AES.GCM.SealedBox(nonce: nonce, ciphertext: box.dropLast(16), tag: box.suffix(16))
            var text = Array(try AES.GCM.open(sealed, using: derive("aes128gcm", 16)))
            #expect(text.popLast() == 2)
            return try JSONValue(parsing: text)
        }
    }

    private static func text(_ bytes: [UInt8]) -> String {
        let plain = Data(bytes).base64EncodedString()
        return plain.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private static func bytes(_ text: Substring) -> Data? {
        var plain = text.replacing("-", with: "+").replacing("_", with: "/")
        plain += String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
        return Data(base64Encoded: String(plain))
    }

    /// Returns the claims of a VAPID token signed by the key, or nil if it isn't one.
    private static func claims(_ authorization: String?, _ key: P256.Signing.PublicKey) throws -> JSONValue? {
        guard let authorization, authorization.hasPrefix("vapid t="),
            authorization.hasSuffix(", k=\(text(Array(key.x963Representation)))")
        else { return nil }
        let token = authorization.dropFirst(8).prefix { $0 != "," }
        let parts = token.split(separator: ".")
        guard parts.count == 3, let signature = bytes(parts[2]), let claims = bytes(parts[1]),
            let header = bytes(parts[0]), try JSONValue(parsing: Array(header))["alg"] == "ES256",
            key.isValidSignature(
                try P256.Signing.ECDSASignature(rawRepresentation: signature),
                for: Array("\(parts[0]).\(parts[1])".utf8))
        else { return nil }
        return try JSONValue(parsing: Array(claims))
    }

    @Test("Encrypts and signs web push per browser, removes gone subscriptions, and calls no other host")
    func web() async throws {
        let key = P256.Signing.PrivateKey()
        let answer: IdentityStandIn.Answer = { request in
            .init("", status: request.path == "/gone" ? 410 : request.path == "/foreign" ? 403 : 201)
        }
        try await IdentityStandIn.run(answer) { standIn in
            var options = standIn.options
            options["push"] = [
                "web": ["vapidDetails": Self.details(key), "urgency": "high", "TTL": 3600]
            ]
            try await TestServer.run(options) { server in
                let browsers = ["/one", "/two", "/gone"].map { Browser(path: $0) }
                for browser in browsers { try await PushFixture.device(server, browser.token, "web") }
                for token in [
                    browsers[0].token.replacing(
                        "updates.push.services.mozilla.com", with: "10.0.0.1%00.push.apple.com"),
                    "x", #"{"endpoint":"https://127.0.0.1/a","keys":{"p256dh":"a","auth":"b"}}"#,
                    browsers[0].token.replacing("updates.push.services.mozilla.com", with: "10.0.0.1"),
                    browsers[0].token.replacing("https://", with: "http://"),
                ] {
                    try await PushFixture.device(server, token, "web")
                }
                let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "héllo", "own": 1]])
                #expect(row["numSent"] == 2 && row["numFailed"] == 6, "\(row.text)")
                #expect(row["sentPerType"] == ["web": 2])
                #expect(Set(standIn.requests.map(\.host)) == ["updates.push.services.mozilla.com"])
                #expect(standIn.requests.count == 3)
                for browser in browsers {
                    let request = try #require(standIn.requests.first { $0.path == browser.path })
                    #expect(try browser.decrypt(request.bytes) == ["alert": "héllo", "own": 1])
                    #expect(request.headers["content-encoding"] == "aes128gcm")
                    #expect(request.headers["ttl"] == "3600" && request.headers["urgency"] == "high")
                    let claims = try #require(try Self.claims(request.headers["authorization"], key.publicKey))
                    #expect(claims["aud"] == "https://updates.push.services.mozilla.com")
                    #expect(claims["sub"] == "mailto:push@songs.example")
                    let left = (claims["exp"]?.numberValue ?? 0) - Date.now.timeIntervalSince1970
                    #expect((3600...86_400).contains(left))
                }
                let left = try await PushFixture.tokens(server)
                #expect(left.count == 7 && !left.contains(browsers[2].token))
                // A subscription for another key is rejected, without affecting others.
                try await PushFixture.device(server, Browser(path: "/foreign").token, "web")
                for (id, topic) in [("a_b-1", "a_b-1"), ("a:b", nil)] as [(String, String?)] {
                    let row = try await PushFixture.push(
                        server, ["where": [:], "data": ["alert": "x"], "collapse_id": .string(id)])
                    #expect(row["numSent"] == 2, "\(row.text)")
                    #expect(try await PushFixture.failures(server, row).values.contains("status 403"))
                    // With an invalid topic, every push service would reject the notification.
                    let request = try #require(standIn.requests.last { $0.path == "/one" })
                    #expect(request.headers["topic"] == topic)
                }
            }
        }
    }

    @Test("Gives up on a browser's push service whose host doesn't exist")
    func noService() async throws {
        let key = P256.Signing.PrivateKey()
        try await TestServer.run(["push": ["web": ["vapidDetails": Self.details(key)]]]) { server in
            let token = Browser(path: "/x").token.replacing(
                "updates.push.services.mozilla.com", with: "no-such-host.push.apple.com")
            try await PushFixture.device(server, token, "web")
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(row["numSent"] == 0 && row["numFailed"] == 1, "\(row.text)")
        }
    }

    @Test("A busy push service doesn't delay browsers of others, and signed tokens are reused")
    func busyService() async throws {
        let key = P256.Signing.PrivateKey()
        let answer: IdentityStandIn.Answer = { request in
            request.host == "updates.push.services.mozilla.com"
                ? .init("", status: 503, headers: [("Retry-After", "60")]) : .init("", status: 201)
        }
        try await IdentityStandIn.run(answer) { standIn in
            var options = standIn.options
            options["push"] = ["web": ["vapidDetails": Self.details(key)], "queueOptions": ["batchSize": 80]]
            try await TestServer.run(options) { server in
                for number in 0..<80 {
                    try await PushFixture.device(server, Browser(path: "/\(number)").token, "web")
                    let other = Browser(path: "/\(number)").token.replacing(
                        "updates.push.services.mozilla.com", with: "web.push.apple.com")
                    try await PushFixture.device(server, other, "web")
                }
                _ = try await server.send("POST", "/push", ["where": [:], "data": ["alert": "x"]], as: .master)
                    .succeeded()
                func requests(_ host: String) -> [IdentityStandIn.Request] {
                    standIn.requests.filter { $0.host == host }
                }
                let isSent = try await eventually(within: .seconds(50)) { requests("web.push.apple.com").count == 80 }
                #expect(isSent, "\(requests("web.push.apple.com").count)")
                let busy = requests("updates.push.services.mozilla.com").map(\.path)
                #expect(Set(busy).count == busy.count && busy.count < 80)
                // Some of the first tokens may be signed concurrently.
                let signed = Set(requests("web.push.apple.com").map { $0.headers["authorization"] ?? "" })
                #expect(signed.count < 70, "\(signed.count)")
            }
        }
    }

    private static func details(_ key: P256.Signing.PrivateKey) -> JSONValue {
        [
            "subject": "mailto:push@songs.example",
            "publicKey": .string(text(Array(key.publicKey.x963Representation))),
            "privateKey": .string(text(Array(key.rawRepresentation))),
        ]
    }
}
