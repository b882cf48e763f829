import Foundation
import JSON
import Subprocess
import TestTools

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// A mail server of a test's own, which keeps the mails that it is sent.
public struct MailCatcher: Sendable {
    /// The port that it listens on.
    public let port: Int
    private let folder: String

    /// A mail that came.
    public struct Mail: Sendable {
        private let json: JSONValue

        fileprivate init(_ json: JSONValue) { self.json = json }

        public var recipients: [String] { json["recipients"]?.arrayValue?.compactMap(\.stringValue) ?? [] }
        public var subject: String { json["subject"]?.stringValue ?? "" }
        /// What people see of the sender.
        public var from: String { json["from"]?.stringValue ?? "" }
        public var text: String { json["text"]?.stringValue ?? "" }
        public var html: String { json["html"]?.stringValue ?? "" }
        /// The bytes that came, with their header fields.
        public var raw: String {
            String(decoding: Data(base64Encoded: json["raw"]?.stringValue ?? "") ?? Data(), as: UTF8.self)
        }

        /// The link in the text; empty without one.
        public var link: String {
            text.split(whereSeparator: \.isWhitespace).first { $0.hasPrefix("http") }.map(String.init) ?? ""
        }

        /// A parameter of the link.
        public func parameter(_ name: String) -> String? {
            URLComponents(string: link)?.queryItems?.first { $0.name == name }?.value
        }
    }

    /// Whether a mail server speaks TLS. With TLS it takes mails from the user `music` only, who brings `secret`.
    public enum Security: String, Sendable {
        case none
        /// From the beginning.
        case tls
        /// When it is asked to.
        case startTLS = "starttls"
    }

    /// How users log in: by a password, or by an access token.
    public enum Login: String, Sendable {
        case password
        case xoauth2 = "XOAUTH2"
        case oauthBearer = "OAUTHBEARER"
    }

    /// The certificate of the authority that signed that of the server `localhost`, in a file.
    public var authority: String { folder + "/authority.pem" }

    /// Starts a mail server, runs `body` with it, and stops it.
    ///
    /// - Parameter port: The port to listen on; 0 for any that is free.
    public static func run<R: Sendable>(
        port: Int = 0, security: Security = .none, login: Login = .password,
        _ body: @escaping @Sendable (MailCatcher) async throws -> R
    ) async throws -> R {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-mails-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        if security != .none {
            let authority = try TestAuthority()
            let (certificate, key) = try authority.certificate(for: "localhost")
            try authority.pem.write(toFile: folder + "/authority.pem", atomically: true, encoding: .utf8)
            try (certificate + "\n" + key).write(toFile: folder + "/server.pem", atomically: true, encoding: .utf8)
        }
        return try await withThrowingTaskGroup(of: R?.self) { tasks in
            tasks.addTask {
                let result = try await Subprocess.run(
                    .name("python3"),
                    arguments: [
                        Checkout.path("Tests/TestSupport/mail_catcher.py"), folder, "\(port)", security.rawValue,
                        login.rawValue,
                    ],
                    environment: .inherit.updating(["PYTHONPATH": Checkout.pythonLibraries]), output: .discarded,
                    error: .string(limit: 4096))
                guard FileManager.default.fileExists(atPath: folder + "/stop") else {
                    throw Failure(text: "the mail server ended: \(result.standardError)")
                }
                return nil
            }
            tasks.addTask {
                defer { _ = FileManager.default.createFile(atPath: folder + "/stop", contents: nil) }
                while true {
                    if let text = try? String(contentsOfFile: folder + "/port", encoding: .utf8), let port = Int(text) {
                        return try await body(MailCatcher(port: port, folder: folder))
                    }
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            var result: R?
            for try await value in tasks where value != nil { result = value }
            guard let result else { throw CancellationError() }
            return result
        }
    }

    /// Why a mail did not come.
    public struct Failure: Error, CustomStringConvertible {
        let text: String
        public var description: String { text }
    }

    /// Has the server take mails from now on, and end connections in place of an answer.
    public func fallSilent() { _ = FileManager.default.createFile(atPath: folder + "/mute", contents: nil) }

    /// Has the server not answer in a phase from now on: `RCPT`, `DATA`, `END` of the mail, `QUIT`; nil to answer all.
    public func stall(_ phase: String?) throws {
        try (phase ?? "").write(toFile: folder + "/stall", atomically: true, encoding: .utf8)
    }

    /// Waits until the server does not answer in a phase; gives whether it came to that.
    public func waitsInStall(_ phase: String) async throws -> Bool {
        try await eventually {
            FileManager.default.contents(atPath: folder + "/stalled").map { $0 == Data(phase.utf8) } ?? false
        }
    }

    /// All mails that came, in order.
    public func mails() throws -> [Mail] {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".mail") }.sorted().compactMap
        {
            FileManager.default.contents(atPath: folder + "/" + $0)
        }.map { Mail(try JSONValue(parsing: Array($0))) }
    }

    /// Waits for a mail to an address.
    ///
    /// - Parameter number: Which one: 1 for the first.
    public func mail(to address: String, number: Int = 1, within time: Duration = .seconds(60)) async throws -> Mail {
        let end = ContinuousClock.now + time
        while true {
            let found = try mails().filter { $0.recipients == [address] }
            if found.count >= number { return found[number - 1] }
            guard ContinuousClock.now < end else { throw Failure(text: "no mail \(number) came to \(address)") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// The options of a server that sends its mails here.
    public func options(_ others: JSONObject? = nil) -> JSONObject { Self.options(others, port: port) }

    /// The options of a server that sends its mails to a port of this machine.
    public static func options(_ others: JSONObject? = nil, port: Int) -> JSONObject {
        let adapter: JSONValue = [
            "module": "smtp",
            "options": ["host": "127.0.0.1", "port": .number(Double(port)), "from": "Roost <roost@example.com>"],
        ]
        let given = others ?? [:]
        return given.merging([
            "appName": "Größe", "publicServerURL": "http://app.example/parse", "emailAdapter": adapter,
        ]) { given, _ in given }
    }
}
