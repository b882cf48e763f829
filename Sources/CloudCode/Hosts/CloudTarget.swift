public import JSON

/// When cloud code of a class is called.
public enum CloudEvent: String, Sendable, Hashable, CaseIterable {
    case beforeSave, afterSave, beforeDelete, afterDelete, beforeFind, afterFind
    case beforeLogin, afterLogin, afterLogout, beforePasswordResetRequest
    case beforeConnect, beforeSubscribe, afterEvent

    /// Whether it comes when all is done, so that it stops nothing.
    public var isAfter: Bool {
        switch self {
        case .afterSave, .afterDelete, .afterFind, .afterLogin, .afterLogout, .afterEvent: true
        default: false
        }
    }
}

/// What cloud code can be called for.
public enum CloudTarget: Sendable, Hashable {
    /// A function of a name.
    case function(Name)
    /// A job of a name.
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
