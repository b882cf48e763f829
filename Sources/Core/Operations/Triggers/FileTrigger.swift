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

/// The input of a file trigger.
public struct FileCall: Sendable {
    /// The name as sent by the client, or as stored.
    public var name: String
    /// The URL, or nil before the file is stored.
    public var url: String?
    /// The MIME type, or nil if unknown.
    public var contentType: String?
    /// The size in bytes, or nil if unknown.
    public var size: Int?
    /// The content, or nil for events other than `beforeSave` and `afterSave`.
    public var bytes: [UInt8]?
    /// The file's metadata, or empty for events other than `beforeSave` and `afterSave`.
    public var metadata: JSONObject = [:]
    public var tags: JSONObject = [:]
    /// The request, including the user's record.
    public var request: RequestContext
}

/// A file trigger. Its result for `beforeSave` replaces the file, unless it is nil. If the result has a URL, the trigger
/// has stored the file elsewhere, so the server doesn't. Errors reject the request.
public typealias FileTrigger = @Sendable (FileCall) async throws -> FileCall?

extension Triggers {
    /// Whether any of these events has a trigger.
    func has(_ events: FileEvent...) -> Bool { events.contains { fileTrigger($0) != nil } }

    /// Calls the event's trigger, if any.
    ///
    /// - Returns: The replacement file, or nil to keep the file.
    /// - Throws: Errors of the trigger.
    @discardableResult
    func call(_ event: FileEvent, _ file: FileCall) async throws -> FileCall? { try await fileTrigger(event)?(file) }

    /// Returns a trigger's input for a file.
    func file(_ name: String, url: String? = nil, _ context: RequestContext) async throws -> FileCall {
        FileCall(name: name, url: url, request: try await withUser(context))
    }

    private func fileTrigger(_ event: FileEvent) -> FileTrigger? {
        services.activeTriggers?.fileTrigger(for: event)
    }
}
