import Encoding
import HTTP
import JSON
import Limits
internal import Logging
internal import Operations
internal import ParseModel
internal import ParseStorage
internal import REST
import Rules
internal import ServerConfiguration
internal import Telemetry

/// The console API, by default below `/console/api`. Checks the role of every call except session calls.
struct ConsoleInterface: Sendable {
    let backend: Backend
    let dispatcher: ConsoleDispatcher
    let signIn: ConsoleSignIn
    let audit: ConsoleAudit
    let tasks = ConsoleTasks()
    let figures: FigureHistory
    /// The readiness probe results of the database and other components, and the free space of the server's disks.
    let readiness: @Sendable () async -> JSONObject
    /// The check of the push keys, which returns its findings, or nil if push is not configured.
    let pushCheck: (@Sendable () async throws -> JSONValue)?
    let live = LiveSource()
    /// The slots for console queries that may read many objects: half as many as CPU cores, so that cores remain for
    /// apps, but at least two.
    ///
    /// One session gets at most all but one slot, so its slow queries don't block other operators.
    let finds: Gate
    let lastReport = LastReport()
    /// The single slot for checking push keys, because that contacts the push services.
    let checking = Gate(capacity: 1)
    /// The single slot for reading slow-query statistics, because that reads the whole catalog.
    let planning = Gate(capacity: 1)
    let exports = ConsoleExports()
    let backups: ConsoleBackups
    /// The two slots for imports whose request bodies are in memory. A session gets at most one.
    let importing = Gate(capacity: 2, share: 1, waitingShare: 4)
    /// The single slot for file listings, because each may read the whole store.
    let searching = Gate(capacity: 1)
    /// The single slot for counting all classes, so that several consoles don't count at the same time.
    let counting = Gate(capacity: 1)
    /// The number of invitations in the last hour, by operator.
    let invitations = RecentCounts(within: .seconds(3600))
    private let tables: ConsoleTables
    let version: String
    private let logger: Logger
    var configuration: Configuration { backend.configuration }

    /// The maximum body size in bytes of calls outside the REST API, except imports.
    static let largestBody = 256 * 1024

    init(
        _ backend: Backend, _ dispatcher: ConsoleDispatcher, figures: FigureHistory,
        readiness: @escaping @Sendable () async -> JSONObject, backups: BackupMaker?,
        pushCheck: (@Sendable () async throws -> JSONValue)?, version: String, logger: Logger
    ) {
        self.readiness = readiness
        self.pushCheck = pushCheck
        self.backups = ConsoleBackups(backups)
        self.backend = backend
        self.dispatcher = dispatcher
        self.figures = figures
        self.version = version
        self.logger = logger
        let capacity = max(2, LongWork.medium.threadCount)
        finds = Gate(capacity: capacity, share: capacity - 1)
        tables = ConsoleTables(client: backend.store.client)
        signIn = ConsoleSignIn(backend: backend, dispatcher: dispatcher, attempts: SignInAttempts(backend))
        audit = ConsoleAudit(backend: backend, logger: logger)
    }

    /// Handles an API request.
    ///
    /// - Parameter path: The path below the console's `api/`.
    func answer(_ visit: ConsoleVisit, _ path: Substring) async -> Reply {
        let reply: Reply
        do {
            reply = try await route(visit, path)
        } catch is ConfirmationNeeded {
            return named(
                ["error": "Confirm your identity first.", "needs": "confirm"], status: 403, visit)
        } catch {
            reply = dispatcher.reply(to: error, visit.request)
        }
        // The size of a compressed response could reveal a secret in it.
        guard !visit.isLocal, !Self.secretPaths.contains(path) else { return reply }
        let acceptsGzip = visit.fields.acceptsGzip
        return await HeavyWork.run(.parsing(reply.body.bytesInMemory)) { reply.packed(acceptsGzip) }
    }

    private static let secretPaths: Set<Substring> = ["session", "totp"]

    private func named(_ object: JSONObject, status: Int, _ visit: ConsoleVisit) -> Reply {
        var object = object
        object["requestId"] = .string("\(visit.request.id)")
        return .object(object, status: status)
    }

