import HTTP
import JSON
import Logging
import ParseModel
import ParseStorage
import Postgres

/// Turns errors into the answers that clients understand.
struct ErrorReply: Sendable {
    /// Whether errors about permissions have a generic text.
    let sanitizes: Bool
    let logger: Logger

    /// The answer for an error. What the caller is not told goes to the log, under the request's id.
    func reply(to error: any Error, requestID: RequestID) -> Reply {
        switch error {
        case let error as ParseError:
            let text = text(error.message, error.publicMessage, requestID: requestID)
            let code = JSONValue.number(Double(error.code))
            return .object(["code": code, "error": .string(text)], status: Self.status(error.code))
        case let fault as HTTPError:
            let text = text(fault.message, fault.publicMessage, requestID: requestID)
            var reply = Reply.object(["error": .string(text)], status: fault.status)
            if fault.status == 503 { reply.headers.append(("Retry-After", "1")) }
            return reply
        case let error as ServiceUnavailable:
            let code = JSONValue.number(Double(error.code))
            var reply = Reply.object(["code": code, "error": .string(error.message)], status: 503)
            reply.headers = [("Retry-After", "\(error.retryAfter)")]
            return reply
        case let error as PostgresError where error.kind == .busy:
            return reply(to: ObjectStore.tooBusy, requestID: requestID)
        case _ where Self.isGivenUp(error):
            // Whoever asked has left, or the server shuts down: there is nobody to tell.
            logger.debug("request given up", metadata: ["id": "\(requestID)"])
            return .object(Self.internalError, status: 500)
        default:
            logger.error("request failed", metadata: ["id": "\(requestID)", "error": "\(String(reflecting: error))"])
            return .object(Self.internalError, status: 500)
        }
    }

    /// Whether an error only says that nobody waits for the answer.
    static func isGivenUp(_ error: any Error) -> Bool {
        error is CancellationError || (error as? PostgresError)?.kind == .cancelled
    }

    private func text(_ message: String, _ publicMessage: String?, requestID: RequestID) -> String {
        guard sanitizes, let publicMessage, publicMessage != message else { return message }
        logger.info("refused", metadata: ["id": "\(requestID)", "reason": "\(message)"])
        return publicMessage
    }

    private static func status(_ code: Int) -> Int {
        switch code {
        case ParseError.internalServerError: 500
        case ParseError.objectNotFound: 404
        default: 400
        }
    }

    private static let internalError: JSONObject = [
        "code": .number(1), "message": .string("Internal server error."), "error": .string("Internal server error."),
    ]
}
