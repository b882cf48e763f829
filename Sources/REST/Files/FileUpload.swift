import Encoding
import FileStorage
import HTTP
import JSON
import NIOCore
import Operations
import ParseModel
import Rules
import ServerConfiguration

/// One upload: `POST /files/<name>`.
///
/// The body is the file itself, or, when the headers do not name this application, JSON with the file in base64 and the
/// credentials beside it.
struct FileUpload {
    let routes: FileRoutes
    let request: FileRequest

    /// What is known of the file when its form has been read.
    struct Content: Sendable {
        var contentType: String?
        var directory: JSONValue?
        var metadata: JSONObject = [:]
        var tags: JSONObject = [:]
        var bytes: Bytes

        enum Bytes: Sendable {
            case raw
            case decoded([UInt8])
        }
    }

    /// Checks and stores the file.
    ///
    /// - Returns: 201 with the name and the address.
    /// - Throws: ``HTTPError`` or `ParseError` when a check refuses.
    func perform() async throws -> Reply {
        guard let givenName = try request.decodedComponents().first else {
            throw ParseError(ParseError.invalidFileName, "Filename not provided.")
        }
        let (envelope, content) = try await open()
        return try await routes.audited(envelope) { try await perform(content, givenName, envelope) }
    }

    private func perform(_ content: Content, _ givenName: String, _ envelope: Envelope) async throws -> Reply {
        try await checkCaller(envelope)
        let limit = try sizeLimit(envelope)
        do {
            try routes.storage.checkAvailable()
        } catch {
            throw refusal(error, givenName)
        }
        guard try await !isEmpty(content, limit: limit) else {
            throw ParseError(ParseError.fileSaveError, "Invalid file upload.")
        }
        let isMaster = envelope.power == .master
        let naming = try FileNaming(
            name: givenName, contentType: content.contentType,
            allowedExtensions: isMaster ? nil : configuration.fileUpload.fileExtensions)
        let directory = try content.directory.map { try FileNaming.directory($0, isMaster: isMaster) }
        for details in [content.metadata, content.tags] where !details.isEmpty {
            try routes.resolver.check(fileDetails: details)
        }
        // The random digits keep others from guessing it.
        let prefix =
            (directory.map { $0 + "/" } ?? "")
            + (configuration.preserveFileName ? "" : Identifiers.hexadecimal(32) + "_")
        let triggers = FileTriggers(resolver: routes.resolver, envelope: envelope)
        if triggers.has(.beforeSave, .afterSave) {
            return try await performTriggered(content, naming, prefix, triggers, limit: limit)
        }
        let name = prefix + naming.name
        let details = FileDetails(metadata: content.metadata, tags: content.tags, contentType: naming.typeToKeep)
        try await store(content, name: name, details: details, limit: limit)
        let url = routes.url(of: name, mountURL: envelope.mountURL)
        return Self.reply(name, url)
    }

    private var configuration: Configuration { routes.configuration }
    private var headers: RequestHeaders { request.request.headers }

    // MARK: Form

    private func open() async throws -> (Envelope, Content) {
        var credentials = try request.headerCredentials()
        if request.opener.keys.serves(credentials.applicationID) {
            let envelope = try request.envelope(method: .post, credentials: credentials)
            return (envelope, try rawContent())
        }
        let bytes = try await request.request.body.collect(upTo: configuration.maxUploadSize)
        return try await request.queue.take(bytes: bytes.count) {
            try request.opener.checkCanName(bytes, in: request.request)
            guard case .object(var body)? = try? JSONValue(parsing: bytes, maximumDepth: JSONBody.maximumDepth) else {
                throw HTTPError.unauthorized
            }
            let findings = try request.opener.complete(&credentials, from: &body)
            let envelope = try request.envelope(method: .post, credentials: credentials)
            return (envelope, try jsonContent(body, contentType: findings.contentType))
        }
    }

    private func rawContent() throws -> Content {
        var content = Content(bytes: .raw)
        content.contentType = headers[.contentType]
        content.directory = headers[.parseFileDirectory].map { .string($0) }
        content.metadata = try jsonHeader(.parseFileMetadata)
        content.tags = try jsonHeader(.parseFileTags)
        return content
    }

    private func jsonHeader(_ name: HeaderName) throws -> JSONObject {
        guard let text = headers[name] else { return [:] }
        guard case .object(let object)? = try? JSONValue(parsing: Array(text.utf8), maximumDepth: JSONBody.maximumDepth)
        else { throw ParseError(ParseError.invalidJSON, "Invalid JSON in \(name.text) header.") }
        return object
    }

