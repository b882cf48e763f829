/// An error that a client sees: Parse's number for it and a text.
///
/// Numbers are those of the Parse SDKs' `PFErrorCode` / `Parse.Error`; clients decide by them, users read the texts.
public struct ParseError: Error, Sendable, Equatable {
    /// Parse's error number, for instance 101 (object not found).
    public var code: Int
    /// The exact text. It may name what was refused.
    public var message: String
    /// What a caller sees instead when the server answers permission errors with a generic text
    /// (`enableSanitizedErrorResponse`); nil when the exact text is harmless.
    public var publicMessage: String?
    /// Whether cloud code failed with only a number. The answer then has no `error`.
    public var isWithoutText = false

    /// Makes an error with a number, an exact text, and the generic text that may replace it.
    public init(_ code: Int, _ message: String, publicMessage: String? = nil) {
        self.code = code
        self.message = message
        self.publicMessage = publicMessage
    }

    /// An error whose exact text reveals permissions: a sanitising server answers `Permission denied` instead.
    public static func denied(_ code: Int, _ detail: String) -> ParseError {
        ParseError(code, detail, publicMessage: "Permission denied")
    }

    /// An error of cloud code with a number, and with a text if the code gave one.
    public static func ofCloudCode(_ code: Int, _ text: String?) -> ParseError {
        var error = ParseError(code, text ?? "")
        error.isWithoutText = text == nil
        return error
    }

    /// The error for a write on a server that is `readOnly`.
    public static let serverOnlyReads = ParseError(operationForbidden, "This server is read-only.")
}

/// The numbers that Roost answers, by the names that the SDKs give them.
extension ParseError {
    public static let otherCause = -1
    public static let internalServerError = 1
    public static let objectNotFound = 101
    public static let invalidQuery = 102
    public static let invalidClassName = 103
    public static let missingObjectId = 104
    public static let invalidKeyName = 105
    public static let invalidPointer = 106
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
    public static let aggregateError = 600

    /// Parse's answer for a row that is absent or not visible to the caller.
    public static let notFound = ParseError(objectNotFound, "Object not found.")
}

/// What the keys of a request do not suffice for, without one of Parse's numbers. HTTP status 403.
public struct Forbidden: Error, Sendable, Equatable {
    /// The exact text.
    public var message: String
    /// What a caller sees instead when the server answers permission errors with a generic text; nil for the exact one.
    public var publicMessage: String?

    /// Makes an error with an exact text, and the generic text that may replace it.
    public init(_ message: String, publicMessage: String? = "Permission denied") {
        self.message = message
        self.publicMessage = publicMessage
    }

    /// Only the master key may do this.
    public static let masterKeyRequired = Forbidden("unauthorized: master key is required")
}

/// The server has more to do than it can: the client is to try again later. HTTP status 503 with `Retry-After`.
public struct ServiceUnavailable: Error, Sendable, Equatable {
    /// The exact text.
    public var message: String
    /// After how many seconds a further try makes sense.
    public var retryAfter: Int
    /// What SDKs read: too many requests at a time, where nothing else is said.
    public var code: Int

    /// Makes an error with a text and the seconds to wait.
    public init(_ message: String, retryAfter: Int = 2, code: Int = ParseError.requestLimitExceeded) {
        self.message = message
        self.retryAfter = retryAfter
        self.code = code
    }
}
