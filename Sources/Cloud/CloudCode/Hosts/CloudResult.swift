public import JSON
public import ParseModel

/// What cloud code answered.
public struct CloudResult: Sendable {
    /// What a function gives, in the encoding of the wire; nil for nothing (`undefined`).
    public var value: JSONValue?
    /// Before a save: what becomes of the write; nil for as it was sent.
    public var write: Write?
    /// Before a find: what is asked for, or what is answered, instead; after one: what is answered. Nil for as it was.
    public var found: Found?
    /// After a save: what the client is answered instead; nil for the usual.
    public var answer: JSONValue?
    /// After a save: fields that the code set on the object. They are not stored, but are in the answer.
    public var responseFields: JSONObject = [:]
    /// Before a file is stored: what is stored instead; nil for as it came.
    public var file: CloudFile?
    /// Of an event of live queries: what the client gets instead; nil for as it was.
    public var event: Event?
    /// The status of a function's answer; nil for 200.
    public var status: Int?
    /// Header fields of a function's answer.
    public var headers: [(name: String, value: String)] = []
    /// The context as the code left it; nil for unchanged. Its members are handed on to the triggers that follow.
    public var context: JSONObject?

    /// The content to write.
    public enum Write: Sendable {
        /// All that is to be written of the object, as its fields; what the client sent of other fields is not saved.
        case fields(JSONObject)
        /// What is done besides what the client sent: for each field a value or an operator, as an update has it.
        /// Fields that are named in `reverted` are not written at all.
        case operations(JSONObject, reverted: [Name] = [])
    }

    /// What becomes of an event of live queries.
    public struct Event: Sendable {
        /// Whether the client is notified.
        public var isSent: Bool
        /// The object that it gets; nil for as it was.
        public var object: JSONObject?
        /// The object before the change; nil for as it was.
        public var original: JSONObject?

        /// What a client gets, or not.
        public init(isSent: Bool, object: JSONObject? = nil, original: JSONObject? = nil) {
            self.isSent = isSent
            self.object = object
            self.original = original
        }
    }

    /// What becomes of a find.
    public enum Found: Sendable {
        /// Another query, whole: where, options.
        case query(JSONObject)
        /// These objects. They may have a `className`.
        case objects([JSONObject])
    }

    /// Empty.
    public init() {}

    /// What a function gives.
    public init(value: JSONValue?) { self.value = value }
}

/// Why cloud code refused, or could not be called. `ParseError` is thrown for an error of a known number.
public struct CloudFailure: Error, Sendable {
    /// The text; nil or empty for the text that the kind of call has for that.
    public var message: String?

    /// A failure with a text. The kind of call decides about its number: 141, for files 130 or 153.
    public init(_ message: String?) { self.message = message }

    /// The error that the client gets when the code fails.
    ///
    /// - Parameter call: The call.
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
