import HTTP
import JSON
import NIOCore
import Operations
import ParseModel

/// The body format of an upload, `POST /files/<name>`. The body is the file itself or, if the headers don't name this
/// application, JSON with the file in base64 and the credentials.
struct UploadForm {
    let request: UnreadRequest

    private var headers: RequestHeaders { request.request.headers }

    /// Reads the request except for the bytes of a file sent as the body itself.
    ///
    /// - Throws: ``HTTPError`` if the keys or the body are invalid, or `ParseError` if another value is malformed.
    func open(name: String) async throws -> (Envelope, FileContent, FileUpload) {
        var credentials = try request.headerCredentials()
        if request.opener.keys.serves(credentials.applicationID) {
            let envelope = try request.envelope(.post, credentials)
            return (envelope, .arriving(ArrivingUpload(request: request.request)), try fromHeaders(name))
        }
        let bytes = try await request.request.body.collect(upTo: request.opener.maximumBodySize)
        let (envelope, content, upload) = try await request.queue.run(bytes: bytes.count) {
            try request.opener.checkCanName(bytes, in: request.request)
            guard case .object(var body)? = try? JSONValue(parsing: bytes, maximumDepth: JSONBody.maximumDepth) else {
                throw HTTPError.unauthorized
            }
            let contentType = try request.opener.complete(&credentials, from: &body)
            let envelope = try request.envelope(.post, credentials)
            let upload = fromJSON(name, body["fileData"]?.objectValue ?? [:], contentType: contentType)
            return (envelope, try base64(in: body), upload)
        }
        return (envelope, .whole(content), upload)
    }

    private func fromHeaders(_ name: String) throws -> FileUpload {
        var upload = upload(name)
        upload.contentType = headers[.contentType]
        upload.directory = headers[.parseFileDirectory].map { .string($0) }
        upload.metadata = try jsonHeader(.parseFileMetadata)
        upload.tags = try jsonHeader(.parseFileTags)
        return upload
    }

    private func jsonHeader(_ name: HeaderName) throws -> JSONObject {
        guard let text = headers[name] else { return [:] }
        guard case .object(let object)? = try? JSONValue(parsing: Array(text.utf8), maximumDepth: JSONBody.maximumDepth)
        else { throw ParseError(ParseError.invalidJSON, "Invalid JSON in \(name.text) header.") }
        return object
    }

    private func base64(in body: JSONObject) throws -> [UInt8] {
        guard let base64 = body["base64"], base64.isTruthy else { return [] }
        guard case .string(let text) = base64 else { throw HTTPError.unauthorized }
        return Base64.decode(text.utf8)
    }

    private func fromJSON(_ name: String, _ fileData: JSONObject, contentType: String?) -> FileUpload {
        var upload = upload(name)
        upload.contentType = contentType
        upload.metadata = fileData["metadata"]?.objectValue ?? [:]
        upload.tags = fileData["tags"]?.objectValue ?? [:]
        upload.directory = fileData["directory"].flatMap { $0 == .null ? nil : $0 }
        return upload
    }

    private func upload(_ name: String) -> FileUpload {
        var upload = FileUpload(name: name)
        upload.sizeLimit = headers[.parseFileMaximumUploadSize]
        return upload
    }
}

private struct ArrivingUpload: ArrivingFile {
    let request: IncomingRequest

    private var body: IncomingBody { request.body }

    func isEmpty(upTo limit: Int) async throws -> Bool {
        try EnvelopeOpener.refuseEncodings(request.headers)
        if let length = body.declaredLength, length > limit { throw tooLarge(limit) }
        return try await body.isEmpty()
    }

    func collect(upTo limit: Int) async throws -> [UInt8] {
        do {
            return try await body.collect(upTo: limit)
        } catch let error as HTTPError where error == .bodyTooLarge {
            throw tooLarge(limit)
        }
    }

    func next(upTo limit: Int, kept: Int) async throws -> ByteBuffer? {
        let chunk = try await body.next()
        guard body.receivedLength <= limit else { throw tooLarge(limit) }
        try await body.reserve(kept)
        return chunk
    }

    func isOwn(_ error: any Error) -> Bool { error is HTTPError }

    private func tooLarge(_ limit: Int) -> any Error {
        guard request.headers[.parseUploadMode]?.asciiLowercased == "stream" else { return HTTPError.bodyTooLarge }
        return ParseError(ParseError.fileSaveError, "File size exceeds maximum allowed: \(limit) bytes.")
    }
}
