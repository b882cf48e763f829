import ServerConfiguration

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

    /// The requests for objects of a class, for files, or for the configuration.
    private static func requests(of className: String, _ methods: Set<String>) -> RateLimitSubject {
        switch className {
        case "@Config": RateLimitSubject("/config", methods: methods)
        case "@File": RateLimitSubject("/files", includesBelow: true, methods: methods)
        default: RateLimitSubject("/classes/\(className)", includesBelow: true, methods: methods)
        }
    }
}
