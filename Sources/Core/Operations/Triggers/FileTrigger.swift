import JSON
import Rules

public enum FileEvent: String, Sendable, CaseIterable {
    /// Before a file is stored. Can replace or reject the file.
    case beforeSave
    /// After a file was stored. An error fails the request, but the file remains stored.
    case afterSave
    /// Before a file is deleted. Can reject the deletion.
    case beforeDelete
    /// After a file was deleted. An error fails the request.
    case afterDelete
    /// Before a file is read. Can reject the request.
    case beforeFind
    /// After a file was opened and before it is sent. Can reject the request.
    case afterFind
}

/// The file of a file trigger.
public struct TriggerFile: Sendable {
    /// The file name: the client's before the upload, the stored name afterward.
    public var name: String
    /// The download URL, or nil before the file is stored.
    public var url: String?
    /// The MIME type, or nil if unknown.
    public var contentType: String?
    /// The size in bytes, or nil if unknown.
    public var size: Int?
    /// The content before and after an upload, or nil in other triggers. Never sent to webhooks.
    public var bytes: [UInt8]?
    /// Metadata sent by the client with an upload. Empty in triggers for reads and deletions.
    public var metadata: JSONObject = [:]
    public var tags: JSONObject = [:]

    public init(name: String, url: String? = nil) {
        self.name = name
        self.url = url
    }
}

/// A file trigger. Its result for `beforeSave` replaces the file, unless it is nil. If the result has a URL, the trigger
/// has stored the file elsewhere, so the server doesn't. Errors reject the request.
///
/// The request includes the user's record.
public typealias FileTrigger = @Sendable (TriggerFile, RequestContext) async throws -> TriggerFile?

extension Triggers {
    /// Whether any of these events has a trigger.
    func has(_ events: FileEvent...) -> Bool { events.contains { fileTrigger($0) != nil } }

    /// Calls the event's trigger, if any.
    ///
    /// - Returns: The replacement file, or nil to keep the file.
    /// - Throws: Errors of the trigger.
    @discardableResult
    func call(_ event: FileEvent, _ file: TriggerFile, _ request: RequestContext) async throws -> TriggerFile? {
        try await fileTrigger(event)?(file, request)
    }

    private func fileTrigger(_ event: FileEvent) -> FileTrigger? {
        services.activeTriggers?.fileTrigger(for: event)
    }
}
