/// An error returned to clients, with Parse's error code and a message.
///
/// The codes are those of `PFErrorCode` and `Parse.Error` in the Parse SDKs. Programs check the code, users read the
/// message.
public struct ParseError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Parse's error code, such as 101 (object not found).
    public var code: Int
    /// The exact message. It may quote the rejected input.
    public var message: String
    /// The generic message that replaces the exact one if `enableSanitizedErrorResponse` is set, or nil to keep the
    /// exact one.
    public var publicMessage: String?
    /// Whether cloud code failed with only a code. The response then has no `error`.
    public var isWithoutText = false

    /// The exact message with the code, for the log.
    public var description: String { message.isEmpty ? "error \(code)" : "\(message) (code \(code))" }

    /// Creates an error with a code, an exact message and the generic message that may replace it.
    public init(_ code: Int, _ message: String, publicMessage: String? = nil) {
        self.code = code
        self.message = message
        self.publicMessage = publicMessage
    }

    /// Creates an error whose exact message reveals permissions. A sanitizing server returns `Permission denied`
    /// instead.
    public static func denied(_ code: Int, _ detail: String) -> ParseError {
        ParseError(code, detail, publicMessage: "Permission denied")
    }

    /// Creates the error for an action that needs more than the read-only master key.
    package static func readOnly(_ action: String) -> ParseError {
        .denied(operationForbidden, "read-only masterKey isn't allowed to \(action).")
    }

    package static func missingClass(_ name: String) -> ParseError {
        ParseError(invalidClassName, "Class \(name) does not exist.")
    }

    /// Creates an error thrown by cloud code. Without a text, the response contains only the code.
    public static func ofCloudCode(_ code: Int, _ text: String?) -> ParseError {
        var error = ParseError(code, text ?? "")
        error.isWithoutText = text == nil
        return error
    }

    /// The error for a write if the server is `readOnly`.
    public static let serverOnlyReads = ParseError(operationForbidden, "This server is read-only.")
}

/// Error codes that Roost returns, by their names in the SDKs.
extension ParseError {
    public static let otherCause = -1
    public static let internalServerError = 1
    public static let objectNotFound = 101
    public static let invalidQuery = 102
    public static let invalidClassName = 103
    public static let missingObjectId = 104
    public static let invalidKeyName = 105
    public static let invalidJSON = 107
    public static let commandUnavailable = 108
    public static let incorrectType = 111
    public static let pushMisconfigured = 115
    public static let objectTooLarge = 116
    public static let operationForbidden = 119
    public static let invalidNestedKey = 121
    public static let invalidFileName = 122
    public static let invalidACL = 123
    public static let timeout = 124
    public static let invalidEmailAddress = 125
    public static let fileSaveError = 130
    public static let duplicateValue = 137
    public static let scriptFailed = 141
    public static let validationError = 142
    public static let webhookError = 143
    public static let fileDeleteError = 153
    public static let requestLimitExceeded = 155
    public static let duplicateRequest = 159
    public static let invalidValue = 162
    public static let usernameMissing = 200
    public static let passwordMissing = 201
    public static let usernameTaken = 202
    public static let emailTaken = 203
    public static let emailMissing = 204
    public static let emailNotFound = 205
    public static let sessionMissing = 206
    public static let accountAlreadyLinked = 208
    public static let invalidSessionToken = 209
    public static let unsupportedService = 252
    public static let invalidSchemaOperation = 255

    /// The error for an object that doesn't exist or that the caller may not access.
    public static let notFound = ParseError(objectNotFound, "Object not found.")
}

/// A rejection without a Parse error code, for example because the request needs the master key. HTTP status 403.
public struct Forbidden: Error, Sendable, Equatable, CustomStringConvertible {
    public var message: String
    /// The generic message that replaces the exact one if errors are sanitized, or nil to keep the exact one.
    public var publicMessage: String?

    public var description: String { message }

    /// Creates an error with an exact message and the generic message that may replace it.
    public init(_ message: String, publicMessage: String? = "Permission denied") {
        self.message = message
        self.publicMessage = publicMessage
    }

    /// The error for a request that requires the master key.
    public static let masterKeyRequired = Forbidden("unauthorized: master key is required")
}

/// The error if the server, or a service that it needs, is temporarily unavailable. HTTP 503 with `Retry-After`.
public struct ServiceUnavailable: Error, Sendable, Equatable, CustomStringConvertible {
    public var message: String
    /// The number of seconds after which a retry makes sense.
    public var retryAfter: Int
    /// The error code for SDKs, by default 155 (request limit exceeded).
    public var code: Int

    public var description: String { message }

    public init(_ message: String, retryAfter: Int = 2, code: Int = ParseError.requestLimitExceeded) {
        self.message = message
        self.retryAfter = retryAfter
        self.code = code
    }
}
