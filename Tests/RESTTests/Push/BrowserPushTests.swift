import Crypto
import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// Web push and Expo over TLS, to a stand-in for their hosts.
@Suite struct BrowserPushTests {
    /// A browser that has subscribed.
    private struct Browser: Sendable {
        let key = P256.KeyAgreement.PrivateKey()
        let secret = SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) }
        let path: String

        /// The token of its installation.
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

        /// Reads a record of RFC 8188 as RFC 8291 says; nil for what is none.
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

    /// The claims of a VAPID token that the key has signed; nil for another.
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

    @Test("Web push is encrypted for each browser and signed; what is gone is cleared, and no other host is called")
    func web() async throws {
        let key = P256.Signing.PrivateKey()
        let answer: IdentityStandIn.Answer = { request in
            .init("", status: request.path == "/gone" ? 410 : request.path == "/foreign" ? 403 : 201)
        }
        try await IdentityStandIn.run(answer) { standIn in
            var options = standIn.options
            options["push"] = [
                "web": [
                    "vapidDetails": [
                        "subject": "mailto:push@songs.example",
                        "publicKey": .string(Self.text(Array(key.publicKey.x963Representation))),
                        "privateKey": .string(Self.text(Array(key.rawRepresentation))),
                    ],
                    "urgency": "high", "TTL": 3600,
                ]
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
                // One that has subscribed for another key is refused, and no other for it.
                try await PushFixture.device(server, Browser(path: "/foreign").token, "web")
                for (id, topic) in [("a_b-1", "a_b-1"), ("a:b", nil)] as [(String, String?)] {
                    let row = try await PushFixture.push(
                        server, ["where": [:], "data": ["alert": "x"], "collapse_id": .string(id)])
                    #expect(row["numSent"] == 2, "\(row.text)")
                    #expect(try await PushFixture.failures(server, row).values.contains("status 403"))
                    // What is no topic would have every browser's service refuse the notification.
                    let request = try #require(standIn.requests.last { $0.path == "/one" })
                    #expect(request.headers["topic"] == topic)
                }
            }
        }
    }

    @Test("A browser's service that there is not is given up after a few tries: a client has named it")
    func noService() async throws {
        let key = P256.Signing.PrivateKey()
        let details: JSONValue = [
            "subject": "mailto:push@songs.example",
            "publicKey": .string(Self.text(Array(key.publicKey.x963Representation))),
            "privateKey": .string(Self.text(Array(key.rawRepresentation))),
        ]
        try await TestServer.run(["push": ["web": ["vapidDetails": details]]]) { server in
            let token = Browser(path: "/x").token.replacing(
                "updates.push.services.mozilla.com", with: "no-such-host.push.apple.com")
            try await PushFixture.device(server, token, "web")
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(row["numSent"] == 0 && row["numFailed"] == 1, "\(row.text)")
        }
    }

    @Test("Expo gets a hundred at a time; a device that it does not know is cleared, and a busy Expo is asked again")
    func expo() async throws {
        try await WebhookServer.run { expo in
            let isFirst = Once()
            expo.on("--/api/v2/push/send") { call in
                if isFirst.take() { return .text("", status: 503, headers: [("Retry-After", "1")]) }
                let tickets = (call.body.arrayValue ?? []).map { message -> JSONValue in
                    message["to"] == "t3"
                        ? ["status": "error", "message": "x", "details": ["error": "DeviceNotRegistered"]]
                        : ["status": "ok", "id": "1"]
                }
                return .text(JSONValue.object(["data": .array(tickets)]).text)
            }
            let entry: JSONValue = [
                "accessToken": "secret", "endpoint": .string(String(expo.url("").dropLast())),
            ]
            try await TestServer.run(["push": ["expo": entry]]) { server in
                for number in 0..<250 { try await PushFixture.device(server, "t\(number)", "expo") }
                let row = try await PushFixture.push(
                    server, ["where": [:], "data": ["alert": "hello", "title": "t"]])
                #expect(row["numSent"] == 249 && row["numFailed"] == 1, "\(row.text)")
                let left = try await PushFixture.tokens(server)
                #expect(left.count == 249 && !left.contains("t3"))
                let calls = expo.calls("--/api/v2/push/send")
                // On a busy machine what is read late comes in a call of its own.
                #expect(calls.count >= 4 && calls.allSatisfy { $0.headers["authorization"] == "Bearer secret" })
                #expect(calls.allSatisfy { ($0.body.arrayValue ?? []).count <= 100 })
                let message = try #require(calls[1].body.arrayValue?.first)
                #expect(message["body"] == "hello" && message["title"] == "t" && message["to"] != nil)
            }
        }
    }

    @Test("What has expired when its turn comes is not sent, though its service knows no expiry")
    func expired() async throws {
        try await WebhookServer.run { expo in
            expo.on("--/api/v2/push/send") { _ in .text(#"{"data":[{"status":"ok","id":"1"}]}"#) }
            let entry: JSONValue = ["endpoint": .string(String(expo.url("").dropLast()))]
            try await TestServer.run(["push": ["expo": entry, "queueOptions": ["disablePushWorker": true]]]) { server in
                try await PushFixture.device(server, "t1", "expo")
                let answer = try await server.send(
                    "POST", "/push", ["where": [:], "data": ["alert": "x"], "expiration_interval": 3600], as: .master)
                let id = try #require(answer.headers["x-parse-push-status-id"])
                // As it is when what came before it took too long.
                try await server.execute(
                    """
                    INSERT INTO "_roost_push_range" ("pushId", "offset", "route", "number", "devices")
                    SELECT '\(id)', '', 'expo', 0, array_agg("objectId") FROM "_Installation";
                    DELETE FROM "_roost_push_part";
                    UPDATE "_roost_push" SET "expiry" = 1000;
                    UPDATE "_PushStatus" SET "status" = 'running', "count" = 1;
                    """)
                try await server.alongside(["push": ["expo": entry]]) { _ in
                    let row = try await PushFixture.row(server, id)
                    #expect(row["numSent"] == 0 && row["numFailed"] == 1, "\(row.text)")
                    let failures = try await PushFixture.failures(server, row)
                    #expect(failures == ["i-t1": "expired before it could be sent"])
                }
                #expect(expo.calls("--/api/v2/push/send").isEmpty)
            }
        }
    }

    @Test(
        "A token of another project has Expo refuse what stands beside it: it fails alone, and so does one without keys"
    )
    func foreignTokens() async throws {
        try await WebhookServer.run { expo in
            expo.on("--/api/v2/push/send") { call in
                let tokens = (call.body.arrayValue ?? []).compactMap { $0["to"]?.stringValue }
                if tokens.contains(where: { $0.hasPrefix("other") }) {
                    return .text(#"{"errors":[{"code":"PUSH_TOO_MANY_EXPERIENCE_IDS"}]}"#, status: 400)
                }
                let tickets = tokens.map { token -> JSONValue in
                    token == "keyless"
                        ? ["status": "error", "details": ["error": "InvalidCredentials"]] : ["status": "ok", "id": "1"]
                }
                return .text(JSONValue.object(["data": .array(tickets)]).text)
            }
            let entry: JSONValue = ["endpoint": .string(String(expo.url("").dropLast()))]
            try await TestServer.run(["push": ["expo": entry]]) { server in
                for number in 0..<60 { try await PushFixture.device(server, "t\(number)", "expo") }
                for token in ["other1", "other2", "keyless"] { try await PushFixture.device(server, token, "expo") }
                for _ in 0..<2 {
                    let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
                    #expect(row["numSent"] == 60 && row["numFailed"] == 3, "\(row.text)")
                    let reasons = try await PushFixture.failures(server, row)
                    #expect(
                        reasons == [
                            "i-other1": "status 400", "i-other2": "status 400", "i-keyless": "InvalidCredentials",
                        ])
                }
            }
        }
    }
}

/// Says yes once.
private final class Once: Sendable {
    private let isTaken = Mutex(false)

    func take() -> Bool {
        isTaken.withLock { isTaken in
            defer { isTaken = true }
            return !isTaken
        }
    }
}
