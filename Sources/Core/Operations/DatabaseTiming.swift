import Limits
import Logging
import ParseModel
import ParseStorage
import Postgres
import Rules
import Telemetry
import Tracing

extension Backend {
    /// Runs a database operation and records its duration in metrics, traces and the slow-query log.
    ///
    /// - Parameter context: The request that caused the operation, or nil for session lookups.
    func timed<R>(
        _ operation: DatabaseMeters.Operation, _ className: String, _ context: RequestContext?,
        _ body: () async throws -> R
    ) async throws -> R {
        let start = ContinuousClock.now
        do {
            let result = try await body()
            record(operation, className, context, since: start, nil)
            return result
        } catch {
            record(operation, className, context, since: start, error)
            throw error
        }
    }

    /// Runs a log-in and counts its result.
    func countingLogIn<R>(by method: String, _ body: () async throws -> R) async throws -> R {
        do {
            let result = try await body()
            meters.logins.add(.ok, method: method)
            return result
        } catch {
            meters.logins.add(LoginMeters.Result(error), method: method)
            throw error
        }
    }

    private func record(
        _ operation: DatabaseMeters.Operation, _ className: String, _ context: RequestContext?,
        since start: ContinuousClock.Instant, _ error: (any Error)?
    ) {
        let (duration, errorClass) = (ContinuousClock.now - start, error.flatMap { Self.errorClass(of: $0) })
        meters.database.add(operation, duration, errorClass: errorClass)
        if error == nil, [.create, .update, .delete].contains(operation) { store.trouble.clear() }
        if let span = context?.facts?.span { trace(operation, className, below: span, duration, errorClass) }
        guard let threshold = slowLog.threshold, duration >= threshold else { return }
        meters.slowOperations.add(operation)
        let statement = CallerPresence.current?.removeSlowStatement()
        guard var fields = slowLog.record(operation, className, statement: statement, took: duration) else { return }
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

    /// Returns the SQLSTATE of a database failure, `none` for a failure without one, or nil for expected errors such as
    /// a missing object.
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
    /// Classifies the error of a rejected log-in.
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
