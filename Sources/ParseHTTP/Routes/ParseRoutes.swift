import Backend
import JSON
import Logging
import ParseModel
import ServerConfiguration

/// The routes of the REST interface: which path and method is which call of the backend.
public struct ParseRoutes: RequestHandler {
    let backend: Backend
    let configuration: Configuration
    let logger: Logger

    /// Makes the routes over a backend.
    public init(backend: Backend, logger: Logger) {
        self.backend = backend
        configuration = backend.configuration
        self.logger = logger
    }

    /// Answers one request, errors of permission in the words that the deployment wants.
    public func respond(to envelope: Envelope) async throws -> Reply {
        do {
            try checkAllowed(envelope.method.rawValue, envelope.path, envelope.access)
            let context = try await context(of: envelope)
            return try await route(envelope, context)
        } catch let error as ParseError {
            throw published(error, requestID: envelope.id)
        }
    }

    /// The words in which an error is told: generic ones where the deployment hides why something is refused.
    func published(_ error: ParseError, requestID: RequestID) -> ParseError {
        guard configuration.enableSanitizedErrorResponse, let text = error.publicMessage else { return error }
        logger.info(
            "refused", metadata: ["id": "\(requestID)", "code": "\(error.code)", "reason": "\(error.message)"])
        return ParseError(error.code, text)
    }

    /// Finds out who is calling.
    ///
    /// - Throws: 209 for a token that is not, or no longer, of a session.
    func context(of envelope: Envelope) async throws -> RequestContext {
        var caller = Caller(installationId: envelope.credentials.installationID)
        switch envelope.access {
        case .master: caller.power = .master
        case .readOnlyMaster: caller.power = .readOnlyMaster
        case .maintenance: caller.power = .maintenance
        case .client: caller.power = .client
        }
        let now = ParseDate.now
        if caller.power == .client, let token = envelope.credentials.sessionToken, !token.isEmpty,
            !Self.ignoresToken(envelope)
        {
            caller.user = try await backend.sessionUser(token: token, now: now)
        }
        return RequestContext(caller: caller, mountURL: envelope.mountURL, now: now)
    }

    /// A token has no meaning for a log-in, and the current session may be asked for after its time.
    private static func ignoresToken(_ envelope: Envelope) -> Bool {
        switch envelope.path.count {
        case 1: envelope.path[0].lowercased() == "login"
        case 2:
            envelope.method == .get && envelope.path[1].lowercased() == "me"
                && envelope.path[0].lowercased() == "sessions"
        default: false
        }
    }

    /// Calls what a path and method name.
    ///
    /// - Throws: ``HTTPFault`` 404 for a path that is none of ours.
    func route(_ envelope: Envelope, _ context: RequestContext) async throws -> Reply {
        if let reply = try await matched(envelope, context) { return reply }
        throw HTTPFault(status: 404, message: "Cannot \(envelope.method.rawValue) \(envelope.rawPath)")
    }

    /// The answer of the route that fits; nil when none does.
    func matched(_ envelope: Envelope, _ context: RequestContext) async throws -> Reply? {
        guard let first = envelope.path.first?.lowercased() else { return nil }
        switch first {
        case "classes":
            guard envelope.path.count > 1 else { return nil }
            return try await object(envelope.path[1], envelope.path.dropFirst(2), envelope, context)
        case "users": return try await users(envelope, context)
        case "sessions": return try await sessions(envelope, context)
        case "roles": return try await object("_Role", envelope.path.dropFirst(), envelope, context)
        case "installations": return try await installations(envelope, context)
        case "login", "loginas", "logout", "verifypassword", "upgradetorevocablesession", "requestpasswordreset",
            "verificationemailrequest", "challenge":
            guard envelope.path.count == 1 else { return nil }
            return try await account(first, envelope, context)
        case "batch":
            guard envelope.path.count == 1, envelope.method == .post, !envelope.isBatchElement else { return nil }
            return try await batch(envelope, context)
        default: return try await administration(first, envelope, context)
        }
    }

    /// Whether the caller may use routes of the master key.
    ///
    /// - Throws: ``HTTPFault`` 403.
    func requireMaster(_ context: RequestContext) throws {
        guard !context.caller.isMaster else { return }
        throw HTTPFault(
            status: 403,
            message: configuration.enableSanitizedErrorResponse
                ? "Permission denied" : "unauthorized: master key is required")
    }
}
