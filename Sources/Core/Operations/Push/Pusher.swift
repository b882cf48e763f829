public import JSON
import ParseModel
public import ParseStorage
public import Rules

/// Accepts push notifications from administrators and cloud code.
public protocol Pusher: Sendable {
    /// Creates the push tables unless they exist.
    func prepare(_ store: ObjectStore) async throws

    /// Stores a push, which is sent soon after or at its scheduled time.
    ///
    /// - Returns: The id of the push's row in `_PushStatus`.
    /// - Throws: 119 for the read-only master key, 115 if a parameter is invalid or too many pushes are waiting, and
    ///   the errors of invalid conditions.
    func send(_ parameters: JSONObject, _ context: RequestContext, in backend: Backend) async throws -> String

    /// Returns the report of a dry run, which is retained for 30 days.
    ///
    /// - Throws: 101 if the push doesn't exist or has no report.
    func report(of id: String, _ context: RequestContext, in backend: Backend) async throws -> JSONObject

    /// Returns up to 10,000 devices that a push did not reach, with reasons. Failures are retained for a day.
    ///
    /// - Throws: 101 if the push doesn't exist.
    func failures(of id: String, _ context: RequestContext, in backend: Backend) async throws -> [JSONObject]
}

extension Backend {
    /// The push notifications.
    ///
    /// - Throws: 115 if the server was composed without them.
    public var pusher: any Pusher {
        get throws(ParseError) {
            guard let pusher = services.extensions.pusher else {
                throw ParseError(ParseError.pushMisconfigured, "Missing push configuration")
            }
            return pusher
        }
    }
}
