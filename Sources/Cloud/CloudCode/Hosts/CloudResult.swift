public import JSON
public import Operations
public import ParseModel

/// The result of a cloud-code call.
public struct CloudResult: Sendable {
    /// The result of a function or job in Parse's JSON format, or nil if it returned nothing (`undefined`).
    public var value: JSONValue?
    /// The changed write of a beforeSave trigger, or nil if unchanged.
    public var write: Write?
    /// The changed query or results of a find trigger, or nil if unchanged.
    public var found: Found?
    /// The response that an afterSave trigger sends to the client, or nil for the default.
    public var answer: JSONValue?
    /// Fields that an afterSave trigger set on the object. They appear in the response but aren't stored.
    public var responseFields: JSONObject = [:]
    /// The file to store instead, from a beforeSave trigger for files, or nil to store the original.
    public var file: TriggerFile?
    /// The changed event of a live-query trigger, or nil if unchanged.
    public var event: Event?
    /// The HTTP status of a function's response, or nil for 200.
    public var status: Int?
    /// Header fields of a function's response.
    public var headers: [(name: String, value: String)] = []
    /// The context after the call, or nil if unchanged. Its members are passed to the triggers that follow.
    public var context: JSONObject?

    /// The changed write of a beforeSave trigger.
    public enum Write: Sendable {
        /// All fields to write. Other fields sent by the client aren't saved.
        case fields(JSONObject)
        /// Changes in addition to the client's: a value or an operator per field, as in an update. Fields in `reverted`
        /// are not written.
        case operations(JSONObject, reverted: [Name] = [])
    }

    /// The changed event of an afterEvent trigger.
    public struct Event: Sendable {
        /// Whether the client is notified.
        public var isSent: Bool
        /// The object to send, or nil if unchanged.
        public var object: JSONObject?
        /// The previous state of the object to send, or nil if unchanged.
        public var original: JSONObject?

        public init(isSent: Bool, object: JSONObject? = nil, original: JSONObject? = nil) {
            self.isSent = isSent
            self.object = object
            self.original = original
        }
    }

    /// The changed query or results of a find trigger.
    public enum Found: Sendable {
        /// For a find, the parameters to replace, with null to remove one. For a subscription, the complete query.
        case query(JSONObject)
        /// The objects to return. They may contain `className`.
        case objects([JSONObject])
    }

    public init() {}

    /// Creates the result of a function or job.
    public init(value: JSONValue?) { self.value = value }
}

/// A failure of cloud code without an error code: the code rejected the call or couldn't be called. Failures with an
/// error code are `ParseError`s.
public struct CloudFailure: Error, Sendable, CustomStringConvertible {
    /// The error text. If it is nil or empty, the default text of the target is used.
    public var message: String?
    /// Whether the code couldn't be reached, so it didn't run.
    public var isUnreachable: Bool

    public var description: String { message ?? "Cloud code failed." }

    /// Creates a failure with a text. The target determines the code: 130 or 153 for files, otherwise 141.
    public init(_ message: String?, isUnreachable: Bool = false) {
        self.message = message
        self.isUnreachable = isUnreachable
    }

    /// Returns the failure as an error with a code, and with a default text if it has none.
    public func parseError(for call: CloudCall) -> ParseError {
        let message = message ?? ""
        switch call.target {
        case .trigger(let event, "@File"):
            let isDeletion = event == .beforeDelete || event == .afterDelete
            let text = isDeletion ? "Could not delete file." : "Could not store file: \(call.file?.name ?? "")."
            return ParseError(
                isDeletion ? ParseError.fileDeleteError : ParseError.fileSaveError, message.isEmpty ? text : message)
        case .trigger:
            return ParseError(ParseError.scriptFailed, message.isEmpty ? "Script failed. Unknown error." : message)
        case .function, .job:
            return ParseError(ParseError.scriptFailed, message.isEmpty ? "Script failed." : message)
        }
    }
}
