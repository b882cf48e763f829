import CloudCode
import JSON
public import Logging

/// What every call of cloud code has: who calls, and from where.
public struct CallDetails: Sendable {
    /// The user of the session; nil without one.
    public let user: ParseObject?
    /// Whether a master key was sent, the read-only one included.
    public let isMaster: Bool
    /// Whether it's the read-only key.
    public let isReadOnly: Bool
    /// The installation that calls; `cloud` for calls of cloud code.
    public let installationId: String?
    /// The IP address of the client.
    public let ip: String
    /// The header fields of the client, by their names in lower case; without keys of the master.
    public let headers: [String: String]
    /// What callers and triggers hand on to triggers. What a trigger puts here reaches those that follow.
    public var context: JSONObject
    /// The log of the server. The id of the request stands beside each line.
    public let log: Logger
    let call: CloudCall
    let services: CloudServices?

    init(_ call: CloudCall, _ services: CloudServices?, _ log: Logger) {
        user = call.caller.user.map { ParseObject("_User", json: $0) }
        isMaster = call.caller.isMaster
        isReadOnly = call.caller.isReadOnly
        installationId = call.caller.installationId
        ip = call.ip
        headers = Dictionary(
            call.headers.compactMap { name, value in value.stringValue.map { (name.text, $0) } },
            uniquingKeysWith: { first, _ in first })
        context = call.context
        var log = log
        if !call.requestID.isEmpty { log[metadataKey: "id"] = "\(call.requestID)" }
        self.log = log
        self.call = call
        self.services = services
    }

    var changedContext: JSONObject? { context == call.context ? nil : context }
}

/// A call of cloud code.
public protocol CloudRequest: Sendable {
    /// The caller and its origin.
    var details: CallDetails { get set }
}

extension CloudRequest {
    /// The user of the session; nil without one.
    public var user: ParseObject? { details.user }
    /// Whether a master key was sent.
    public var isMaster: Bool { details.isMaster }
    /// The server's log.
    public var log: Logger { details.log }
    /// What callers and triggers hand on to triggers.
    public var context: JSONObject {
        get { details.context }
        set { details.context = newValue }
    }

    /// The data, as an authority sees them. Every call goes the way of a client's request: permissions, triggers and
    /// all.
    public func data(_ authority: Authority) -> Database { Database(authority, details) }
}
