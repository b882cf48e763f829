import JSON
import Rules

/// When something is called in the life of a file.
public enum FileEvent: String, Sendable, CaseIterable {
    /// Before it is stored; may put another in its place, or refuse.
    case beforeSave
    /// After it was stored; an error goes to the client, and the file stays.
    case afterSave
    /// Before it is removed; may refuse.
    case beforeDelete
    /// After it was removed; an error goes to the client.
    case afterDelete
    /// Before it is read; may refuse.
    case beforeFind
    /// After it was opened, before it is sent; may refuse.
    case afterFind
}

/// A file, as its triggers see it.
public struct FileCall: Sendable {
    /// The name, as the client gave it or as it is stored.
    public var name: String
    /// Where it can be read; nil before it is stored.
    public var url: String?
    /// Its type; nil where none was given.
    public var contentType: String?
    /// How many bytes it has; nil where that is not known.
    public var size: Int?
    /// Its bytes, before and after it is stored; nil otherwise.
    public var bytes: [UInt8]?
    /// What the client sent beside it.
    public var metadata: JSONObject = [:]
    public var tags: JSONObject = [:]
    /// The request, with the record of its user.
    public var request: RequestContext

    public init(name: String, url: String? = nil, _ request: RequestContext) {
        self.name = name
        self.url = url
        self.request = request
    }
}

/// What is called in the life of a file. Before it is stored it gives what is stored instead; nil for the file as it
/// came. One with a URL is stored elsewhere, and only answered. What it throws refuses the file.
public typealias FileTrigger = @Sendable (FileCall) async throws -> FileCall?

extension Triggers {
    /// Whether anything is called for one of these events of a file.
    func has(_ events: FileEvent...) -> Bool { events.contains { fileTrigger($0) != nil } }

    /// Calls what is to be called in the life of a file.
    ///
    /// - Returns: What is stored instead; nil for the file as it is.
    /// - Throws: What refuses.
    @discardableResult
    func call(_ event: FileEvent, _ file: FileCall) async throws -> FileCall? { try await fileTrigger(event)?(file) }

    /// A file as cloud code gets it.
    func file(_ name: String, url: String? = nil, _ context: RequestContext) async throws -> FileCall {
        FileCall(name: name, url: url, try await withUser(context))
    }

    private func fileTrigger(_ event: FileEvent) -> FileTrigger? {
        guard let triggerSet = services.triggerSet, triggerSet.isActive else { return nil }
        return triggerSet.fileTrigger(for: event)
    }
}