    private func route(_ visit: ConsoleVisit, _ path: Substring) async throws -> Reply {
        guard let method = Method(name: visit.request.method), visit.request.method != "OPTIONS" else {
            var reply = dispatcher.reply(to: HTTPError(status: 405, message: "Method not allowed."), visit.request)
            reply.headers.append(("Allow", "GET, HEAD, POST, PUT, DELETE"))
            return reply
        }
        guard visit.isOfOwnPage else {
            throw HTTPError(status: 403, message: "Requests to the console must come from its own page.")
        }
        if path.hasPrefix("exports/once/") { return try await download(visit, path.dropFirst("exports/once/".count)) }
        if path.hasPrefix("backups/once/") { return try await backup(visit, path.dropFirst("backups/once/".count)) }
        let session = try await session(of: visit)
        // Polling would push all other lines out of the log.
        if method == .get, session != nil, visit.fields.isPoll { visit.request.record.lowerLogLevel() }
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
            throw HTTPError(status: 403, message: "This requires the role \(match.route.least.rawValue) or above.")
        }
        if match.route.isConfirmed, !session.isConfirmed { throw ConfirmationNeeded() }
        return try await match.route.handler(
            ConsoleCall(interface: self, visit: visit, session: session, role: role, arguments: match.arguments))
    }

    /// Returns the request context of a console call, which hides the secrets that the role may not see.
    func context(of visit: ConsoleVisit, _ role: ConsoleRole) -> RequestContext {
        dispatcher.context(of: visit.request, backend.clock.now, hiding: role.hiddenSecrets)
    }

    private func session(of visit: ConsoleVisit) async throws -> StoredOperatorSession? {
        guard let token = visit.fields.token, token.utf8.count == ConsoleSecrets.length else { return nil }
        let (cookies, hash) = (self.cookies(of: visit), ConsoleSecrets.hash(token))
        // The time limit lets the page soon learn that the database is frozen.
        let found = try await withTimeLimit(.seconds(4)) { try await session(cookies: cookies, token: hash) }
        guard let found else { throw HTTPError(status: 503, message: "The database doesn't respond.") }
        return found
    }

    /// The maximum number of session cookies checked per request. Browsers store fewer per host.
    private static let maxCookies = 256

    /// Returns the possible session cookies of a request. Servers on other ports can set cookies of the same name.
    func cookies(of visit: ConsoleVisit) -> [String] {
        let cookies = visit.fields.cookies(named: visit.cookieName)
        return Array(cookies.lazy.filter { $0.utf8.count == ConsoleSecrets.length }.prefix(Self.maxCookies))
    }

    /// Returns the session with the given token hash and one of the cookies, or nil if there is none.
    func session(cookies: [String], token: [UInt8]) async throws -> StoredOperatorSession? {
        guard !cookies.isEmpty else { return nil }
        return try await backend.store.operatorSessions.find(
            token: token, cookies: cookies.map { ConsoleSecrets.hash(cookie: $0, configuration) },
            idle: configuration.console.sessionLength)
    }

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
            try await audit.record(entry(visit, session, "session"), status: 200)
            return reply
        case .put: throw HTTPError(status: 405, message: "Method not allowed.")
        }
    }

    private func open(_ visit: ConsoleVisit) async throws -> Reply {
        let body = try await dispatcher.body(of: visit.request, upTo: Self.largestBody)
        try await tables.prepare()
        switch try await signIn.signIn(body, from: visit.client) {
        case .tooMany(let seconds): return tooMany(visit, seconds)
        case .wrong:
            try await audit.record(entry(visit, Self.unknown(body), "session"), status: 401)
            let linkIsOver = "This link was already used, or is too old. Get another one with: roost console open"
            return try await signInNeeded(visit, body["ticket"] == nil ? "Wrong credentials." : linkIsOver)
        case .needsCode:
            if body["code"] != nil { try await audit.record(entry(visit, Self.unknown(body), "session"), status: 401) }
            return try await signInNeeded(visit, "A second-factor code is required.", needsCode: true)
        case .session(let session):
            let (token, cookie) = (ConsoleSecrets.make(), ConsoleSecrets.make())
            let isOpen = try await backend.store.operatorSessions.open(
                session, token: ConsoleSecrets.hash(token),
                cookie: ConsoleSecrets.hash(cookie: cookie, configuration),
                seconds: ConsoleSignIn.longest, address: visit.address, agent: visit.fields.userAgent)
            guard isOpen else { return try await signInNeeded(visit, "Wrong credentials.") }
            try await audit.record(entry(visit, session, "session"), status: 200)
            var answer = description(of: session)
            answer["token"] = .string(token)
            var reply = Reply.object(answer)
            reply.headers = [cookieField(visit, cookie)]
            return reply
        }
    }

    /// Returns a session with only the submitted name, for the audit entry of a failed sign-in.
    private static func unknown(_ body: JSONObject) -> StoredOperatorSession {
        StoredOperatorSession(name: String((body["name"]?.stringValue ?? "").prefix(100)), role: "")
    }

    private func tooMany(_ visit: ConsoleVisit, _ seconds: Int) -> Reply {
        var reply = dispatcher.reply(
            to: HTTPError(status: 429, message: "Too many attempts. Try again in \(seconds) seconds."), visit.request)
        reply.headers.append(("Retry-After", "\(seconds)"))
        return reply
    }

    /// Confirms that the session's operator is present, by the password and second factor or by a master key.
    func confirm(_ visit: ConsoleVisit, _ session: StoredOperatorSession, _ body: JSONObject) async throws -> Reply {
        let outcome = try await signIn.confirm(session, body, from: visit.client)
        switch outcome {
        case .tooMany(let seconds): return tooMany(visit, seconds)
        case .wrong, .needsCode:
            try await audit.record(entry(visit, session, "confirm"), status: 401)
            guard case .needsCode = outcome else { return named(["error": "Wrong credentials."], status: 401, visit) }
            return named(
                ["error": "A second-factor code is required.", "needs": "code"], status: 401, visit)
        case .session:
            try await backend.store.operatorSessions.confirm(token: ConsoleSecrets.hash(visit.fields.token ?? ""))
            try await audit.record(entry(visit, session, "confirm"), status: 200)
            let minutes = OperatorSessionRows.confirmation
            let until = ParseDate(milliseconds: backend.clock.now.milliseconds + Int64(minutes * 60_000))
            return .object(["until": .string(until.iso)])
        }
    }

    private func cookieField(_ visit: ConsoleVisit, _ value: String?) -> (String, String) {
        (
            "Set-Cookie",
            ConsoleSecrets.cookieField(
                visit.cookieName, value, path: visit.path, isSecure: visit.isSecure, seconds: ConsoleSignIn.longest)
        )
    }

    private func signInNeeded(_ visit: ConsoleVisit, _ message: String, needsCode: Bool = false) async throws -> Reply {
        var object: JSONObject = [
            "error": .string(message), "ways": .array(signIn.ways),
            "first": .bool(try await backend.store.operators.isEmpty()),
        ]
        if needsCode { object["needs"] = "code" }
        return named(object, status: 401, visit)
    }

    /// Waits for one of the slots that a gate allows per session.
    ///
    /// - Throws: 429 if too many requests of the session are waiting, or `CancellationError`.
    func place(in gate: Gate, of sender: Sender, _ what: String) async throws -> GatePlace {
        do {
            return try await GatePlace.wait(in: gate, of: sender)
        } catch is Gate.Full {
            throw HTTPError(status: 429, message: "\(what) of this session are already waiting. Try again later.")
        }
    }

    func entry(_ visit: ConsoleVisit, _ session: StoredOperatorSession, _ path: String) -> AuditEntry {
        audit.entry(
            session, address: visit.address, requestId: "\(visit.request.id)", method: visit.request.method, path: path)
    }

    private func description(of session: StoredOperatorSession) -> JSONObject {
        [
            "operator": [
                "id": session.operatorId.map { .string($0) } ?? .null, "name": .string(session.name),
                "role": .string(session.role), "totp": .bool(session.hasFactor),
            ],
            "server": [
                "version": .string(version), "preset": .number(Double(configuration.preset)),
                "appId": .string(configuration.appId),
                "appName": configuration.accountMail.appName.map { .string($0) } ?? .null,
                "mount": .string(configuration.mount),
                "clientKeyField": configuration.clientKeyField.map { .string($0) } ?? .null,
                "publicServerURL": configuration.publicServerURL.map { .string($0) } ?? .null,
                "now": .string(backend.clock.now.iso), "maxUploadSize": .number(Double(configuration.maxUploadSize)),
            ],
            "features": [
                "live": .bool(configuration.liveQuery.isServed), "push": .bool(configuration.push != nil),
                "mails": .bool(backend.mails.sendsInvitations),
            ],
        ]
    }
}

/// The error for a call that requires a fresh confirmation by the operator.
struct ConfirmationNeeded: Error {}
