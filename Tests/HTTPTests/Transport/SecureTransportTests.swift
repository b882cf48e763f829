import Foundation
import HTTP
import NIOSSL
import ServerConfiguration
import TestSupport
import Testing

@Suite("TLS", .timeLimit(.minutes(10))) struct SecureTransportTests {
    private static func run(
        limits: HTTPServer.Limits = HTTPServer.Limits(),
        _ body: (TransportSecurity, TransportClient) async throws -> Void
    ) async throws {
        let security = try TransportSecurity()
        defer { try? FileManager.default.removeItem(atPath: security.folder) }
        try await TransportServer.run(
            limits: limits, certificate: security.certificate,
            adjust: { configuration in
                configuration.https = Configuration.HTTPS(certificate: "", key: "")
                configuration.maxUploadSize = 4_000_000
            }, body: { try await body(security, $0) })
    }

    @Test("Serves TLS 1.2 and 1.3 with HSTS and https URLs, and rejects TLS 1.1")
    func versions() async throws {
        try await Self.run { security, plain in
            for version in [TLSVersion.tlsv12, .tlsv13] {
                let answer = try await security.client(plain, version).request(
                    "GET", "/parse/x", headers: TransportServer.client)
                #expect(answer.status == 200)
                #expect(answer.header("Strict-Transport-Security") == "max-age=31536000")
                #expect(answer.json["mountURL"]?.stringValue == "https://127.0.0.1:\(plain.port)/parse")
            }
            await #expect(throws: (any Error).self) {
                _ = try await security.client(plain, .tlsv11).request("GET", "/parse/x")
            }
        }
        try await TransportServer.run { plain in
            let answer = try await plain.request("GET", "/parse/x", headers: TransportServer.client)
            #expect(answer.header("Strict-Transport-Security") == nil)
        }
    }

    @Test("Accepts only AEAD cipher suites with TLS 1.2")
    func ciphers() async throws {
        try await Self.run { security, plain in
            let suites: [(NIOTLSCipher, Bool)] = [
                (.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, true), (.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, true),
                (.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, true),
                (.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, false), (.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA, false),
            ]
            for (suite, isTaken) in suites {
                let client = try security.client(plain, .tlsv12, cipher: suite)
                let answer = try? await client.request("GET", "/parse/x", headers: TransportServer.client)
                #expect((answer?.status == 200) == isTaken, "\(suite)")
            }
        }
    }

    @Test("Warns about an expired certificate until a valid one is loaded")
    func ended() async throws {
        let security = try TransportSecurity()
        defer { try? FileManager.default.removeItem(atPath: security.folder) }
        #expect(security.certificate.warning == nil)
        try security.authority.write(for: "one.example", end: -60, to: security.folder)
        try security.certificate.reload()
        let path = security.folder + "/certificate.pem"
        #expect(security.certificate.warning?.hasPrefix("the certificate \(path) expired at ") == true)
        try security.authority.write(for: "one.example", to: security.folder)
        try security.certificate.reload()
        #expect(security.certificate.warning == nil)
    }

    @Test("Doesn't respond to plain HTTP or under another host name, and keeps serving other clients")
    func strangers() async throws {
        try await Self.run { security, plain in
            await #expect(throws: (any Error).self) { _ = try await plain.request("GET", "/parse/x") }
            await #expect(throws: (any Error).self) {
                _ = try await security.client(plain, for: "two.example").request("GET", "/parse/x")
            }
            let answer = try await security.client(plain).request("GET", "/parse/x", headers: TransportServer.client)
            #expect(answer.status == 200)
        }
    }

    @Test("Transfers several large bodies and responses over one TLS connection")
    func large() async throws {
        try await Self.run { security, plain in
            let body = Array("{\"text\":\"\(String(repeating: "é", count: 1_000_000))\"}".utf8)
            let head =
                "POST /parse/x HTTP/1.1\r\nHost: x\r\nX-Parse-Application-Id: app\r\n"
                + "X-Parse-REST-API-Key: rest\r\nContent-Length: \(body.count)\r\n\r\n"
            let get =
                "GET /parse/large/3 HTTP/1.1\r\nHost: x\r\nX-Parse-Application-Id: app\r\n"
                + "X-Parse-REST-API-Key: rest\r\n\r\n"
            try await security.client(plain).connect { connection in
                for _ in 1...3 {
                    try await connection.send(Array(head.utf8) + body)
                    let answer = try await connection.receive()
                    #expect(answer?.json["body"]?["text"]?.stringValue?.utf8.count == 2_000_000)
                    try await connection.send(get)
                    #expect(try await connection.receive()?.body.count == 3 * 1024 * 1024)
                }
            }
        }
    }

    @Test("Closes connections that don't finish the TLS handshake in time")
    func handshake() async throws {
        var limits = HTTPServer.Limits()
        limits.handshake = .milliseconds(300)
        try await Self.run(limits: limits) { security, plain in
            for text in ["", "\u{16}\u{3}\u{1}\u{1}"] {
                let start = ContinuousClock.now
                try await plain.connect { connection in
                    if !text.isEmpty { try await connection.send(text) }
                    while try await connection.receive() != nil {}
                }
                // An idle connection would have sixty seconds.
                #expect(ContinuousClock.now - start < .seconds(50))
            }
        }
        // After the handshake, the usual time limits apply. On a busy machine, a handshake takes long, too.
        limits.handshake = .seconds(8)
        try await Self.run(limits: limits) { security, plain in
            try await security.client(plain).connect { connection in
                try await connection.send("GET /parse/x HTTP/1.1\r\nHost: x\r\n")
                try await Task.sleep(for: .seconds(10))
                try await connection.send("X-Parse-Application-Id: app\r\nX-Parse-REST-API-Key: rest\r\n\r\n")
                #expect(try await connection.receive()?.status == 200)
            }
        }
    }

    @Test("Disconnects a TLS client that doesn't read a large response")
    func unread() async throws {
        var limits = HTTPServer.Limits()
        limits.stall = .milliseconds(500)
        try await Self.run(limits: limits) { security, plain in
            let get =
                "GET /parse/large/100 HTTP/1.1\r\nHost: x\r\nX-Parse-Application-Id: app\r\n"
                + "X-Parse-REST-API-Key: rest\r\n\r\n"
            try await security.client(plain).connect { connection in
                try await connection.send(get)
                // Nothing is read until the connection can't be written to any more.
                #expect(try await connection.drips(" "))
                #expect(try await connection.receive() == nil)
            }
        }
    }

    @Test("A reloaded certificate applies to new connections, keeps open ones and ignores invalid files")
    func reload() async throws {
        try await Self.run { security, plain in
            let get =
                "GET /parse/x HTTP/1.1\r\nHost: x\r\nX-Parse-Application-Id: app\r\n"
                + "X-Parse-REST-API-Key: rest\r\n\r\n"
            try await security.client(plain).connect { connection in
                try await connection.send(get)
                #expect(try await connection.receive()?.status == 200)
                try security.authority.write(for: "two.example", to: security.folder)
                try security.certificate.reload()
                try await connection.send(get)
                #expect(try await connection.receive()?.status == 200)
            }
            func expectTwo() async throws {
                let answer = try await security.client(plain, for: "two.example").request(
                    "GET", "/parse/x", headers: TransportServer.client)
                #expect(answer.status == 200)
            }
            try await expectTwo()
            let files = ["/certificate.pem", "/key.pem"]
            for file in files {
                let path = security.folder + file
                let good = try String(contentsOfFile: path, encoding: .utf8)
                for bad in ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
                    try bad.write(toFile: path, atomically: true, encoding: .utf8)
                    #expect(throws: ServerCertificate.Unusable.self) { try security.certificate.reload() }
                }
                try good.write(toFile: path, atomically: true, encoding: .utf8)
            }
            // The key of a different certificate.
            try security.authority.certificate(for: "x").key.write(
                toFile: security.folder + "/key.pem", atomically: true, encoding: .utf8)
            #expect(throws: ServerCertificate.Unusable.self) { try security.certificate.reload() }
            try await expectTwo()
        }
    }
}
