public import JSON
public import ParseModel
public import ServerConfiguration

/// An external log-in service or an additional factor.
///
/// To add a provider, implement ``validate(_:_:)`` and register the type where the server is assembled.
public protocol AuthProvider: Sendable {
    /// Rejects invalid options. Called once before the server starts, if the option `auth` enables the provider.
    ///
    /// - Parameters:
    ///   - name: The provider's name in the option `auth`, for error messages.
    ///   - options: The provider's options in the option `auth`.
    /// - Throws: `ConfigurationError` that names the option.
    func check(_ name: Name, _ options: JSONObject) throws(ConfigurationError)

    /// Converts the client's data to the form used for looking up the user and for storing. A provider that accepts
    /// authorization codes exchanges the code for the id and token here.
    ///
    /// - Returns: The data without single-use values, and with an `id` unless the provider is an additional factor.
    /// - Throws: `ParseError` if the code is invalid.
    func exchange(_ data: JSONObject, _ options: JSONObject) async throws -> JSONObject

    /// Checks the identity that the client claims.
    ///
    /// - Parameters:
    ///   - data: The client's data for this provider: the provider's user `id` and its proof.
    ///   - options: The provider's options in the option `auth`.
    /// - Throws: `ParseError` if the proof is invalid.
    func validate(_ data: JSONObject, _ options: JSONObject) async throws

    /// Checks one use of the provider and returns the data to store. By default, calls ``validate(_:_:)`` and stores
    /// the client's data without the members in ``unstored``.
    ///
    /// - Throws: `ParseError` if the client's data is invalid.
    func check(_ attempt: AuthAttempt) async throws -> AuthOutcome

    /// Whether the data contains a proof that could be guessed. Repeated wrong guesses lock the account.
    func bringsProof(_ data: JSONObject) -> Bool

    /// Returns the provider's role in a user's log-ins.
    ///
    /// - Parameter stored: The user's stored data for this provider, or the client's if none is stored.
    func policy(_ stored: JSONObject) -> AuthPolicy

    /// Returns the provider's role in a log-in, by default that of the stored data.
    ///
    /// - Throws: `ParseError` if the log-in must be rejected.
    func loginPolicy(_ attempt: AuthAttempt) async throws -> AuthPolicy

    /// Returns the part of the stored data that users may see.
    func visibleData(_ stored: JSONObject, _ options: JSONObject) -> JSONObject

    /// Whether code of the app chooses the data in responses, with ``shownData(_:of:_:)``.
    var choosesShownData: Bool { get }

    /// Returns the data to show to the caller instead of each user's stored data, or null to hide it.
    ///
    /// - Parameter users: The ids of the users.
    func shownData(_ stored: [JSONObject], of users: [String], _ attempt: AuthAttempt) async -> [JSONValue]

    /// Creates a challenge for a log-in through `/challenge`.
    ///
    /// - Returns: The challenge for the client, or nil if the provider has none.
    func challenge(_ data: JSONObject, _ attempt: AuthAttempt) async throws -> JSONValue?

    /// Members of the client's data that are checked but not stored.
    var unstored: Set<Name> { get }

    /// The types of the provider's options except `enabled`, or nil if the provider checks its options itself.
    var optionForms: [Name: AuthOptionForm]? { get }

    /// Whether the provider is one of the app's JavaScript adapters.
    var runsModule: Bool { get }

    /// Returns warnings about usable but questionable options. Called once before the server starts.
    func warnings(_ name: Name, _ options: JSONObject) -> [String]
}

/// The type of a provider option.
public enum AuthOptionForm: Sendable {
    case text
    /// A string or a list of strings.
    case texts
    case flag
    /// Any value, checked by the provider itself.
    case any

    func accepts(_ value: JSONValue) -> Bool {
        switch (self, value) {
        case (.any, _), (_, .null), (.text, .string), (.texts, .string), (.flag, .bool): true
        case (.texts, .array(let list)): list.allSatisfy { $0.stringValue != nil }
        default: false
        }
    }

