import JSON

/// Where cloud code runs. When two hosts offer the same, the one that stands higher here is called.
public enum CloudHostKind: Int, Sendable, CaseIterable, Comparable {
    /// Servers that `/hooks` names.
    case webhooks
    /// Swift code in this process.
    case swift
    /// `cloud/main.js` in Node.
    case node

    public static func < (left: CloudHostKind, right: CloudHostKind) -> Bool { left.rawValue < right.rawValue }

    /// What the log calls it.
    public var name: String {
        switch self {
        case .webhooks: "a webhook"
        case .swift: "Swift code"
        case .node: "cloud/main.js"
        }
    }
}

/// Something that a host offers.
public struct CloudRegistration: Sendable {
    /// The call's target.
    public var target: CloudTarget
    /// What is checked before it is called, by the server; nil for nothing.
    public var validator: CloudValidator?
    /// Whether a job runs once at a time, of all processes on the database.
    public var isExclusive = false

    /// Offers something.
    public init(_ target: CloudTarget, validator: CloudValidator? = nil) {
        self.target = target
        self.validator = validator
    }
}

/// A place where cloud code runs. The engine asks no host but for what it offers.
public protocol CloudHost: Sendable {
    /// The kind of host.
    var kind: CloudHostKind { get }

    /// Makes the host ready before the server takes requests. It says what it offers by ``CloudServices/offer(_:)``, now and
    /// whenever that changes.
    ///
    /// - Throws: What keeps the server from starting.
    func start(_ services: CloudServices) async throws

    /// Calls what the host offers. The call is given up at its time limit: the task is cancelled then, and what it gives
    /// afterwards is dropped.
    ///
    /// - Throws: `ParseError` for an error with a number, `CloudFailure` for one with a text alone.
    func call(_ call: CloudCall) async throws -> CloudResult

    /// How long a call is waited for; nil for as long as it takes.
    func timeLimit(of target: CloudTarget) -> Duration?

    /// Checks a call by the parts of a validator that only the host knows (``CloudValidator/asksHost``): functions.
    ///
    /// - Throws: `ParseError` or `CloudFailure` for what refuses the call.
    func validate(_ call: CloudCall) async throws

    /// How the host is, for administrators: `state` (`ready`, `starting`, `down`), and what else there is to say.
    var condition: JSONObject { get }

    /// Ends the host when the server stops.
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

/// What a host gets of the server.
public struct CloudServices: Sendable {
    let engine: CloudEngine
    let kind: CloudHostKind

    /// Says all that the host offers; what it offered before is forgotten.
    public func offer(_ registrations: [CloudRegistration]) { engine.register(registrations, of: kind) }

    /// Performs a request of cloud code as an internal caller: keys are optional, and rate limits and `routeAllowList`
    /// don't apply. The installation is `cloud` unless the request names one.
    public func perform(_ request: InternalRequest) async -> InternalReply { await engine.perform(request) }
}
