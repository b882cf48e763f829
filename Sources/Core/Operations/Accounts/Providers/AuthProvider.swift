public import JSON
public import ParseModel
import Rules
public import ServerConfiguration

/// A service that knows users: a way to log in other than by a password, or something to prove besides one. A new one
/// is a type with the method ``validate``, and a line where the server is put together.
public protocol AuthProvider: Sendable {
    /// Refuses options that the provider cannot work with. Called once, before the server starts, unless the provider
    /// is switched off.
    ///
    /// - Parameters:
    ///   - name: The name of the provider in the option `auth`, for the text of the error.
    ///   - options: What the option `auth` says of it.
    /// - Throws: `ConfigurationError` that names the option.
    func check(_ name: Name, _ options: JSONObject) throws(ConfigurationError)

    /// What a client sent, as users are looked up by it and as it is stored. A provider that takes codes gets the id
    /// and the token for the code here.
    ///
    /// - Returns: The data with an `id`, without what may be used only once.
    /// - Throws: `ParseError` when the provider does not know the code.
    func exchange(_ data: JSONObject, _ options: JSONObject) async throws -> JSONObject

    /// Checks what a client says of its user.
    ///
    /// - Parameters:
    ///   - data: What the client sent for this provider: the `id` that the provider knows the user by, and what
    ///     proves it.
    ///   - options: What the option `auth` says of this provider.
    /// - Throws: `ParseError` when it is not so.
    func validate(_ data: JSONObject, _ options: JSONObject) async throws

    /// Checks one use of the provider, and says what is to be kept of it. Where a provider has no rule of its own,
    /// ``validate`` checks, and what was sent is kept.
    ///
    /// - Throws: `ParseError` when what the client sent is not right.
    func check(_ attempt: AuthAttempt) async throws -> AuthOutcome

    /// Whether what a client sent is to prove something, so that it may be a guess: too many wrong ones lock the
    /// account.
    func bringsProof(_ data: JSONObject) -> Bool

    /// Whether the provider is a way to log in, or something that has to be proved besides.
    ///
    /// - Parameter stored: What is stored of the user for this provider.
    func policy(_ stored: JSONObject) -> AuthPolicy

    /// What those who may read the login data of a user see of this provider's.
    func shown(_ stored: JSONObject, _ options: JSONObject) -> JSONObject

    /// Puts a question before a log-in, as `/challenge` asks for it.
    ///
    /// - Returns: The answer for the client; nil from a provider that has no questions.
    func challenge(_ data: JSONObject, _ attempt: AuthAttempt) async throws -> JSONValue?

    /// The members of what a client sends that are checked, but not kept.
    var unstored: Set<Name> { get }

    /// What the provider reads of what the option `auth` says of it, besides `enabled`; nil for a provider that looks
    /// after that alone.
    var optionForms: [Name: AuthOptionForm]? { get }

    /// Whether the provider is an adapter of the app's own, in JavaScript.
    var runsModule: Bool { get }

    /// Warnings about options that the provider can work with. Called once, before the server starts.
    func warnings(_ name: Name, _ options: JSONObject) -> [String]
}

/// What an option of a provider may be.
public enum AuthOptionForm: Sendable {
    case text
    /// A text, or a list of texts.
    case texts
    case flag
    /// What the provider checks by itself.
    case any

    func takes(_ value: JSONValue) -> Bool {
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
    public func shown(_ stored: JSONObject, _ options: JSONObject) -> JSONObject { stored }
    public func challenge(_ data: JSONObject, _ attempt: AuthAttempt) async throws -> JSONValue? { nil }
    public var unstored: Set<Name> { [] }
    public var optionForms: [Name: AuthOptionForm]? { nil }
    public var runsModule: Bool { false }
    public func warnings(_ name: Name, _ options: JSONObject) -> [String] { [] }
}

/// What a provider is to a log-in.
public enum AuthPolicy: Sendable {
    /// A way to log in.
    case standard
    /// Something to prove besides; a user who set it up has to.
    case additional
    /// A way to log in that is proof enough: nothing besides is asked for.
    case solo
}

/// One use of a provider.
public struct AuthAttempt: Sendable {
    /// What a provider is used for.
    public enum Purpose: Sendable {
        /// A user adds the provider.
        case setUp
        /// A client logs in as a user who has the provider.
        case logIn
        /// A user who has the provider changes what is stored.
        case update
    }

    /// What the provider is used for.
    public var purpose: Purpose
    /// What the client sent for this provider.
    public var data: JSONObject
    /// What is stored of the user for this provider; nil for nothing.
    public var stored: JSONObject?
    /// What the option `auth` says of this provider.
    public var options: JSONObject
    /// The user who has the provider, or adds it; nil for a new user.
    public var userId: String?
    /// Whether the call has the master key.
    public var isMaster = false
    /// When the request came.
    public var now: ParseDate
    /// The client and the user, for providers that are modules of the app.
    package var request: ModuleRequest?

    public init(
        _ purpose: Purpose, _ data: JSONObject, stored: JSONObject? = nil, options: JSONObject, isMaster: Bool = false,
        now: ParseDate
    ) {
        self.purpose = purpose
        self.data = data
        self.stored = stored
        self.options = options
        self.isMaster = isMaster
        self.now = now
    }
}

/// What became of an attempt that was right.
public struct AuthOutcome: Sendable {
    /// What is to be stored of the user for this provider; nil to leave it as it is.
    public var stored: JSONObject?
    /// What the client gets as `authDataResponse` of the answer; nil for nothing.
    public var response: JSONObject?
    /// What the request ends with although something is to be stored; nil for a request that goes on.
    public var refusal: ParseError?
    /// The mail address that the provider says is the user's; nil where it says nothing of one.
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

/// Users without an account: the client that draws an id is its user.
struct AnonymousProvider: AuthProvider {
    var optionForms: [Name: AuthOptionForm]? { [:] }
    func validate(_ data: JSONObject, _ options: JSONObject) async throws {}
}
