import App
import Foundation
import JSON
import TestTools

/// A mail server that stores the emails it receives.
public struct MailCatcher: Sendable {
    public let port: Int
    private let folder: String

    public struct Mail: Sendable {
        private let json: JSONValue

        fileprivate init(_ json: JSONValue) { self.json = json }

        public var recipients: [String] { json["recipients"]?.arrayValue?.compactMap(\.stringValue) ?? [] }
        public var subject: String { json["subject"]?.stringValue ?? "" }
        public var from: String { json["from"]?.stringValue ?? "" }
        public var text: String { json["text"]?.stringValue ?? "" }
        public var html: String { json["html"]?.stringValue ?? "" }
        public var raw: String {
            String(decoding: Data(base64Encoded: json["raw"]?.stringValue ?? "") ?? Data(), as: UTF8.self)
        }

        public var link: String {
            text.split(whereSeparator: \.isWhitespace).first { $0.hasPrefix("http") }.map(String.init) ?? ""
        }

        public func parameter(_ name: String) -> String? {
            URLComponents(string: link)?.queryItems?.first { $0.name == name }?.value
        }
    }

    /// The TLS mode. With TLS, the server accepts emails only from the user `music` with the password `secret`.
    public enum Security: String, Sendable {
        case none
        case tls
        case startTLS = "starttls"
    }

    public enum Login: String, Sendable {
        case password
        case xoauth2 = "XOAUTH2"
        case oauthBearer = "OAUTHBEARER"
    }

    /// The path of the certificate of the authority that signed the server's certificate for `localhost`.
    public var authority: String { folder + "/authority.pem" }

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
        let program = Checkout.path("Tests/TestSupport/mail_catcher.py")
        let arguments = [program, folder, "\(port)", security.rawValue, login.rawValue]
        return try await HelperProgram.run(arguments, in: folder, libraries: Checkout.pythonLibraries) { port in
            try await body(MailCatcher(port: port, folder: folder))
        }
    }

    /// Runs `body` with a server that sends its emails to a new mail server.
    public static func serve(
        _ options: JSONObject? = nil, extensions: ServerExtensions = ServerExtensions(),
        _ body: @escaping @Sendable (TestServer, MailCatcher) async throws -> Void
    ) async throws {
        try await run { catcher in
            try await TestServer.run(catcher.options(options), extensions: extensions) { try await body($0, catcher) }
        }
    }

    public struct Failure: Error, CustomStringConvertible {
        let text: String
        public var description: String { text }
    }

    /// From now on, closes connections instead of responding to emails that were received.
    public func fallSilent() { _ = FileManager.default.createFile(atPath: folder + "/mute", contents: nil) }

    /// Stops responding in a phase: `RCPT`, `DATA`, `END` of the email or `QUIT`. Nil responds in all phases.
    public func stall(_ phase: String?) throws {
        try (phase ?? "").write(toFile: folder + "/stall", atomically: true, encoding: .utf8)
    }

    /// Waits until a client is stalled in a phase. Returns false on timeout.
    public func waitsInStall(_ phase: String) async throws -> Bool {
        try await eventually {
            FileManager.default.contents(atPath: folder + "/stalled").map { $0 == Data(phase.utf8) } ?? false
        }
    }

    public func mails() throws -> [Mail] {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".mail") }.sorted().compactMap
        {
            FileManager.default.contents(atPath: folder + "/" + $0)
        }.map { Mail(try JSONValue(parsing: Array($0))) }
    }

    /// Waits for an email to an address.
    ///
    /// - Parameter number: The position among the emails to this address, from 1.
    public func mail(to address: String, number: Int = 1, within time: Duration = .seconds(60)) async throws -> Mail {
        let end = ContinuousClock.now + time
        while true {
            let found = try mails().filter { $0.recipients == [address] }
            if found.count >= number { return found[number - 1] }
            guard ContinuousClock.now < end else { throw Failure(text: "no email \(number) came to \(address)") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    public func options(_ others: JSONObject? = nil) -> JSONObject { Self.options(others, port: port) }

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
