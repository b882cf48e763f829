import FileStorage
import HTTP
import JSON
import Operations
import ParseModel
import Rules

/// The calls of cloud code in the life of one file; where there is none, nothing is looked up.
struct FileTriggers {
    let resolver: any CallerResolver
    /// The request, with its credentials; nil for one that brought none that are good.
    let envelope: Envelope?

    /// Whether anything is called for one of these events.
    func has(_ events: FileEvent...) -> Bool { events.contains { resolver.fileTrigger($0) != nil } }

    /// A file as cloud code gets it.
    ///
    /// - Throws: 209 for a session that is not.
    func file(_ name: String, url: String? = nil) async throws -> FileCall {
        guard let envelope else {
            return FileCall(name: name, url: url, RequestContext(caller: Caller(), mountURL: "", now: resolver.now))
        }
        let context = try await resolver.context(ofFile: envelope)
        return FileCall(name: name, url: url, user: try await resolver.userRecord(context), context)
    }

    /// Calls what is to be called.
    ///
    /// - Returns: What is stored instead; nil for the file as it is.
    /// - Throws: What refuses.
    @discardableResult
    func call(_ event: FileEvent, _ file: FileCall) async throws -> FileCall? {
        try await resolver.fileTrigger(event)?(file)
    }

    /// Calls what is to be called around a download. What refuses it is a 403.
    func callForDownload(_ event: FileEvent, _ name: String, _ url: String, size: Int? = nil) async throws {
        guard has(event) else { return }
        var file = try await file(name, url: url)
        file.size = size
        do {
            try await call(event, file)
        } catch let error as ParseError {
            throw HTTPError(status: 403, message: error.message)
        }
    }
}

/// An upload that cloud code looks at: the file is read into memory, since it gets it whole.
extension FileUpload {
    /// Stores the file, or what is put in its place.
    func performTriggered(
        _ content: Content, _ naming: FileNaming, _ prefix: String, _ triggers: FileTriggers, limit: Int
    ) async throws -> Reply {
        var file = try await triggers.file(naming.name)
        file.bytes = try await bytes(of: content, limit: limit)
        file.size = file.bytes?.count
        file.contentType = naming.typeToKeep ?? content.contentType
        file.metadata = content.metadata
        file.tags = content.tags
        let changed = try await triggers.call(.beforeSave, file)
        if let changed, let url = changed.url {
            // It is stored elsewhere already.
            var stored = changed
            stored.size = nil
            try await triggers.call(.afterSave, stored)
            return Self.reply(changed.name, url)
        }
        var stored = changed ?? file
        let checked = try FileNaming(
            name: stored.name, contentType: stored.contentType ?? content.contentType, allowedExtensions: nil)
        stored.name = prefix + checked.name
        for details in [stored.metadata, stored.tags] where !details.isEmpty {
            try routes.resolver.check(fileDetails: details)
        }
        var kept = content
        kept.bytes = .decoded(stored.bytes ?? [])
        try await store(
            kept, name: stored.name,
            details: FileDetails(metadata: stored.metadata, tags: stored.tags, contentType: checked.typeToKeep),
            limit: limit)
        let url = routes.url(of: stored.name, mountURL: triggers.envelope?.mountURL ?? "")
        stored.url = url
        stored.size = stored.bytes?.count
        try await triggers.call(.afterSave, stored)
        return Self.reply(stored.name, url)
    }

    /// The answer to an upload.
    static func reply(_ name: String, _ url: String) -> Reply {
        var reply = Reply.object(["url": .string(url), "name": .string(name)], status: 201)
        reply.headers = [("Location", url)]
        return reply
    }
}
