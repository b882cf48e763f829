import Encoding
import FileStorage
import HTTP
import JSON
import Operations
import ParseModel
import Rules
import ServerConfiguration

extension RouteTable {
    static let files = [
        Route.unread(.post, "files") { try await $0.files?.upload($0) },
        Route.unread(.post, "files/:name") { try await $0.files?.upload($0) },
        Route.unread(.get, "files/:applicationId/*name") { try await $0.files?.download($0) },
        Route.unread(.delete, "files/*name") { try await $0.files?.delete($0) },
    ]
}

/// The routes below `/files`: upload, download, metadata, delete.
public final class FileRoutes: Sendable {
    private let routes: ParseRoutes
    private let files: Files
    private let audit: KeyAudit?

    /// Returns nil if the server has no file store.
    ///
    /// - Parameters:
    ///   - routes: The API routes, whose backend, caller resolution and rate limits the file routes use.
    ///   - audit: Audits changes made with server keys, or nil if audits are off.
    public init?(beside routes: ParseRoutes, audit: KeyAudit? = nil) {
        guard let files = routes.backend.files else { return nil }
        self.routes = routes
        self.files = files
        self.audit = audit
    }

    private var configuration: Configuration { routes.configuration }

    fileprivate func delete(_ request: UnreadRequest) async throws -> Reply {
        if configuration.readOnly { throw ParseError.serverOnlyReads }
        let envelope = try request.envelope(.delete, request.headerCredentials())
        return try await audited(envelope) {
            try await files.delete(envelope.path.dropFirst(), power: envelope.power) { try await caller(envelope) }
            return Reply(body: .empty)
        }
    }

    fileprivate func upload(_ request: UnreadRequest) async throws -> Reply {
        if configuration.readOnly { throw ParseError.serverOnlyReads }
        guard let name = try request.decodedComponents().first else {
            throw ParseError(ParseError.invalidFileName, "Filename not provided.")
        }
        let (envelope, content, upload) = try await UploadForm(request: request).open(name: name)
        return try await audited(envelope) {
            let (name, url) = try await files.store(content, upload, power: envelope.power) {
                try await caller(envelope)
            }
            var reply = Reply.object(["url": .string(url), "name": .string(name)], status: 201)
            reply.headers = [("Location", url)]
            return reply
        }
    }

    private func audited(_ envelope: Envelope, _ answer: () async throws -> Reply) async throws -> Reply {
        guard let audit else { return try await answer() }
        return try await audit.record(envelope, answer)
    }

    private func caller(_ envelope: Envelope) async throws -> RequestContext {
        try await routes.counted(envelope, routes.limits.limiter, routes.declaredLimits?.limiter) {
            try await routes.context(of: envelope)
        }
    }

    fileprivate func download(_ request: UnreadRequest) async throws -> Reply? {
        let components = try request.decodedComponents()
        let isMetadata = components.count > 2 && components[1] == "metadata"
        let name = components.dropFirst(isMetadata ? 2 : 1).joined(separator: "/")
        guard components[0].hasSameBytes(as: configuration.appId) else { return wrongApplication }
        let reader: Files.Reader = { try await self.reader(request, callsCode: $0) }
        do {
            if isMetadata {
                let metadata = try await files.metadata(of: name, by: reader)
                return .object(metadata.isEmpty ? [:] : ["metadata": .object(metadata)])
            }
            guard let file = try await files.open(name, for: wish(request.request), by: reader) else {
                return name.utf8.contains(UInt8(ascii: "/")) ? nil : Self.notFound
            }
            return try await FileDownload(
                storage: files.storage, name: name, file: file, headers: request.request.headers
            ).reply()
        } catch FileStorageError.notReadable {
            // The file name isn't logged, because anyone who knows it may be able to fetch the file.
            routes.logger.error(
                "can't decrypt a file: it was encrypted with another key, or is damaged",
                metadata: ["id": "\(request.request.id)"])
            return Self.notFound
        } catch let error as FileStorageError {
            return Self.unavailable(error)
        }
    }

    /// Resolves the caller of a download. If downloads are public, invalid keys are ignored.
    ///
    /// - Parameter callsCode: Whether triggers run, in which case the rate limits of cloud code apply.
    private func reader(_ request: UnreadRequest, callsCode: Bool) async throws -> RequestContext {
        var envelope: Envelope?
        do {
            let credentials = try request.headerCredentials()
            if credentials.applicationID != nil { envelope = try request.envelope(.get, credentials) }
        } catch {
            guard configuration.fileDownload.includesAll else { throw error }
        }
        let declared = callsCode ? routes.declaredLimits?.limiter : nil
        let known = try envelope ?? request.envelope(.get, nil)
        return try await routes.counted(known, nil, declared) { try await routes.context(of: known) }
    }

    private func wish(_ request: IncomingRequest) -> FileWish {
        let headers = request.headers
        // These conditions are checked against the file's properties, which are fetched first, without its contents.
        let isConditional = headers[.ifRange] != nil || headers[.ifModifiedSince] != nil && headers[.ifNoneMatch] == nil
        return FileWish(
            range: headers[.range], knownVersions: headers[.ifNoneMatch],
            isHeadOnly: request.method == "HEAD" || isConditional)
    }

    private var wrongApplication: Reply {
        let text = configuration.enableSanitizedErrorResponse ? "Permission denied" : "Invalid application ID."
        let code = JSONValue.number(Double(ParseError.operationForbidden))
        return .object(["code": code, "error": .string(text)], status: 403)
    }

    private static func unavailable(_ error: FileStorageError) -> Reply {
        let seconds = if case .unavailable(let seconds) = error { seconds } else { 5 }
        return Reply(
            status: 503, headers: [("Retry-After", "\(seconds)"), ("Cache-Control", "no-store")],
            body: .text("File store unavailable.", contentType: "text/plain; charset=utf-8"))
    }

    private static let notFound = Reply(
        status: 404, body: .text("File not found.", contentType: "text/plain; charset=utf-8"))
}

/// A request whose body hasn't been read yet, with the routes that may handle it.
struct UnreadRequest {
    let request: IncomingRequest
    let target: RequestTarget
    let opener: EnvelopeOpener
    let queue: RequestQueue
    let files: FileRoutes?
    var monitoring: MonitoringRoutes?

    /// Returns the decoded components after `files`. Keeps NUL characters, because invalid file names have their own
    /// error.
    func decodedComponents() throws(HTTPError) -> [String] {
        var result: [String] = []
        for component in target.components.dropFirst() {
            guard let decoded = PercentEncoding.decode(component) else {
                throw HTTPError(status: 400, message: "Failed to decode param '\(component)'")
            }
            result.append(decoded)
        }
        return result
    }

    func headerCredentials() throws -> Credentials {
        try opener.credentials(of: request.headers)
    }

    /// Returns an envelope without a body for the request.
    ///
    /// - Parameter credentials: The request's credentials, or nil for an anonymous client.
    /// - Throws: ``HTTPError`` if the keys or the path are invalid.
    func envelope(_ method: Method, _ credentials: Credentials?) throws -> Envelope {
        let origin = try credentials.map { try opener.origin(of: request, $0) } ?? opener.anonymousOrigin(of: request)
        var envelope = Envelope(
            from: origin, method: method, path: ["files"] + (try decodedComponents()), rawPath: String(target.path))
        envelope.authority = opener.authority
        return envelope
    }
}
