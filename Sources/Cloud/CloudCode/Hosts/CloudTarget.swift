public import JSON
import ServerConfiguration

/// The events that trigger cloud code, with parse-server's names.
public enum CloudEvent: String, Sendable, Hashable, CaseIterable {
    case beforeSave, afterSave, beforeDelete, afterDelete, beforeFind, afterFind
    case beforeLogin, afterLogin, afterLogout, beforePasswordResetRequest
    case beforeConnect, beforeSubscribe, afterEvent
}

/// A function, job or trigger of cloud code.
public enum CloudTarget: Sendable, Hashable {
    case function(Name)
    case job(Name)
    /// An event of a class, or of `@File`, `@Config` or `@Connect`.
    case trigger(CloudEvent, Name)
}

extension CloudTarget: CustomStringConvertible {
    /// The name in log messages.
    public var description: String {
        switch self {
        case .function(let name): "function \(name)"
        case .job(let name): "job \(name)"
        case .trigger(let event, let className): "\(event.rawValue) of \(className)"
        }
    }
}

extension CloudTarget {
    /// The requests that a rate limit on this target counts, or nil if the target can't have one.
    var limitedRequests: RateLimitSubject? {
        switch self {
        case .function(let name): RateLimitSubject("/functions/\(name)")
        case .job: nil
        case .trigger(.beforeLogin, _): RateLimitSubject("/login")
        case .trigger(.beforePasswordResetRequest, _): RateLimitSubject("/requestPasswordReset", methods: ["POST"])
        case .trigger(.beforeSave, let name): Self.requests(of: name.text, ["POST", "PUT"])
        case .trigger(.beforeDelete, let name): Self.requests(of: name.text, ["DELETE"])
        case .trigger(.beforeFind, let name): Self.requests(of: name.text, ["GET"])
        case .trigger: nil
        }
    }

    private static func requests(of className: String, _ methods: Set<String>) -> RateLimitSubject {
        switch className {
        case "@Config": RateLimitSubject("/config", methods: methods)
        case "@File": RateLimitSubject("/files", includesBelow: true, methods: methods)
        default: RateLimitSubject("/classes/\(className)", includesBelow: true, methods: methods)
        }
    }
}