    private func jsonContent(_ body: JSONObject, contentType: String?) throws -> Content {
        var content = Content(bytes: .decoded([]))
        content.contentType = contentType
        if let base64 = body["base64"], !base64.isFalsy {
            guard case .string(let text) = base64 else { throw HTTPError.unauthorized }
            content.bytes = .decoded(Base64.decode(text.utf8))
        }
        if case .object(let fileData)? = body["fileData"] {
            if case .object(let metadata)? = fileData["metadata"] { content.metadata = metadata }
            if case .object(let tags)? = fileData["tags"] { content.tags = tags }
            content.directory = fileData["directory"].flatMap { $0 == .null ? nil : $0 }
        }
        return content
    }

    // MARK: Checks

    private func checkCaller(_ envelope: Envelope) async throws {
        guard envelope.power != .readOnlyMaster else {
            throw HTTPError(
                status: 403, message: "read-only masterKey isn't allowed to create a file.",
                publicMessage: "Permission denied")
        }
        let caller = try await routes.resolver.caller(of: envelope)
        if let group = configuration.fileUpload.callers.refusal(of: caller) {
            throw ParseError(ParseError.fileSaveError, "File upload by \(group) is disabled.")
        }
    }

    private func sizeLimit(_ envelope: Envelope) throws -> Int {
        guard let override = headers[.parseFileMaximumUploadSize] else { return configuration.maxUploadSize }
        guard envelope.power == .master else { throw HTTPError.masterKeyRequired }
        guard let limit = ByteCount.parse(override) else {
            throw ParseError(ParseError.fileSaveError, "Invalid maxUploadSize override value: \(override)")
        }
        return limit
    }

    private func isEmpty(_ content: Content, limit: Int) async throws -> Bool {
        switch content.bytes {
        case .decoded(let bytes):
            return bytes.isEmpty
        case .raw:
            try EnvelopeOpener.refuseEncodings(headers)
            if let length = request.request.body.declaredLength, length > limit { throw tooLarge(limit) }
            return try await request.request.body.isEmpty()
        }
    }

    private func tooLarge(_ limit: Int) -> any Error {
        guard headers[.parseUploadMode]?.asciiLowercased == "stream" else { return HTTPError.bodyTooLarge }
        return ParseError(ParseError.fileSaveError, "File size exceeds maximum allowed: \(limit) bytes.")
    }

    // MARK: Storing

    /// The bytes of the file, all of them in memory, where they are counted.
    func bytes(of content: Content, limit: Int) async throws -> [UInt8] {
        switch content.bytes {
        case .decoded(let bytes): return bytes
        case .raw:
            do {
                return try await request.request.body.collect(upTo: limit)
            } catch let error as HTTPError where error.status == HTTPError.bodyTooLarge.status {
                throw tooLarge(limit)
            }
        }
    }

    func store(_ content: Content, name: String, details: FileDetails, limit: Int) async throws {
        do {
            switch content.bytes {
            case .raw where routes.storage.holdsWholeFiles:
                let bytes = try await bytes(of: content, limit: limit)
                try await LongWork.large.carryOut {
                    try await routes.storage.write(name: name, details: details, bytes: bytes)
                }
            case .raw:
                let body = LimitedBody(
                    body: request.request.body, limit: limit, kept: routes.storage.memoryOfWrites,
                    excess: tooLarge(limit))
                try await routes.storage.write(name: name, details: details, contents: body)
            case .decoded(let bytes):
                try await routes.storage.write(name: name, details: details, bytes: bytes)
            }
        } catch let error as HTTPError {
            throw error
        } catch let error as ParseError {
            throw error
        } catch {
            throw refusal(error, name)
        }
    }

    /// What a client gets of an error of the storage. What may pass is a 503, after which SDKs try again.
    private func refusal(_ error: any Error, _ name: String) -> any Error {
        switch error {
        case FileStorageError.unavailable(let seconds):
            return ServiceUnavailable(
                "Could not store file: \(name).", retryAfter: seconds, code: ParseError.fileSaveError)
        case FileStorageError.detailsNotKept(let words):
            return ParseError(ParseError.fileSaveError, words)
        default:
            routes.logger.error(
                "file not stored", metadata: ["id": "\(request.request.id)", "error": "\(String(reflecting: error))"])
            return ParseError(ParseError.fileSaveError, "Could not store file: \(name).")
        }
    }
}

/// A body that throws when more than a number of bytes arrive.
private struct LimitedBody: AsyncSequence {
    typealias Element = ByteBuffer

    let body: IncomingBody
    let limit: Int
    /// How many of its bytes the store keeps at a time.
    let kept: Int
    let excess: any Error

    struct AsyncIterator: AsyncIteratorProtocol {
        let limited: LimitedBody

        mutating func next() async throws -> ByteBuffer? {
            let chunk = try await limited.body.next()
            guard limited.body.receivedLength <= limited.limit else { throw limited.excess }
            try await limited.body.reserve(limited.kept)
            return chunk
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(limited: self)
    }
}
