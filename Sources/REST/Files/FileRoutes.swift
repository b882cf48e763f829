import Encoding
public import FileStorage
import HTTP
import JSON
public import Logging
import ParseModel
import ParseStorage
import Rules
public import ServerConfiguration

/// The routes below `/files`: upload, download, metadata, delete.
public final class FileRoutes: Sendable {
    let storage: any FileStorage
    let resolver: any CallerResolver
    let configuration: Configuration
    let logger: Logger
    private let audit: KeyAudit?

    /// Makes the routes.
    ///
    /// - Parameters:
    ///   - storage: Where the files are.
    ///   - resolver: Finds out who a caller is.
    ///   - configuration: Who may do what.
    ///   - audit: Keeps what keys of the server change; nil for nothing.
    ///   - logger: Gets the reasons why files could not be stored.
    public init(
        storage: any FileStorage, resolver: some CallerResolver, configuration: Configuration, audit: KeyAudit? = nil,
        logger: Logger
    ) {
        self.audit = audit
        self.storage = storage
        self.resolver = resolver
        self.configuration = configuration
        self.logger = logger
    }

    /// Answers a request that changes files, and keeps it where that is asked for.
    func audited(_ envelope: Envelope, _ answer: () async throws -> Reply) async throws -> Reply {
        guard let audit else { return try await answer() }
        return try await audit.keep(envelope, answer)
    }

    /// The address of a file, as every answer that names it has it.
    func url(of name: String, mountURL: String) -> String {
        FileLinks(
            mountURL: mountURL, applicationID: configuration.appId, hostedKey: configuration.fileKey,
            location: storage.location
        ).url(name)
    }

    /// Answers a request, or gives nil when it is none of these routes.
    func respond(to request: FileRequest) async throws -> Reply? {
        let isRead = ["GET", "HEAD"].contains(request.request.method)
        if configuration.readOnly, !isRead { throw ParseError.serverOnlyReads }
        switch request.request.method {
        case "POST" where request.components.count <= 1:
            return try await FileUpload(routes: self, request: request).perform()
        case "GET", "HEAD":
            return try await download(request)
        case "DELETE" where !request.components.isEmpty:
            return try await delete(request)
        default:
            return nil
        }
    }

    private func download(_ request: FileRequest) async throws -> Reply? {
        guard request.components.count >= 2 else { return nil }
        let components = try request.decodedComponents()
        let isMetadata = components.count > 2 && components[1] == "metadata"
        let name = components.dropFirst(isMetadata ? 2 : 1).joined(separator: "/")
        guard components[0].hasSameBytes(as: configuration.appId) else { return wrongApplication }
        try await checkDownload(request)
        let triggers = FileTriggers(resolver: resolver, envelope: downloader(request))
        let url = self.url(of: name, mountURL: request.opener.mountURL(of: request.request))
        if triggers.has(.beforeFind) {
            try await resolver.count(download: try triggers.envelope ?? request.anonymousEnvelope())
        }
        try await triggers.callForDownload(.beforeFind, name, url)
        do {
            if isMetadata {
                let metadata = try await storage.details(name: name).metadata
                // What may not be downloaded says nothing of itself either.
                try await triggers.callForDownload(.afterFind, name, url)
                return .object(metadata.isEmpty ? [:] : ["metadata": .object(metadata)])
            }
            guard let file = try await storage.open(name: name, for: wish(request.request)) else {
                return name.utf8.contains(UInt8(ascii: "/")) ? nil : Self.notFound
            }
            try await triggers.callForDownload(.afterFind, name, url, size: Int(file.size))
            return try await FileDownload(storage: storage, name: name, file: file, headers: request.request.headers)
                .reply()
        } catch FileStorageError.notReadable {
            // Without its name: who has that can fetch the file, and readers of the log need not be allowed to.
            logger.error(
                "file not readable with this encryption key", metadata: ["id": "\(request.request.id)"])
            return Self.notFound
        } catch let error as FileStorageError {
            return Self.unavailable(error)
        }
    }

    /// What a client wants of a file. Where it depends on the version of the file, that is asked for first.
    private func wish(_ request: IncomingRequest) -> FileWish {
        let headers = request.headers
        let isConditional = headers[.ifRange] != nil || headers[.ifModifiedSince] != nil && headers[.ifNoneMatch] == nil
        return FileWish(
            range: headers[.range], knownVersions: headers[.ifNoneMatch],
            isHeadOnly: request.method == "HEAD" || isConditional)
    }

    private func checkDownload(_ request: FileRequest) async throws {
        guard !configuration.fileDownload.includesAll else { return }
        var caller = Caller()
        let credentials = try request.headerCredentials()
        if credentials.applicationID != nil {
            caller = try await resolver.caller(of: request.envelope(method: .get, credentials: credentials))
        }
        if let group = configuration.fileDownload.refusal(of: caller) {
            throw ParseError(ParseError.operationForbidden, "File download by \(group) is disabled.")
        }
    }

    private func delete(_ request: FileRequest) async throws -> Reply {
        let envelope = try request.envelope(method: .delete, credentials: request.headerCredentials())
        return try await audited(envelope) { try await delete(envelope) }
    }

