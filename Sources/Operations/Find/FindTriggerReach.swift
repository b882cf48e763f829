import ParseModel
import Rules

/// Which finds triggers see: their objects become values on the way.
extension FindTriggers {
    /// Whether a find reaches a class with find triggers: its own, an included one, or one in a query inside of it.
    func reachesFindTriggers(_ className: String, _ options: FindOptions) -> Bool {
        hasFindTrigger(className) || options.redirectKey != nil || mayIncludeTriggered(className, options)
            || Self.hasSubquery(.object(options.condition))
    }
}