    var title: String {
        switch self {
        case .text: "a string"
        case .texts: "a string or a list of strings"
        case .flag: "true or false"
        case .any: "anything"
        }
    }
}

extension AuthProvider {
    public func check(_ name: Name, _ options: JSONObject) throws(ConfigurationError) {}
    public func exchange(_ data: JSONObject, _ options: JSONObject) async throws -> JSONObject { data }
    public func check(_ attempt: AuthAttempt) async throws -> AuthOutcome {
        try await validate(attempt.data, attempt.options)
        return AuthOutcome(stored: attempt.data.filter { !unstored.contains($0.key) })
    }
    public func bringsProof(_ data: JSONObject) -> Bool { true }
    public func policy(_ stored: JSONObject) -> AuthPolicy { .standard }
    public func loginPolicy(_ attempt: AuthAttempt) async throws -> AuthPolicy { policy(attempt.stored ?? [:]) }
    public func visibleData(_ stored: JSONObject, _ options: JSONObject) -> JSONObject { stored }
    public var choosesShownData: Bool { false }
    public func shownData(_ stored: [JSONObject], of users: [String], _ attempt: AuthAttempt) async -> [JSONValue] {
        []
    }
    public func challenge(_ data: JSONObject, _ attempt: AuthAttempt) async throws -> JSONValue? { nil }
    public var unstored: Set<Name> { [] }
    public var optionForms: [Name: AuthOptionForm]? { nil }
    public var runsModule: Bool { false }
    public func warnings(_ name: Name, _ options: JSONObject) -> [String] { [] }
}

/// A provider's role in a log-in.
public enum AuthPolicy: Sendable {
    /// A log-in method.
    case standard
    /// An additional factor, which is required once the user has set it up.
    case additional
    /// A log-in method that needs no additional factor.
    case solo
}

/// A single check by a provider: its purpose, input and options.
public struct AuthAttempt: Sendable {
    public enum Purpose: Sendable {
        /// A user adds the provider.
        case setUp
        /// A user who has the provider logs in.
        case logIn
        /// A user who has the provider changes the stored data.
        case update
    }

    public var purpose: Purpose
    /// The client's data for this provider.
    public var data: JSONObject
    /// The user's stored data for this provider, or nil if there is none yet.
    public var stored: JSONObject?
    /// The provider's options in the option `auth`.
    public var options: JSONObject
    /// The user whose `authData` changes or who proves an additional factor, or nil for other checks.
    public var userId: String?
    /// Whether the caller has full rights. In ``AuthProvider/shownData(_:of:_:)``, whether it may read everything.
    public var isMaster = false
    /// The time of the request.
    public var now: ParseDate
    /// The request for JavaScript adapters of the app, or nil for other providers.
    package var request: ModuleRequest?
}

/// The result of a successful check.
public struct AuthOutcome: Sendable {
    /// The data to store for this provider, or nil to keep the stored data.
    public var stored: JSONObject?
    /// The provider's member of `authDataResponse`, or nil to omit it.
    public var response: JSONObject?
    /// An error to send after storing the data, or nil if the request continues.
    public var refusal: ParseError?
    /// The email address that the provider has verified, or nil if it has verified none.
    public var vouchedAddress: String?

    public init(
        stored: JSONObject? = nil, response: JSONObject? = nil, refusal: ParseError? = nil,
        vouchedAddress: String? = nil
    ) {
        self.stored = stored
        self.response = response
        self.refusal = refusal
        self.vouchedAddress = vouchedAddress
    }
}

/// Anonymous users, identified by an id that the client generates.
struct AnonymousProvider: AuthProvider {
    var optionForms: [Name: AuthOptionForm]? { [:] }
    func validate(_ data: JSONObject, _ options: JSONObject) async throws {}
}
