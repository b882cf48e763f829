import HTTP
import JSON
import Logging
import Operations
import ParseModel
import ParseStorage
import Postgres

/// Converts errors to REST error responses.
package struct ErrorReply: Sendable {
    /// Whether errors with a public text show callers only that text.
    let sanitizes: Bool
    let logger: Logger

    private struct Description {
        var status: Int
        var object: JSONObject
        /// The number of seconds after which the client may retry.
        var retryAfter: Int?
    }

    /// Returns the response for an error. Details that the caller doesn't see are logged with the request id.
    package func reply(to error: any Error, requestID: RequestID) -> Reply {
        let description = describe(error, requestID)
        var reply = Reply.object(description.object, status: description.status)
        reply.code = description.object["code"]?.numberValue.map { Int($0) }
        if let seconds = description.retryAfter { reply.headers = [("Retry-After", "\(seconds)")] }
        return reply
    }

    /// Returns the response element of a failed batch call or import row.
    ///
    /// - Throws: The error itself if the whole request was cancelled.
    func element(for error: any Error, requestID: RequestID) throws -> [UInt8] {
        if Self.isGivenUp(error) { throw error }
        var object = describe(error, requestID).object
        object["message"] = nil
        return JSONValue.object(["error": .object(object)]).serialized()
    }

    private func describe(_ error: any Error, _ requestID: RequestID) -> Description {
        switch error {
        case let error as ParseError:
            let text = text(error.message, error.publicMessage, requestID)
            var object = Self.object(error.code, text)
            if error.isWithoutText { object["error"] = nil }
            return Description(status: Self.status(error.code), object: object)
        case let error as Forbidden:
            let text = text(error.message, error.publicMessage, requestID)
            return Description(status: 403, object: ["error": .string(text)])
        case let error as HTTPError:
            return Description(
                status: error.status, object: ["error": .string(error.message)],
                retryAfter: error.status == 503 ? 1 : nil)
        case let error as ServiceUnavailable:
            return Description(
                status: 503, object: Self.object(error.code, error.message), retryAfter: error.retryAfter)
        case let error as RateLimitExceeded:
            return Description(
                status: 429, object: Self.object(RateLimitExceeded.code, error.message), retryAfter: error.retryAfter)
        case let error as ObjectChanged:
            return Description(
                status: 409,
                object: [
                    "error": "The object was changed in the meantime. Your change was not applied.",
                    "object": .object(error.object),
                ])
        case let error as PostgresError where error.kind == .busy:
            return describe(ObjectStore.tooBusy, requestID)
        case _ where Self.isGivenUp(error):
            // The client has left or the server is shutting down, so no response can reach it.
            logger.debug("request abandoned", metadata: ["id": "\(requestID)"])
        case let error as PostgresError:
            // PostgreSQL's messages may quote client data.
            logger.error(
                "request failed",
                metadata: [
                    "id": "\(requestID)", "error": "\(error.kind)", "sqlstate": "\(error.sqlState)",
                    "table": "\(error.table ?? "")", "constraint": "\(error.constraint ?? "")",
                ])
            logger.debug("PostgreSQL error", metadata: ["id": "\(requestID)", "message": "\(error.message)"])
        default:
            logger.error("request failed", metadata: ["id": "\(requestID)", "error": "\(String(reflecting: error))"])
        }
        let text: JSONValue = "Internal server error."
        return Description(status: 500, object: ["code": 1, "message": text, "error": text])
    }

    /// Whether the request was cancelled because the client left or the server is shutting down.
    private static func isGivenUp(_ error: any Error) -> Bool {
        error is CancellationError || (error as? PostgresError)?.kind == .cancelled
    }

    private func text(_ message: String, _ publicMessage: String?, _ requestID: RequestID) -> String {
        guard sanitizes, let publicMessage, publicMessage != message else { return message }
        logger.info("permission denied", metadata: ["id": "\(requestID)", "reason": "\(message)"])
        return publicMessage
    }

    private static func object(_ code: Int, _ text: String) -> JSONObject {
        ["code": .number(Double(code)), "error": .string(text)]
    }

    private static func status(_ code: Int) -> Int {
        switch code {
        case ParseError.internalServerError: 500
        case ParseError.objectNotFound: 404
        default: 400
        }
    }
}
