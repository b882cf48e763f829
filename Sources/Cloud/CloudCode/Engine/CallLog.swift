import JSON
import Logging
import Logs
import ParseModel
import ServerConfiguration

/// Logs the results of functions and triggers, without their parameters and objects.
struct CallLog: Sendable {
    let levels: Configuration.EventLevels
    let logger: Logger

    /// Logs the end of a function or trigger. Does nothing for jobs and failed afterSave triggers.
    ///
    /// - Parameter error: The error, or nil if the call succeeded.
    func record(_ call: CloudCall, _ duration: Duration, _ error: (any Error)?) {
        guard let (level, message) = event(call.target, isFailed: error != nil) else { return }
        logger.event(level.rawValue, message, metadata: fields(call, duration, error))
    }

    private func event(
        _ target: CloudTarget, isFailed: Bool
    ) -> (Configuration.EventLevels.Level, Logger.Message)? {
        switch target {
        case .job: nil
        case .function:
            isFailed
                ? (levels.cloudFunctionError, "cloud function failed") : (levels.cloudFunctionSuccess, "cloud function")
        case .trigger(let event, _):
            // The caller of the trigger logs afterSave failures.
            if isFailed {
                event == .afterSave ? nil : (levels.triggerBeforeError, "trigger failed")
            } else {
                (event.rawValue.hasPrefix("after") ? levels.triggerAfter : levels.triggerBeforeSuccess, "trigger")
            }
        }
    }

    private func fields(_ call: CloudCall, _ duration: Duration, _ error: (any Error)?) -> Logger.Metadata {
        var fields: Logger.Metadata = ["ms": "\((duration / .milliseconds(1) * 10).rounded() / 10)"]
        switch call.target {
        case .function(let name), .job(let name): fields["function"] = "\(name)"
        case .trigger(let event, let className):
            fields["trigger"] = "\(event.rawValue)"
            fields["class"] = "\(className)"
        }
        if !call.requestID.isEmpty { fields["id"] = "\(call.requestID)" }
        if let user = call.caller.user?["objectId"]?.stringValue { fields["user"] = "\(user)" }
        guard let error else { return fields }
        let failure = (error as? CloudFailure)?.parseError(for: call) ?? error as? ParseError
        if let failure { fields["code"] = "\(failure.code)" }
        // Error texts of cloud code may quote values sent by clients, which can be long.
        fields["error"] = "\((failure?.message ?? "\(error)").prefix(1000))"
        return fields
    }
}
