import ParseModel
import ParseStorage
import Postgres
import Rules
import Telemetry

extension Backend {
    /// Measures a call of the database.
    ///
    /// - Parameter operation: What is asked of it.
    /// - Throws: What `body` throws.
    func timed<R>(_ operation: DatabaseMeters.Operation, _ body: () async throws -> R) async throws -> R {
        let start = ContinuousClock.now
        do {
            let result = try await body()
            meters.database.add(operation, .now - start)
            return result
        } catch {
            meters.database.add(operation, .now - start, errorClass: Self.errorClass(of: error))
            throw error
        }
    }

    /// The class of what the database did not do, by the first characters of its SQLSTATE; nil for a refusal that is an
    /// answer, such as an object that is not there.
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