    private func delete(_ envelope: Envelope) async throws -> Reply {
        switch envelope.power {
        case .master: break
        case .readOnlyMaster:
            throw HTTPError(
                status: 403, message: "read-only masterKey isn't allowed to delete a file.",
                publicMessage: "Permission denied")
        case .client, .maintenance: throw HTTPError.masterKeyRequired
        }
        _ = try await resolver.caller(of: envelope)
        let name: String
        do {
            name = try await nameToDelete(envelope.path.dropFirst())
        } catch FileStorageError.unavailable(let seconds) {
            throw ServiceUnavailable(
                "Could not delete file.", retryAfter: seconds, code: ParseError.fileDeleteError)
        } catch is FileStorageError {
            throw ParseError(ParseError.fileDeleteError, "Could not delete file.")
        }
        let triggers = FileTriggers(resolver: resolver, envelope: envelope)
        let file =
            triggers.has(.beforeDelete, .afterDelete)
            ? try await triggers.file(name, url: url(of: name, mountURL: envelope.mountURL)) : nil
        if let file { try await triggers.call(.beforeDelete, file) }
        do {
            try await storage.delete(name: name)
        } catch FileStorageError.unavailable(let seconds) {
            throw ServiceUnavailable(
                "Could not delete file.", retryAfter: seconds, code: ParseError.fileDeleteError)
        } catch {
            throw ParseError(ParseError.fileDeleteError, "Could not delete file.")
        }
        if let file { try await triggers.call(.afterDelete, file) }
        return Reply(body: .empty)
    }

    /// The file that a path means: the one of this name, or, where there is none, the one behind the application's id.
    private func nameToDelete(_ components: ArraySlice<String>) async throws -> String {
        let name = components.joined(separator: "/")
        guard components.count > 1, components.first.hasSameBytes(as: configuration.appId),
            try await !storage.exists(name: name)
        else { return name }
        return components.dropFirst().joined(separator: "/")
    }

    /// Who downloads, for cloud code; it may be anonymous.
    private func downloader(_ request: FileRequest) -> Envelope? {
        guard let credentials = try? request.headerCredentials(), credentials.applicationID != nil else { return nil }
        return try? request.envelope(method: .get, credentials: credentials)
    }

    private var wrongApplication: Reply {
        let text = configuration.enableSanitizedErrorResponse ? "Permission denied" : "Invalid application ID."
        let code = JSONValue.number(Double(ParseError.operationForbidden))
        return .object(["code": code, "error": .string(text)], status: 403)
    }

    /// What a client gets while the store does not give files: caches keep it no moment.
    private static func unavailable(_ error: FileStorageError) -> Reply {
        let seconds = if case .unavailable(let seconds) = error { seconds } else { 5 }
        return Reply(
            status: 503, headers: [("Retry-After", "\(seconds)"), ("Cache-Control", "no-store")],
            body: .text("File store unavailable.", contentType: "text/plain; charset=utf-8"))
    }

    private static let notFound = Reply(
        status: 404, body: .text("File not found.", contentType: "text/plain; charset=utf-8"))
}

extension Configuration.FileCallers {
    /// The group that a caller belongs to, in words, if that group is refused; nil when the caller may.
    func refusal(of caller: Caller) -> String? {
        guard caller.power == .client else { return nil }
        guard let user = caller.user else { return enableForPublic ? nil : "public" }
        if user.isAnonymous { return enableForAnonymousUser ? nil : "anonymous user" }
        return enableForAuthenticatedUser ? nil : "authenticated user"
    }
}

/// A request below `/files`, whose body has not been read yet.
struct FileRequest {
    let request: IncomingRequest
    let target: RequestTarget
    let opener: EnvelopeOpener
    let queue: RequestQueue

    /// The components after `files`, still percent-encoded.
    var components: ArraySlice<Substring> { target.components.dropFirst() }

    /// The components after `files`, decoded. A NUL is left in: it makes a name invalid, which has an error of its own.
    func decodedComponents() throws(HTTPError) -> [String] {
        var result: [String] = []
        for component in components {
            guard let decoded = PercentEncoding.decode(component) else {
                throw HTTPError(status: 400, message: "Failed to decode param '\(component)'")
            }
            result.append(decoded)
        }
        return result
    }

    /// The credentials that the headers hold.
    func headerCredentials() throws -> Credentials {
        try opener.credentials(of: request.headers)
    }

    /// An envelope of a request whose credentials have been found.
    ///
    /// - Throws: ``HTTPError`` when the keys are not good enough.
    func envelope(method: Method, credentials: Credentials, body: JSONObject = [:]) throws -> Envelope {
        var envelope = try envelope(method, from: opener.origin(of: request, credentials), body)
        envelope.console = opener.authority?.console
        return envelope
    }

    /// An envelope of a download without credentials, which need not be any.
    func anonymousEnvelope() throws -> Envelope { try envelope(.get, from: opener.anonymousOrigin(of: request), [:]) }

    private func envelope(_ method: Method, from origin: RequestOrigin, _ body: JSONObject) throws -> Envelope {
        Envelope(
            from: origin, method: method, path: ["files"] + (try decodedComponents()), rawPath: String(target.path),
            body: body)
    }
}
