import FileStorage
package import JSON
import NIOCore
import ParseModel
package import Rules
import ServerConfiguration

/// A file's name and properties as sent by the client.
package struct FileUpload: Sendable {
    package var name: String
    package var contentType: String?
    package var directory: JSONValue?
    package var metadata: JSONObject = [:]
    package var tags: JSONObject = [:]
    /// A size limit such as `10mb` that overrides the server's, or nil if not sent. Requires the master key.
    package var sizeLimit: String?

    package init(name: String) { self.name = name }
}

package enum FileContent {
    case whole([UInt8])
    /// A file that is still being received.
    case arriving(any ArrivingFile)

    fileprivate func isEmpty(upTo limit: Int) async throws -> Bool {
        switch self {
        case .whole(let bytes): bytes.isEmpty
        case .arriving(let file): try await file.isEmpty(upTo: limit)
        }
    }

    fileprivate func bytes(upTo limit: Int) async throws -> [UInt8] {
        switch self {
        case .whole(let bytes): bytes
        case .arriving(let file): try await file.collect(upTo: limit)
        }
    }
}

/// A file that is still being received. Its bytes can be read only once.
package protocol ArrivingFile {
    /// Whether the file is empty.
    ///
    /// - Throws: An error if the declared size exceeds `limit` or the file can't be read.
    func isEmpty(upTo limit: Int) async throws -> Bool

    /// Reads the whole file into memory.
    ///
    /// - Throws: An error if the file exceeds `limit`.
    func collect(upTo limit: Int) async throws -> [UInt8]

    /// Returns the next bytes, or nil at the end.
    ///
    /// - Parameter kept: The maximum number of bytes held in memory until they are stored.
    /// - Throws: An error if the file exceeds `limit`.
    func next(upTo limit: Int, kept: Int) async throws -> ByteBuffer?

    /// Whether the error comes from receiving the file rather than from storing it.
    func isOwn(_ error: any Error) -> Bool
}

extension Files {
    /// Checks and stores a file.
    ///
    /// - Parameters:
    ///   - power: The power of the caller's keys.
    ///   - caller: Resolves the caller. Not called if the keys are rejected.
    /// - Returns: The stored name and the URL.
    /// - Throws: `ParseError` or `Forbidden` if a check rejects the file, and errors of storage, triggers and content.
    package func store(
        _ content: FileContent, _ upload: FileUpload, power: Caller.Power, by caller: () async throws -> RequestContext
    ) async throws -> (name: String, url: String) {
        guard power != .readOnlyMaster else {
            throw Forbidden("read-only masterKey isn't allowed to create a file.")
        }
        let context = try await caller()
        if let group = configuration.fileUpload.callers.refusal(of: context.caller) {
            throw ParseError(ParseError.fileSaveError, "File upload by \(group) is disabled.")
        }
        let isMaster = power == .master
        let limit = try sizeLimit(upload.sizeLimit, isMaster: isMaster)
        do {
            try storage.checkAvailable()
        } catch {
            throw refusal(error, upload.name, context)
        }
        guard try await !content.isEmpty(upTo: limit) else {
            throw ParseError(ParseError.fileSaveError, "Invalid file upload.")
        }
        let naming = try FileNaming(
            name: upload.name, contentType: upload.contentType,
            allowedExtensions: isMaster ? nil : configuration.fileUpload.fileExtensions)
        let directory = try upload.directory.map { try FileNaming.directory($0, isMaster: isMaster) + "/" } ?? ""
        try check(upload.metadata, upload.tags)
        // The random digits keep others from guessing the URL.
        let prefix = directory + (configuration.preserveFileName ? "" : Identifiers.hexadecimal(32) + "_")
        if backend.triggers.has(.beforeSave, .afterSave) {
            return try await storeTriggered(content, upload, naming, prefix, limit: limit, context)
        }
        let name = prefix + naming.name
        let details = FileDetails(metadata: upload.metadata, tags: upload.tags, contentType: naming.typeToKeep)
        try await write(content, name: name, details: details, limit: limit, context)
        return (name, address(of: name, context))
    }

