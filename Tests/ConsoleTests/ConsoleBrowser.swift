import App
import Foundation
import JSON
import TestSupport
import Testing

/// Calls the console of a test's server like its page, with token and cookie.
struct ConsoleBrowser: Sendable {
    let server: TestServer
    /// The server's URL without the mount path.
    let root: String
    var token: String?
    var cookie: String?

    init(_ server: TestServer) {
        self.server = server
        root = String(server.url.dropLast("/parse".count))
    }

    init(_ server: TestServer, _ ways: JSONValue) async throws {
        self.init(server)
        let answer = try await send("POST", "/console/api/session", ways)
        try #require(answer.status == 200, "\(answer.text)")
        token = try #require(answer["token"]?.stringValue)
        let field = try #require(answer.headers["set-cookie"])
        cookie = String(field.prefix { $0 != ";" })
    }

    static let masterKey: JSONValue = ["masterKey": .string(TestServer.masterKey)]

    static func operatorBrowser(_ server: TestServer, _ role: String) async throws -> ConsoleBrowser {
        let owner = try await ConsoleBrowser(server, masterKey)
        let name = JSONValue.string("\(role) \(UUID().uuidString.prefix(6))")
        let made = try await owner.send(
            "POST", "/console/api/operators", ["name": name, "password": "long enough", "role": .string(role)])
        try #require(made.status == 201, "\(made.text)")
        return try await ConsoleBrowser(server, ["name": name, "password": "long enough"])
    }

    /// Sends a request. The given headers override those of the session.
    func send(
        _ method: String, _ path: String, _ body: JSONValue? = nil, headers: [String: String] = [:]
    ) async throws -> TestAnswer {
        var fields = headers
        if let token, fields["X-Roost-Console"] == nil { fields["X-Roost-Console"] = token }
        if let cookie, fields["Cookie"] == nil { fields["Cookie"] = cookie }
        return try await server.send(method, root + path, body, as: .nobody, headers: fields)
    }

    func parse(_ method: String, _ path: String, _ body: JSONValue? = nil, headers: [String: String] = [:]) async throws
        -> TestAnswer
    {
        try await send(method, "/console/api/parse" + path, body, headers: headers)
    }

    /// The entries of the audit log, newest first.
    func audit() async throws -> [JSONValue] {
        try await send("GET", "/console/api/audit")["rows"]?.arrayValue ?? []
    }
}

extension TestServer {
    func consoleTicket() async throws -> String {
        let deployment = try Deployment(
            arguments: ["--databaseURI", databaseURI], environment: [:], needsKeys: false)
        let address = try await ConsoleAccess(deployment).open()
        return try String(#require(address.firstMatch(of: /#ticket=(.+)/)).1)
    }
}
