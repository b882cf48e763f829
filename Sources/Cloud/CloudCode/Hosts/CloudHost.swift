import JSON

/// The kinds of cloud-code hosts. If several hosts register a target, the first kind in this order is called.
public enum CloudHostKind: Int, Sendable, CaseIterable, Comparable {
    /// HTTP servers registered through `/hooks`.
    case webhooks
    /// Swift code in the server process.
    case swift
    /// `cloud/main.js` or an app's own `index.js`, run by Node.js.
    case node

    public static func < (left: CloudHostKind, right: CloudHostKind) -> Bool { left.rawValue < right.rawValue }

    /// The name in log messages.
    public var name: String {
        switch self {
        case .webhooks: "a webhook"
        case .swift: "Swift code"
        case .node: "cloud/main.js"
        }
    }
}

/// A function, job or trigger offered by a host.
public struct CloudRegistration: Sendable {
    public var target: CloudTarget
    /// The checks made by the server before each call, or nil for none.
    public var validator: CloudValidator?
    /// Whether at most one run of the job is active at a time, across all processes on the database.
    public var isExclusive = false

    public init(_ target: CloudTarget, validator: CloudValidator? = nil) {
        self.target = target
        self.validator = validator
    }
}

/// Runs cloud code. The engine only calls targets that the host has registered.
public protocol CloudHost: Sendable {
    var kind: CloudHostKind { get }

    /// Starts the host before the server accepts requests. The host registers its code with ``CloudServices/offer(_:)``
    /// now and after each change.
    ///
    /// - Throws: An error if the server must not start.
    func start(_ services: CloudServices) async throws

    /// Calls a registered target. On timeout the engine cancels the task and discards its result.
    ///
    /// - Throws: `ParseError` for a failure with an error code, or `CloudFailure` for another failure.
    func call(_ call: CloudCall) async throws -> CloudResult

    /// Returns the time limit of a call, or nil for none.
    func timeLimit(of target: CloudTarget) -> Duration?

    /// Runs the checks of a validator that only the host can perform (``CloudValidator/asksHost``).
    ///
    /// - Throws: `ParseError` or `CloudFailure` to reject the call.
    func validate(_ call: CloudCall) async throws

    /// The host's condition, for administrators. `state` is `ready`, `starting` or `down`.
    var condition: JSONObject { get }

    /// Stops the host when the server stops.
    func shutdown() async
}

extension CloudHost {
    public func timeLimit(of target: CloudTarget) -> Duration? {
        if case .job = target { nil } else { .seconds(60) }
    }
    public func validate(_ call: CloudCall) async throws {}
    public var condition: JSONObject { ["state": "ready"] }
    public func shutdown() async {}
}

/// The services of the server that a host can use.
public struct CloudServices: Sendable {
    let engine: CloudEngine
    let kind: CloudHostKind

    /// Registers everything that the host offers. Replaces its previous registrations.
    public func offer(_ registrations: [CloudRegistration]) { engine.register(registrations, of: kind) }

    /// Performs a request of cloud code as an internal caller: keys are optional, and rate limits and `routeAllowList`
    /// don't apply. The installation is `cloud` unless the request names another.
    public func perform(_ request: InternalRequest) async -> InternalReply { await engine.perform(request) }
}