    /// Stores a file that passes through triggers, or the trigger's replacement. The file is read into memory, because
    /// triggers get all of it.
    private func storeTriggered(
        _ content: FileContent, _ upload: FileUpload, _ naming: FileNaming, _ prefix: String, limit: Int,
        _ context: RequestContext
    ) async throws -> (name: String, url: String) {
        let request = try await backend.triggers.withUser(context)
        var file = TriggerFile(name: naming.name)
        file.bytes = try await content.bytes(upTo: limit)
        file.size = file.bytes?.count
        file.contentType = naming.typeToKeep ?? upload.contentType
        file.metadata = upload.metadata
        file.tags = upload.tags
        let changed = try await backend.triggers.call(.beforeSave, file, request)
        var stored = changed ?? file
        if let changed, let url = changed.url {
            // The trigger stored the file elsewhere.
            stored.size = nil
            try await backend.triggers.call(.afterSave, stored, request)
            return (changed.name, url)
        }
        let checked = try FileNaming(
            name: stored.name, contentType: stored.contentType ?? upload.contentType, allowedExtensions: nil)
        stored.name = prefix + checked.name
        try check(stored.metadata, stored.tags)
        let details = FileDetails(metadata: stored.metadata, tags: stored.tags, contentType: checked.typeToKeep)
        try await write(.whole(stored.bytes ?? []), name: stored.name, details: details, limit: limit, context)
        let url = address(of: stored.name, context)
        stored.url = url
        stored.size = stored.bytes?.count
        try await backend.triggers.call(.afterSave, stored, request)
        return (stored.name, url)
    }

    private func sizeLimit(_ wanted: String?, isMaster: Bool) throws -> Int {
        guard let wanted else { return configuration.maxUploadSize }
        guard isMaster else { throw Forbidden.masterKeyRequired }
        guard let limit = ByteCount.parse(wanted) else {
            throw ParseError(ParseError.fileSaveError, "Invalid maxUploadSize override value: \(wanted)")
        }
        return limit
    }

    private func check(_ details: JSONObject...) throws {
        for details in details where !details.isEmpty { try configuration.requestKeywordDenylist.check(details) }
    }

    private func write(
        _ content: FileContent, name: String, details: FileDetails, limit: Int, _ context: RequestContext
    ) async throws {
        do {
            switch content {
            case .arriving(let file):
                let pieces = ArrivingPieces(file: file, limit: limit, kept: min(limit, storage.memoryOfWrites))
                try await storage.write(name: name, details: details, contents: pieces)
            case .whole(let bytes):
                try await storage.write(name: name, details: details, bytes: bytes)
            }
        } catch let error where error is ParseError || error is CancellationError {
            throw error
        } catch {
            if case .arriving(let file) = content, file.isOwn(error) { throw error }
            throw refusal(error, name, context)
        }
    }

    private func refusal(_ error: any Error, _ name: String, _ context: RequestContext) -> any Error {
        switch error {
        case FileStorageError.detailsNotKept(let words): return ParseError(ParseError.fileSaveError, words)
        case FileStorageError.unavailable: break
        default:
            logger.error(
                "file not stored",
                metadata: ["id": "\(context.facts?.logID ?? "")", "error": "\(String(reflecting: error))"])
        }
        return refusal(error, ParseError.fileSaveError, "Could not store file: \(name).")
    }
}

private struct ArrivingPieces: AsyncSequence, AsyncIteratorProtocol {
    let file: any ArrivingFile
    let limit: Int
    let kept: Int

    mutating func next() async throws -> ByteBuffer? { try await file.next(upTo: limit, kept: kept) }

    func makeAsyncIterator() -> Self { self }
}
