public import CloudCode
import JSON
import Limits
public import Logging
public import Operations
import Outgoing
import ParseModel
public import ServerConfiguration
import Synchronization

/// Calls the webhooks registered through `/hooks`. Each call is one HTTP request.
///
/// Reads `_Hooks` at the start and after each change by this or another process.
public final class WebhookHost: CloudHost {
    private struct State {
        var addresses: [CloudTarget: String] = [:]
        /// The number of the read of `_Hooks` whose result is used. A slow read must not overwrite a newer result.
        var reading = 0
        var lastReading = 0
        var services: CloudServices?
        /// The slots for concurrent calls per webhook host. A slow host only delays its own callers.
        var gates: [Name: CallGate] = [:]
    }

    private let backend: Backend
    private let caller: HTTPCaller
    private let options: Configuration.Webhooks
    private let encoder: WebhookRequest
    private let logger: Logger
    private let state = Mutex(State())

    /// Creates the host.
    ///
    /// - Throws: An error if the certificate file can't be read.
    public init(_ configuration: Configuration, backend: Backend, logger: Logger) throws {
        self.backend = backend
        self.logger = logger
        options = configuration.webhooks
        encoder = WebhookRequest(sendsNewMembers: configuration.preset >= 9)
        caller = try HTTPCaller(
            configuration.outgoing, connectionsPerHost: options.connections * 16, keptFor: .seconds(4))
    }

    public var kind: CloudHostKind { .webhooks }

    public func start(_ services: CloudServices) async throws {
        state.withLock { $0.services = services }
        backend.hookChanges.follow { [weak self] in await self?.reload() }
        try await read()
    }

    public func shutdown() async { await caller.shutdown() }

    public func timeLimit(of target: CloudTarget) -> Duration? { options.timeout }

    private func reload() async {
        do {
            try await read()
        } catch {
            guard !Task.isCancelled else { return }
            logger.warning("can't read the webhooks", metadata: ["error": "\(error)"])
        }
    }

    private func read() async throws {
        let number = state.withLock { state in
            state.lastReading += 1
            return state.lastReading
        }
        var addresses: [CloudTarget: String] = [:]
        for hook in try await backend.hooks.all() {
            guard let target = CloudTarget(hook: hook), let url = hook["url"]?.stringValue else { continue }
            addresses[target] = url
        }
        let services: CloudServices? = state.withLock { state in
            guard number > state.reading else { return nil }
            state.reading = number
            state.addresses = addresses
            return state.services
        }
        services?.offer(addresses.keys.map { CloudRegistration($0) })
    }

    public func call(_ call: CloudCall) async throws -> CloudResult {
        guard let url = state.withLock({ $0.addresses[call.target] }) else {
            throw CloudFailure("The webhook was removed.")
        }
        let address = try WebhookAddress(url)
        let body = await HeavyWork.run { encoder.body(of: call) }
        guard body.count <= Self.maxSentBytes else {
            throw CloudFailure("Request body larger than maxBodyLength limit")
        }
        var request = HTTPCall("POST", address.url, headers: [("Content-Type", "application/json")], body: body)
        request.headers.append(("X-Parse-Cloud-Depth", "\(call.depth)"))
        if !call.traceparent.isEmpty { request.headers.append(("traceparent", call.traceparent)) }
        if !call.requestID.isEmpty { request.headers.append(("X-Request-Id", call.requestID)) }
        if let key = options.key {
            request.headers.append(("X-Parse-Webhook-Key", key))
        } else {
            logger.warning("Making outgoing webhook request without webhookKey being set!")
        }
        if let authorization = address.authorization { request.headers.append(("Authorization", authorization)) }
        let ready = request
        let reply: HTTPReply
        do {
            reply = try await gate(to: address.host).run(call) {
                try await caller.send(ready, timeLimit: nil, maxBytes: Self.maxReceivedBytes)
            }
        } catch let failure as HTTPCallFailure {
            logger.warning(
                "webhook failed",
                metadata: ["call": "\(call.target)", "host": "\(address.host)", "error": "\(failure)"])
            throw CloudFailure(Self.text(failure.kind), isUnreachable: failure.kind == .unreachable)
        }
        return try await HeavyWork.makeValues(of: reply.body.count) { try WebhookAnswer.read(reply, call.target) }
    }

    private func gate(to host: String) -> CallGate {
        state.withLock { state in
            if let gate = state.gates[Name(host)] { return gate }
            let gate = CallGate(capacity: options.connections, maxWaiting: 10 * options.connections)
            state.gates[Name(host)] = gate
            return gate
        }
    }

    /// Returns the error text for the client, which doesn't reveal the webhook's address.
    private static func text(_ kind: HTTPCallFailure.Kind) -> String {
        switch kind {
        case .unreachable: "Webhook could not be reached."
        case .closed: "Webhook closed the connection without a response."
        case .tooLarge: "The webhook's response is larger than \(maxReceivedBytes) bytes."
        case .busy, .other: "Webhook could not be called."
        }
    }

    /// parse-server's limit for request bodies, in bytes.
    private static let maxSentBytes = 10 * 1024 * 1024
    private static let maxReceivedBytes = 20 * 1024 * 1024
}

extension CloudTarget {
    /// Returns the target of a row of `_Hooks`, or nil if the row is invalid.
    init?(hook: JSONObject) {
        if let name = hook["functionName"]?.nameValue {
            self = .function(name)
        } else if let className = hook["className"]?.nameValue, let trigger = hook["triggerName"]?.stringValue,
            let event = CloudEvent(rawValue: trigger)
        {
            self = .trigger(event, className)
        } else {
            return nil
        }
    }
}
