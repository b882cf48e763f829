import Foundation
import JSON
import TestSupport
import Testing

@Suite("HTTPS certificates of a server process", .timeLimit(.minutes(10))) struct CertificateTests {
    /// A folder with certificate files, and a server process that uses them.
    private struct Process {
        let authority: TestAuthority
        let folder: String
        let port: Int
        let process: CrashProcess

        var log: String { (try? String(contentsOfFile: folder + "/log.txt", encoding: .utf8)) ?? "" }

        func get(_ host: String) async -> Int? {
            guard let client = try? SecureClient(to: host, trusting: authority) else { return nil }
            let answer = try? await client.get("/parse/health", port: port)
            await client.shutdown()
            return answer?.status
        }
    }

    private static func run(_ body: @Sendable (Process) async throws -> Void) async throws {
        try await TestServer.withDatabase { uri in
            let folder = FileManager.default.temporaryDirectory.path + "/roost-certificate-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let authority = try TestAuthority()
            try authority.write(for: "one.example", to: folder)
            let port = try await FreePort.find()
            let options: JSONObject = [
                "appId": "app", "masterKey": "master", "host": "127.0.0.1", "port": .number(Double(port)),
                "databaseURI": .string(uri), "https": ["certificate": "certificate.pem", "key": "key.pem"],
            ]
            try Data(options.serialized()).write(to: URL(fileURLWithPath: folder + "/roost.json"))
            let process = try await CrashProcess.start(
                [CrashServer.findBinary(), "serve", folder + "/roost.json"], output: folder + "/log.txt")
            let running = Process(authority: authority, folder: folder, port: port, process: process)
            do {
                let serves = try await eventually { await running.get("one.example") == 200 }
                try #require(serves, "\(running.log)")
                try await body(running)
            } catch {
                kill(process.identifier, SIGKILL)
                throw error
            }
            kill(process.identifier, SIGTERM)
            let ended = try await eventually { !process.isRunning }
            #expect(ended)
            if !ended { kill(process.identifier, SIGKILL) }
        }
    }

    @Test("SIGHUP reloads the certificate; open connections continue, and an invalid file keeps the old one")
    func renewal() async throws {
        try await Self.run { running in
            #expect(running.log.contains("https://127.0.0.1:\(running.port)/parse"))
            let open = try SecureClient(to: "one.example", trusting: running.authority)
            let first = try await open.get("/parse/health", port: running.port)
            #expect(first.headers["strict-transport-security"] == "max-age=31536000")

            try running.authority.write(for: "two.example", to: running.folder)
            kill(running.process.identifier, SIGHUP)
            let isRenewed = try await eventually { await running.get("two.example") == 200 }
            #expect(isRenewed, "\(running.log)")
            // Only the old connection still has the old certificate.
            #expect(try await open.get("/parse/health", port: running.port).status == 200)
            #expect(await running.get("one.example") == nil)
            await open.shutdown()

            try "no certificate".write(
                toFile: running.folder + "/certificate.pem", atomically: true, encoding: .utf8)
            kill(running.process.identifier, SIGHUP)
            let isTold = try await eventually { running.log.contains("certificate not reloaded, keeping the old one") }
            #expect(isTold, "\(running.log)")
            #expect(running.log.contains("\(running.folder)/certificate.pem can't be read"))
            #expect(await running.get("two.example") == 200)
            #expect(running.process.isRunning)

            #expect(!running.log.contains("Renew it"))
            try running.authority.write(for: "two.example", end: -60, to: running.folder)
            kill(running.process.identifier, SIGHUP)
            let isWarned = try await eventually { running.log.contains("certificate.pem expired at") }
            #expect(isWarned, "\(running.log)")
        }
    }

    @Test(
        "Refuses to start with unusable certificate files and names them; warns of expired ones",
        arguments: [
            ("missing.pem", "key.pem", "missing.pem can't be read: No such file or directory"),
            ("certificate.pem", "missing.pem", "missing.pem can't be read: No such file or directory"),
            ("key.pem", "key.pem", "key.pem can't be read: it contains no PEM certificate"),
            ("certificate.pem", "certificate.pem", "certificate.pem can't be read: it contains no unencrypted PEM key"),
            ("certificate.pem", "other/key.pem", "does not match the certificate"),
            // The start fails without a database, after the warning.
            ("ended/certificate.pem", "ended/key.pem", "ended/certificate.pem expired at"),
        ])
    func unusable(certificate: String, key: String, text: String) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-certificate-\(UUID().uuidString)"
        for name in ["other", "ended"] {
            try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
        }
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let authority = try TestAuthority()
        try authority.write(for: "one.example", to: folder)
        try authority.write(for: "one.example", to: folder + "/other")
        try authority.write(for: "one.example", end: -60, to: folder + "/ended")
        let options: JSONObject = [
            "appId": "app", "masterKey": "master", "databaseURI": "postgres://127.0.0.1:1/none",
            "https": ["certificate": .string(certificate), "key": .string(key)],
        ]
        try Data(options.serialized()).write(to: URL(fileURLWithPath: folder + "/roost.json"))
        let process = try await CrashProcess.start(
            [CrashServer.findBinary(), "serve", folder + "/roost.json"], output: folder + "/log.txt")
        let isOver = try await eventually { !process.isRunning }
        #expect(isOver)
        if !isOver { kill(process.identifier, SIGKILL) }
        #expect(process.end == .exit(status: 1))
        let log = try String(contentsOfFile: folder + "/log.txt", encoding: .utf8)
        #expect(log.contains(text), "\(log)")
    }
}
