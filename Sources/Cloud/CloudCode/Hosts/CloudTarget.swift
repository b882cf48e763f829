public import JSON
import ServerConfiguration

/// When cloud code of a class is called.
public enum CloudEvent: String, Sendable, Hashable, CaseIterable {
    case beforeSave, afterSave, beforeDelete, afterDelete, beforeFind, afterFind
    case beforeLogin, afterLogin, afterLogout, beforePasswordResetRequest
    case beforeConnect, beforeSubscribe, afterEvent
}

/// What cloud code can be called for.
public enum CloudTarget: Sendable, Hashable {
    /// A function, by name.
    case function(Name)
    /// A job, by name.
    case job(Name)
    /// An event of a class, `@File`, `@Config` or `@Connect`.
    case trigger(CloudEvent, Name)
}

extension CloudTarget: CustomStringConvertible {
    /// What the log calls it.
    public var description: String {
        switch self {
        case .function(let name): "function \(name)"
        case .job(let name): "job \(name)"
        case .trigger(let event, let className): "\(event.rawValue) of \(className)"
        }
    }
}

extension CloudTarget {
    /// The requests that are counted for a limit on this; nil where no client asks for it.
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
