public import CloudCode
import HTTP
import JSON
import Limits
import Rules
public import ServerConfiguration

/// Serves the requests that cloud code in Swift and Node.js makes to its own server, without HTTP.
///
/// Keys are optional, rate limits and `routeAllowList` don't apply, and the master key is accepted from any address.
public struct InternalDispatcher: Sendable {
    private let routes: ParseRoutes
    private let keys: ApplicationKeys

    /// - Throws: The first invalid address in the configuration.
    public init(_ routes: ParseRoutes) throws(AddressList.InvalidEntry) {
        self.routes = routes
        keys = try ApplicationKeys(routes.configuration)
    }

    /// Performs a request. Returns errors as responses.
    public func perform(_ request: InternalRequest) async -> InternalReply {
        let reply: Reply
        do {
            let size = request.body.roughSize
            reply = try await HeavyWork.run(.parsing(size)) {
                try await routes.respond(to: try open(request, size))
            }
        } catch {
            reply = routes.errors.reply(to: error, requestID: RequestID(0))
        }
        let body: [UInt8] =
            switch reply.body {
            case .json(let bytes): bytes
            case .text(let text, _): Array(text.utf8)
            case .empty, .stream: []
            }
        return InternalReply(
            status: reply.status, headers: reply.headers.map { (name: $0.0, value: $0.1) }, body: body)
    }

    private func open(_ request: InternalRequest, _ size: Int) throws -> Envelope {
        let configuration = routes.configuration
        guard let target = RequestTarget(configuration.mount + request.path, mount: configuration.mount) else {
            throw HTTPError.noRoute(method: request.method, path: Substring(request.path))
        }
        var body = try JSONBody.checked(request.body, size: size, upTo: configuration.maxUploadSize)
        let methodName = MethodOverride.apply(to: request.method, body: &body)
        let reader = CredentialReader(keys: keys)
        let headers = RequestHeaders(request.headers)
        var credentials = try reader.read(headers: headers)
        if body["_ApplicationId"] == nil { credentials.applicationID = keys.applicationID }
        try reader.complete(&credentials, from: &body)
        let power = power(request.authority, &credentials)
        credentials.installationID = request.installationId ?? Caller.cloudInstallation
        if let context = request.context { credentials.context = context }
        let origin = RequestOrigin(
            credentials: credentials, power: power,
            address: ClientAddress(request.parent?.ip ?? "127.0.0.1"),
            mountURL: configuration.publicServerURL ?? configuration.serverURL,
            parent: request.parent, isInternal: true)
        return try EnvelopeOpener.envelope(from: origin, methodName, target, body)
    }

    private func power(_ authority: InternalRequest.Authority, _ credentials: inout Credentials) -> Caller.Power {
        switch authority {
        case .master: return .master
        case .session(let token):
            credentials.sessionToken = token
            return .client
        case .anonymous:
            credentials.sessionToken = nil
            return .client
        case .asSent:
            if ApplicationKeys.matches(credentials.maintenanceKey, keys.maintenanceKey) { return .maintenance }
            if ApplicationKeys.matches(credentials.masterKey, keys.masterKey) { return .master }
            if ApplicationKeys.matches(credentials.masterKey, keys.readOnlyMasterKey) { return .readOnlyMaster }
            return .client
        }
    }
}
