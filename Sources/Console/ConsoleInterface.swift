import Encoding
import HTTP
import JSON
internal import Logging
internal import Operations
internal import ParseModel
internal import ParseStorage
internal import REST
import Rules
internal import ServerConfiguration

/// What the page asks for, below `/console/api`. Every call passes the gate here.
struct ConsoleInterface: Sendable {
    let backend: Backend
    let dispatcher: ConsoleDispatcher
    let signIn: ConsoleSignIn
    let audit: ConsoleAudit
    private let tables: ConsoleTables
    private let version: String
    private let logger: Logger
    var configuration: Configuration { backend.configuration }

    /// The largest body of what is no call of the interface of apps.
    static let largestBody = 256 * 1024

    init(_ backend: Backend, _ dispatcher: ConsoleDispatcher, version: String, logger: Logger) {
        self.backend = backend
        self.dispatcher = dispatcher
        self.version = version
        self.logger = logger
        tables = ConsoleTables(client: backend.store.client)
        signIn = ConsoleSignIn(backend: backend, dispatcher: dispatcher, attempts: SignInAttempts(backend))
        audit = ConsoleAudit(backend: backend, logger: logger)
    }

    /// Answers a call.
    ///
    /// - Parameter path: The path below `/console/api/`.
    func answer(_ visit: ConsoleVisit, _ path: Substring) async -> Reply {
        do {
            return try await route(visit, path)
        } catch {
            return dispatcher.reply(to: error, visit.request)
        }
    }

    private func route(_ visit: ConsoleVisit, _ path: Substring) async throws -> Reply {
        guard let method = Method(name: visit.request.method), visit.request.method != "OPTIONS" else {
            var reply = dispatcher.reply(to: HTTPError(status: 405, message: "Method not allowed."), visit.request)
            reply.headers.append(("Allow", "GET, HEAD, POST, PUT, DELETE"))
            return reply
        }
        guard visit.isOfOwnPage else {
            throw HTTPError(status: 403, message: "The console answers its own page alone.")
        }
        let session = try await session(of: visit)
        if path == "session" { return try await answerSession(visit, method, session) }
        guard let session, let role = ConsoleRole(rawValue: session.role) else {
            throw HTTPError(status: 401, message: "Sign in first.")
        }
        if path.hasPrefix("parse/") {
            return try await ParseCalls(self, visit, session, role).answer(path.dropFirst("parse".count))
        }
        guard let match = ConsoleRouteTable.match(method, path) else {
            throw HTTPError.noRoute(method: visit.request.method, path: "\(visit.path)/api/\(path)")
        }
        guard role >= match.route.least else {
            throw HTTPError(status: 403, message: "This is for the role \(match.route.least.rawValue) and above.")
        }
        let call = ConsoleCall(
            interface: self, visit: visit, session: session, role: role, arguments: match.arguments)
        return try SecretValues.withoutTokens(try await match.route.handler(call))
    }

    /// The session of a visit; nil where one of its halves is missing, wrong or over.
    private func session(of visit: ConsoleVisit) async throws -> StoredOperatorSession? {
        guard let token = visit.fields.token, token.utf8.count == 64 else { return nil }
        for cookie in visit.fields.cookies(named: visit.cookieName).prefix(4) where cookie.utf8.count == 64 {
            if let session = try await backend.store.operatorSessions.find(
                token: ConsoleSecrets.hash(token), cookie: ConsoleSecrets.hash(cookie),
                idle: configuration.console.sessionLength)
            {
                return session
            }
        }
        return nil
    }

    // MARK: Sessions

    private func answerSession(_ visit: ConsoleVisit, _ method: Method, _ session: StoredOperatorSession?)
        async throws -> Reply
    {
        switch method {
        case .get:
            guard let session else { return try await signInNeeded(visit, "Sign in first.") }
            return .object(description(of: session))
        case .post: return try await open(visit)
        case .delete:
            var reply = Reply.object([:])
            reply.headers = [cookieField(visit, nil)]
            guard let session, let token = visit.fields.token else { return reply }
            try await backend.store.operatorSessions.end(token: ConsoleSecrets.hash(token))
            try await audit.note(entry(visit, session, "session"), status: 200)
            return reply
        case .put: throw HTTPError(status: 405, message: "Method not allowed.")
        }
    }

    private func open(_ visit: ConsoleVisit) async throws -> Reply {
        let body = try await dispatcher.body(of: visit.request, upTo: Self.largestBody)
        try await tables.prepare()
        switch try await signIn.signIn(body, from: visit.address, isLocal: visit.isLocal) {
        case .tooMany(let seconds):
            var reply = dispatcher.reply(
                to: HTTPError(status: 429, message: "Too many attempts. Try again in \(seconds) seconds."),
                visit.request)
            reply.headers.append(("Retry-After", "\(seconds)"))
            return reply
        case .wrong:
            let name = body["name"]?.stringValue.map { String($0.prefix(100)) }
            let unknown = StoredOperatorSession(name: name ?? "", role: "")
            try await audit.note(entry(visit, unknown, "session"), status: 401)
            return try await signInNeeded(visit, "That is not right.")
        case .session(let session):
            let (token, cookie) = (ConsoleSecrets.make(), ConsoleSecrets.make())
            try await backend.store.operatorSessions.open(
                session, token: ConsoleSecrets.hash(token), cookie: ConsoleSecrets.hash(cookie),
                seconds: ConsoleSignIn.longest, address: visit.address, agent: visit.fields.userAgent)
            try await audit.note(entry(visit, session, "session"), status: 200)
            var answer = description(of: session)
            answer["token"] = .string(token)
            var reply = Reply.object(answer)
            reply.headers = [cookieField(visit, cookie)]
            return reply
        }
    }

    private func cookieField(_ visit: ConsoleVisit, _ value: String?) -> (String, String) {
        (
            "Set-Cookie",
            ConsoleSecrets.cookieField(
                visit.cookieName, value, path: visit.path, isSecure: visit.isSecure, seconds: ConsoleSignIn.longest)
        )
    }

    private func signInNeeded(_ visit: ConsoleVisit, _ message: String) async throws -> Reply {
        let object: JSONObject = [
            "error": .string(message), "requestId": .string("\(visit.request.id)"), "ways": .array(signIn.ways),
            "first": .bool(try await backend.store.operators.isEmpty()),
        ]
        return .object(object, status: 401)
    }

    func entry(_ visit: ConsoleVisit, _ session: StoredOperatorSession, _ path: String) -> AuditEntry {
        audit.entry(
            session, address: visit.address, requestId: "\(visit.request.id)", method: visit.request.method, path: path)
    }

    /// What the page gets to know of the session and the server.
    private func description(of session: StoredOperatorSession) -> JSONObject {
        [
            "operator": [
                "id": session.operatorId.map { .string($0) } ?? .null, "name": .string(session.name),
                "role": .string(session.role),
            ],
            "server": [
                "version": .string(version), "preset": .number(Double(configuration.preset)),
                "appId": .string(configuration.appId),
                "appName": configuration.accountMail.appName.map { .string($0) } ?? .null,
                "mount": .string(configuration.mount),
                "publicServerURL": configuration.publicServerURL.map { .string($0) } ?? .null,
                "now": .string(backend.clock.now.iso),
                "signsInWithoutForm": .bool(configuration.console.signIn == .thisMachine),
            ],
            "features": [
                "live": .bool(configuration.liveQuery.isServed), "push": .bool(configuration.push != nil),
            ],
        ]
    }
}
