import Encoding
public import JSON
public import Operations
import Outgoing
import ParseModel
public import ServerConfiguration

/// The second factor of a log-in (parse-server's `mfa`): codes of an authenticator app or from text messages.
///
/// Each code is accepted only once. The step of the last code is stored, and used recovery codes are removed.
public struct SecondFactor: AuthProvider {
    private let caller: HTTPCaller
    private let sentMessages = RecentCounts(within: .seconds(600))

    /// - Parameter caller: The HTTP client for sending text messages.
    public init(caller: HTTPCaller) { self.caller = caller }

    static func refused(_ text: String) -> ParseError { ParseError(ParseError.scriptFailed, text) }
    static let invalidToken = refused("Invalid MFA token")
    static let invalidData = refused("Invalid MFA data")

    public var optionForms: [Name: AuthOptionForm]? {
        [
            "options": .any, "digits": .any, "period": .any, "algorithm": .text, "sendSMS": .any,
            "smsValidityDuration": .any, "encryptionKey": .text,
        ]
    }

    public func check(_ name: Name, _ options: JSONObject) throws(ConfigurationError) {
        _ = try FactorOptions(options)
    }

    /// Removes the id, because a second factor doesn't identify a user.
    public func exchange(_ data: JSONObject, _ options: JSONObject) async throws -> JSONObject {
        data.filter { $0.key != "id" }
    }

    public func validate(_ data: JSONObject, _ options: JSONObject) async throws { throw Self.invalidData }

    public func bringsProof(_ data: JSONObject) -> Bool {
        data["token"]?.isTruthy == true || data["old"]?.isTruthy == true
    }

    public func policy(_ stored: JSONObject) -> AuthPolicy {
        stored.keys.elements == ["pending"] ? .standard : .additional
    }

    public func visibleData(_ stored: JSONObject, _ options: JSONObject) -> JSONObject {
        let isEnabled = stored["secret"]?.isTruthy == true || stored["mobile"]?.isTruthy == true
        return ["status": isEnabled ? "enabled" : "disabled"]
    }

    public func check(_ attempt: AuthAttempt) async throws -> AuthOutcome {
        guard let options = try? FactorOptions(attempt.options) else { throw Self.invalidData }
        // With the master key, a second factor can be set up and restored without a code.
        if attempt.isMaster, attempt.purpose != .logIn { return AuthOutcome(stored: attempt.data) }
        let app = AuthenticatorApp(options: options)
        let messages = TextMessages(options: options, caller: caller, sent: sentMessages, userId: attempt.userId)
        switch attempt.purpose {
        case .setUp:
            if options.hasSMS, let mobile = attempt.data["mobile"], mobile.isTruthy {
                return try await messages.begin(mobile, at: attempt.now)
            }
            guard options.hasTOTP else { throw Self.invalidData }
            return try app.setUp(attempt.data, at: attempt.now)
        case .logIn:
            let stored = attempt.stored ?? [:]
            if options.hasSMS, stored["mobile"]?.isTruthy == true {
                return try await messages.logIn(attempt.data, stored, at: attempt.now)
            }
            return try app.logIn(attempt.data["token"], stored, at: attempt.now)
        case .update:
            return try await update(attempt, options, app, messages)
        }
    }

    private func update(
        _ attempt: AuthAttempt, _ options: FactorOptions, _ app: AuthenticatorApp, _ messages: TextMessages
    ) async throws -> AuthOutcome {
        let stored = attempt.stored ?? [:]
        if options.hasSMS, let mobile = attempt.data["mobile"], mobile.isTruthy {
            if attempt.data["token"]?.isTruthy != true {
                // A pending number may get another code. A confirmed number stays.
                guard policy(stored) == .standard else { throw Self.refused("MFA is already set up on this account") }
                return try await messages.begin(mobile, stored, at: attempt.now)
            }
            return try messages.confirm(mobile, attempt.data["token"], stored, at: attempt.now)
        }
        guard options.hasTOTP else { throw Self.invalidData }
        // Changing the app requires a code of the old app, or of the phone that was used before it.
        let spent: AuthOutcome
        if options.hasSMS, stored["mobile"]?.isTruthy == true {
            spent = try await messages.logIn(["token": attempt.data["old"] ?? .null], stored, at: attempt.now)
            if spent.refusal != nil { return spent }
        } else {
            spent = try app.logIn(attempt.data["old"], stored, at: attempt.now)
        }
        var outcome = try app.setUp(attempt.data, at: attempt.now)
        if stored["secret"] == nil, spent.stored == nil, let pending = stored["pending"] {
            outcome.stored?["pending"] = pending
        }
        return outcome
    }
}
