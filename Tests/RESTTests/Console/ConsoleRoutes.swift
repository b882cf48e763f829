import HTTP
import JSON
import Logging
import Operations
import ParseModel
import ParseStorage
import Postgres
import REST
import Rules
import ServerConfiguration
import TestSupport
import TestTools
import Testing

/// The API's routes on a test database, called like the console's dispatcher, with settings that clients can't send in
/// headers.
struct ConsoleRoutes: Sendable {
    let routes: ParseRoutes
    let client: PostgresClient

    var backend: Backend { routes.backend }
    var context: RequestContext { RequestContext(caller: .server, mountURL: "http://host.example/parse", now: .now) }

    struct Answer {
        var status: Int
        var json: JSONValue
        var trashId: String?

        subscript(key: Name) -> JSONValue? { json[key] }
        var code: Int? { json["code"]?.numberValue.map { Int($0) } }
    }

    static func run(_ body: @Sendable (ConsoleRoutes) async throws -> Void) async throws {
        try await TestServer.withDatabase { try await run(on: $0, nil, body) }
    }

    /// Runs `body` on an existing database.
    static func run(
        on uri: String, _ distribution: Distribution?, _ body: @Sendable (ConsoleRoutes) async throws -> Void
    ) async throws {
        let file: JSONObject = [
            "appId": "testApp", "masterKey": "testMaster", "enforcePrivateUsers": false,
            "allowClientClassCreation": true, "allowCustomObjectId": true,
        ]
        let (configuration, _) = try Configuration.load(file: file.serialized(), environment: [:], flags: [])
        var database = PostgresConfiguration(connectionString: uri)
        database.sharedConnections = 2
        let logger = TestServer.quietLogger
        let client = PostgresClient(configuration: database, logger: logger)
        try await client.start()
        let catalog = SchemaCatalog(
            client: client, senderId: "test", refusesMixedMembership: false, distribution: distribution, logger: logger)
        let result = await Result.awaiting {
            try await DatabaseInstaller(client: client, catalog: catalog, logger: logger).install()
            let store = ObjectStore(client: client, catalog: catalog, logger: logger)
            let backend = Backend(
                configuration: configuration, store: store, passwords: Passwords(cost: 4), logger: logger)
            try await ConsoleTables(client: client).prepare()
            let routes = ParseRoutes(backend: backend, logger: logger)
            try await body(ConsoleRoutes(routes: routes, client: client))
        }
        await client.shutdown()
        try result.get()
    }

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - authority: The console's request settings.
    ///   - power: The access level of the caller's key.
    ///   - token: A client's session token.
    func send(
        _ method: HTTP.Method, _ path: String, _ body: JSONObject = [:], _ authority: RequestAuthority? = nil,
        power: Caller.Power = .master, token: String? = nil
    ) async throws -> Answer {
        var credentials = Credentials()
        credentials.sessionToken = token
        let origin = RequestOrigin(credentials: credentials, power: power, mountURL: "http://host.example/parse")
        var envelope = Envelope(
            from: origin, method: method, path: path.split(separator: "/").map(String.init), rawPath: path,
            query: method == .get ? body : [:], body: method == .get ? [:] : body)
        envelope.authority = authority
        var reply: Reply
        do {
            reply = try await routes.respond(to: envelope)
        } catch {
            reply = routes.errors.reply(to: error, requestID: RequestID(0))
        }
        guard case .json(let bytes) = reply.body else { return Answer(status: reply.status, json: .null) }
        return Answer(
            status: reply.status, json: try JSONValue(parsing: bytes),
            trashId: reply.headers.first { $0.0 == "X-Roost-Trash" }?.1)
    }

    func create(_ path: String, _ body: JSONObject) async throws -> (id: String, date: ParseDate) {
        let answer = try await send(.post, path, body)
        let id = try #require(answer["objectId"]?.stringValue, "\(answer)")
        let date = try #require(ParseDate(iso: answer["createdAt"]?.stringValue ?? ""))
        // Ensures that a later change gets a later date.
        while ParseDate.now <= date { await Task.yield() }
        return (id, date)
    }

    func texts(_ sql: String) async throws -> [String] {
        let rows = try await client.query(sql)
        return (0..<rows.rowCount).compactMap { rows.string($0, 0) }
    }
}
