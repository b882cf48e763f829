import Logging
import ParseModel
import ParseStorage
import Postgres
import Rules
import Tasks
import Telemetry
import Tracing

extension Backend {
    /// Measures a call of the database.
    ///
    /// - Parameters:
    ///   - operation: What is asked of it.
    ///   - className: The class that it is about.
    ///   - context: The request that it is done for; nil for none.
    /// - Throws: What `body` throws.
    func timed<R>(
        _ operation: DatabaseMeters.Operation, _ className: String, _ context: RequestContext?,
        _ body: () async throws -> R
    ) async throws -> R {
        let start = ContinuousClock.now
        do {
            let result = try await body()
            note(operation, className, context, since: start, nil)
            return result
        } catch {
            note(operation, className, context, since: start, error)
            throw error
        }
    }

    /// Notes a call of the database that is over.
    ///
    /// - Parameter error: What it threw; nil for a success.
    func note(
        _ operation: DatabaseMeters.Operation, _ className: String, _ context: RequestContext?,
        since start: ContinuousClock.Instant, _ error: (any Error)?
    ) {
        let (duration, errorClass) = (ContinuousClock.now - start, error.flatMap { Self.errorClass(of: $0) })
        meters.database.add(operation, duration, errorClass: errorClass)
        if error == nil, [.create, .update, .delete].contains(operation) { store.trouble.clear() }
        if let span = context?.facts?.span { trace(operation, className, below: span, duration, errorClass) }
        guard let threshold = slowLog.threshold, duration >= threshold else { return }
        meters.slowOperations.add(operation)
        let statement = CallerPresence.current?.takeSlowStatement()
        guard var fields = slowLog.note(operation, className, statement: statement, took: duration) else { return }
        if let id = context?.facts?.logID { fields["id"] = "\(id)" }
        logger.warning("slow query", metadata: fields)
    }

    private func trace(
        _ operation: DatabaseMeters.Operation, _ className: String, below request: RequestSpan, _ duration: Duration,
        _ errorClass: String?
    ) {
        let start = DefaultTracerClock.now.nanosecondsSinceEpoch - duration.wholeNanoseconds
        let span = RequestTracer().startSpan(
            "\(operation) \(className)", context: request.context, ofKind: .client,
            at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: start))
        span.attributes = [
            "db.system.name": "postgresql", "db.operation.name": .string("\(operation)"),
            "db.collection.name": .string(className),
        ]
        if let errorClass {
            span.attributes["db.response.status_code"] = errorClass
            span.setStatus(SpanStatus(code: .error))
        }
        span.end()
    }

    /// The SQLSTATE class of a database failure, or nil for an error that is an answer, such as a missing object.
    private static func errorClass(of error: any Error) -> String? {
        switch error {
        case let error as PostgresError: error.sqlState.isEmpty ? "none" : error.sqlState
        case let error as ParseError where [ParseError.timeout, ParseError.internalServerError].contains(error.code):
            "none"
        case is ServiceUnavailable: "none"
        default: nil
        }
    }
}

extension LoginMeters.Result {
    /// How a log-in ended that was refused.
    init(_ error: any Error) {
        guard let error = error as? ParseError else {
            self = .provider
            return
        }
        switch error.code {
        case ParseError.objectNotFound where error.message.hasPrefix("Your account is locked"): self = .locked
        case ParseError.objectNotFound, ParseError.usernameMissing, ParseError.passwordMissing: self = .wrong
        case EmailVerifications.emailIsNotVerified.code: self = .unverified
        case ParseError.otherCause: self = .mfa
        default: self = .provider
        }
    }
}
