import Foundation
import JSON
import Subprocess
import TestSupport
import Testing

/// Client certificates for Apple's push service.
@Suite struct PushCertificateTests {
    /// Creates a PKCS#12 file like those exported by Apple's tools.
    private static func archive(_ pair: (certificate: String, key: String), password: String) async throws -> String {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-p12-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try "\(pair.certificate)\n\(pair.key)\n".write(
            toFile: folder + "/both.pem", atomically: true, encoding: .utf8)
        let result = try await Subprocess.run(
            .name("openssl"),
            arguments: [
                "pkcs12", "-export", "-in", "\(folder)/both.pem", "-out", "\(folder)/out.p12", "-passout",
                "pass:\(password)",
            ], output: .discarded, error: .string(limit: 4096))
        try #require(result.terminationStatus.isSuccess, "\(result.standardError)")
        return try Data(contentsOf: URL(fileURLWithPath: folder + "/out.p12")).base64EncodedString()
    }

    private static func expectSent(_ changes: JSONObject, _ sink: PushSink) async throws {
        sink.forget()
        let entry = sink.identity.place("app.one", port: sink.port).merging(changes) { $1 }
        try await TestServer.run(["push": ["ios": .object(entry)]]) { server in
            try await PushFixture.device(server, "ab01")
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(row["numSent"] == 1, "\(row.text)")
            let notification = try #require(sink.notifications.first)
            #expect(notification.headers["authorization"] == nil && notification.headers["apns-topic"] == "app.one")
        }
    }

    @Test("Authenticates to APNs with a PEM or PKCS#12 certificate instead of a token")
    func certificates() async throws {
        var manners = PushSink.Manners()
        manners.wantsCertificates = true
        try await PushSink.run(manners) { sink in
            let pair = try sink.identity.clientCertificate()
            try await Self.expectSent(["cert": .string(pair.certificate), "key": .string(pair.key)], sink)
            for password in ["secret", ""] {
                let archive = try await Self.archive(pair, password: password)
                try await Self.expectSent(["pfx": .string(archive), "passphrase": .string(password)], sink)
            }
        }
    }

    @Test("Refuses to start with an unusable certificate and reports the reason")
    func unusable() async throws {
        let identity = try PushSink.Identity()
        let pair = try identity.clientCertificate()
        let ended = try identity.clientCertificate(end: -60)
        let archive = try await Self.archive(pair, password: "secret")
        let cases: [(JSONObject, String)] = [
            (["pfx": .string(archive), "passphrase": "wrong"], "the passphrase is wrong"),
            (["pfx": "none.p12"], "nor a readable file"),
            (["cert": .string(pair.certificate), "key": "none.pem"], "nor a readable file"),
            (["cert": .string(pair.certificate), "key": .string(pair.certificate)], "cert or key is not valid PEM"),
            (["cert": .string(ended.certificate), "key": .string(ended.key)], "the certificate expired"),
        ]
        for (changes, words) in cases {
            let entry = identity.place("app.one", port: 1).merging(changes) { $1 }
            await #expect {
                try await TestServer.run(["push": ["ios": .object(entry)]]) { _ in }
            } throws: { error in
                "\(error)".contains(words)
            }
        }
    }
}
