public import CloudCode
import Encoding
import HTTP
import Limits
import Logging
import Operations
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// The routes of the REST interface, which map methods and paths to backend calls.
public struct ParseRoutes: RequestHandler {
    package private(set) var backend: Backend
    let configuration: Configuration
    let logger: Logger
    package let errors: ErrorReply
    let limits: CurrentLimits
    let declaredLimits: CurrentLimits?
    let cloud: CloudEngine?
    /// Limits the extra concurrent calls of all batches together. At the limit, batches run their calls one at a time,
    /// so no batch waits for another.
    let batchCalls = Gate(capacity: 500)

    /// - Parameter cloud: Runs cloud functions, or nil to offer none.
    public init(backend: Backend, cloud: CloudEngine? = nil, logger: Logger) {
        self.backend = backend
        self.cloud = cloud
        configuration = backend.configuration
        errors = ErrorReply(sanitizes: configuration.enableSanitizedErrorResponse, logger: logger)
        limits = CurrentLimits(backend, areOptions: true) {
            backend.options.changes
        } limits: {
            backend.options.rateLimits
        }
        declaredLimits = cloud.map { cloud in
            CurrentLimits(backend, areOptions: false) {
                cloud.rateLimitChanges
            } limits: {
                cloud.rateLimits
            }
        }
        self.logger = logger
    }

    /// Returns the same routes with another backend, such as that of a transaction.
    func over(_ backend: Backend) -> ParseRoutes {
        var routes = self
        routes.backend = backend
        return routes
    }

    public func respond(to envelope: Envelope) async throws -> Reply {
        if !envelope.origin.isInternal {
            try checkAllowed(envelope.method.rawValue, envelope.path, envelope.power)
        }
        let route = RouteTable.match(envelope.method, envelope.path)
        let context = try await counted(envelope, limits.limiter, declaredLimits?.limiter) {
            if let route { envelope.origin.record?.set(row: route.row) }
            // The caller is resolved first: an invalid token is rejected even if the route doesn't exist.
            let context = try await self.context(of: envelope, route?.traits ?? [])
            recordCaller(context.caller, of: envelope)
            if envelope.power == .client, !envelope.origin.isInternal {
                backend.meters.clients.record(
                    version: envelope.credentials.clientVersion, at: context.now.milliseconds)
            }
            return context
        }
        guard let route else { throw Self.noRoute(envelope) }
        if backend.store.needsWritingCaller,
            let writer = context.caller.user?.id ?? envelope.credentials.installationID
        {
            return try await WritingCaller.$current.withValue(writer) { try await perform(route, envelope, context) }
        }
        return try await perform(route, envelope, context)
    }

    /// Counts a request against rate limits: those per user and session after the caller is resolved, others before.
    ///
    /// - Throws: ``RateLimitExceeded``, the error of `find`, or `ParseError` if counting in the database fails.
    func counted(
        _ envelope: Envelope, _ limits: RateLimiter?, _ declared: RateLimiter?,
        _ find: () async throws -> RequestContext
    ) async throws -> RequestContext {
        try await limits?.countByAddress(envelope)
        try await declared?.countByAddress(envelope)
        let context = try await find()
        try await limits?.countByUser(envelope, context.caller.user)
        try await declared?.countByUser(envelope, context.caller.user)
        return context
    }

    private func recordCaller(_ caller: Caller, of envelope: Envelope) {
        guard let record = envelope.origin.record else { return }
        let power: String? =
            switch caller.power {
            case .client: nil
            case .master: "master"
            case .readOnlyMaster: "readOnlyMaster"
            case .maintenance: "maintenance"
            }
        let client = envelope.credentials.clientVersion.flatMap { $0.utf8.count <= 32 ? $0 : nil }
        guard power != nil || client != nil || caller.user != nil else { return }
        record.setCaller(RequestRecord.Caller(user: caller.user?.id, client: client, power: power))
    }

