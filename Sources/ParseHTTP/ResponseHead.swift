import HTTPTypes

/// The status, header fields and content that go on the wire for a reply.
struct ResponseHead {
    /// What follows the header fields.
    enum Content {
        case none
        case bytes([UInt8])
        case stream(Reply.ByteStream)
    }

    var status: Int
    var fields: HTTPFields
    var content: Content

    /// Adds what every answer has: the fields for other origins, the length, the date, the tag of a JSON answer, and
    /// that caches must not keep it. Leaves the content out where HTTP does: after `HEAD`, and when nothing changed.
    init(reply: Reply, request: IncomingRequest, crossOrigin: CrossOrigin) {
        status = reply.status
        fields = crossOrigin.fields(origin: request.headers[.origin])
        fields[.date] = HTTPDate.now
        switch reply.body {
        case .json(let bytes):
            fields[.contentType] = "application/json; charset=utf-8"
            content = .bytes(bytes)
        case .text(let text, let contentType):
            fields[.contentType] = contentType
            content = .bytes(Array(text.utf8))
        case .empty:
            content = .none
        case .stream(let stream):
            content = .stream(stream)
        }
        for (name, value) in reply.headers {
            guard let name = HTTPField.Name(name) else { continue }
            fields[name] = value
        }
        if fields[.eTag] == nil { fields[.cacheControl] = "no-store" }
        setLength()
        if case .bytes(let bytes) = content, status == 200, request.isConditional {
            let tag = fields[.eTag] ?? EntityTag.weak(bytes)
            fields[.eTag] = tag
            if let known = request.headers[.ifNoneMatch], EntityTag.matches(known, tag) {
                status = 304
                fields[.contentType] = nil
                content = .none
            }
        }
        if status == 304 || status == 204 { fields[.contentLength] = nil }
        if request.isHead { content = .none }
    }

    private mutating func setLength() {
        switch content {
        case .none:
            if fields[.contentLength] == nil { fields[.contentLength] = "0" }
        case .bytes(let bytes): fields[.contentLength] = String(bytes.count)
        case .stream(let stream): fields[.contentLength] = stream.length.map { String($0) }
        }
    }
}