    /// Resolves the caller.
    ///
    /// - Throws: 209 for an invalid token, 101 if the user to view as doesn't exist, ``RequestAuthority/viewsOnly``, or
    ///   database errors.
    func context(of envelope: Envelope, _ traits: Route.Traits = []) async throws -> RequestContext {
        var caller = Caller(power: envelope.power, installationId: envelope.credentials.installationID)
        let now = backend.clock.now
        if let viewAs = envelope.authority?.viewAs {
            guard envelope.method == .get || RequestAuthority.isFunction(envelope.path) else {
                throw RequestAuthority.viewsOnly
            }
            caller = Caller()
            if case .user(let id) = viewAs { caller.user = try await backend.sessions.user(viewedAs: id) }
        } else if caller.power == .client, let token = envelope.credentials.sessionToken, !token.isEmpty,
            !traits.contains(.withoutSession)
        {
            caller.user = try await backend.sessions.user(token: token, now: now)
        } else if traits.contains(.aboutSession), let token = envelope.credentials.sessionToken, !token.isEmpty {
            // A caller with a server key isn't rejected for an invalid token.
            caller.user = try? await backend.sessions.user(token: token, now: now)
        }
        if let authority = envelope.authority { caller.hiddenSecrets = authority.hiddenSecrets }
        return RequestContext(
            caller: caller, mountURL: envelope.mountURL, now: now, address: envelope.origin.address,
            languages: envelope.origin.languages, facts: envelope.origin)
    }

    /// Runs the route of a method and path.
    ///
    /// - Throws: ``HTTPError`` 404 if the route doesn't exist, or the error of the route or its checks.
    func route(_ envelope: Envelope, _ context: RequestContext) async throws -> Reply {
        guard let route = RouteTable.match(envelope.method, envelope.path) else { throw Self.noRoute(envelope) }
        return try await perform(route, envelope, context)
    }

    private func perform(_ route: Route, _ envelope: Envelope, _ context: RequestContext) async throws -> Reply {
        guard let handler = route.handler else { throw Self.noRoute(envelope) }
        if route.traits.contains(.master), !context.caller.isMaster { throw Forbidden.masterKeyRequired }
        if configuration.readOnly, !route.onlyReads { throw ParseError.serverOnlyReads }
        if route.traits.contains(.idempotent) { try await claim(envelope, route, context) }
        let call = RouteCall(envelope: envelope, context: context, arguments: route.arguments(of: envelope.path))
        // Values created for cloud code count toward the memory limit until the handler returns.
        let reply =
            backend.triggers.callsTriggers
            ? try await HeldMemory.run(in: .values, depth: envelope.origin.memoryDepth) {
                try await handler(self, call)
            } : try await handler(self, call)
        if case .json(let bytes) = reply.body { try AnswerSize.check(bytes.count, configuration.maxResponseSize) }
        return reply
    }

    /// Claims the request id if idempotency is enabled for the path. Throws 159 if the id was used before.
    private func claim(_ envelope: Envelope, _ route: Route, _ context: RequestContext) async throws {
        guard !envelope.isBatchElement, let id = envelope.credentials.requestID, !id.isEmpty else { return }
        // The Objective-C SDKs send the same id for the whole lifetime of a process, so it doesn't identify a request.
        let version = envelope.credentials.clientVersion?.asciiLowercased ?? ""
        guard !["i", "osx", "apple-"].contains(where: version.hasPrefix) || version.hasPrefix("ios-") else { return }
        let path = route.canonical(envelope.path).joined(separator: "/")
        try await backend.transactions.claim(request: id, path: path, context)
    }

    private static func noRoute(_ envelope: Envelope) -> HTTPError {
        .noRoute(method: envelope.methodName, path: envelope.rawPath)
    }
}

/// The option `routeAllowList`, which restricts clients to the listed routes.
extension ParseRoutes {
    /// Rejects a client's call of a route that isn't listed.
    ///
    /// - Parameters:
    ///   - method: The name of the method, for the error.
    ///   - components: The decoded path, without empty components.
    /// - Throws: 119 if the route isn't listed.
    func checkAllowed(_ method: String, _ components: [String], _ power: Caller.Power) throws(ParseError) {
        guard let list = configuration.routeAllowList, power == .client else { return }
        let path = RouteTable.canonical(components).joined(separator: "/")
        guard !list.contains(path) else { return }
        throw .denied(
            ParseError.operationForbidden, "Route not allowed by routeAllowList: \(method.asciiUppercased) \(path)")
    }
}
