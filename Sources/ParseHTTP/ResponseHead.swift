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
        // The fields are appended: setting one would first look for it among all that are there.
        fields.append(HTTPField(name: .date, value: HTTPDate.now))
        var contentType: String?
        switch reply.body {
        case .json(let bytes):
            contentType = Self.json
            content = .bytes(bytes)
        case .text(let text, let type):
            contentType = type
            content = .bytes(Array(text.utf8))
        case .empty:
            content = .none
        case .stream(let stream):
            content = .stream(stream)
        }
        if !reply.headers.isEmpty { addHeaders(of: reply, &contentType) }
        let ownTag = reply.headers.isEmpty ? nil : fields[.eTag]
        if ownTag == nil { fields.append(HTTPField(name: .cacheControl, value: "no-store")) }
        if case .bytes(let bytes) = content, status == 200, request.isConditional {
            let tag = ownTag ?? EntityTag.weak(bytes)
            if ownTag == nil { fields.append(HTTPField(name: .eTag, value: tag)) }
            if let known = request.headers[.ifNoneMatch], EntityTag.matches(known, tag) {
                status = 304
                contentType = nil
                content = .none
            }
        }
        if let contentType { fields.append(HTTPField(name: .contentType, value: contentType)) }
        if status != 304, status != 204 { addLength() }
        if request.isHead { content = .none }
    }

    private static let json = "application/json; charset=utf-8"

    /// Adds the fields of a reply's own; the last one of a name counts, and before what every answer has.
    private mutating func addHeaders(of reply: Reply, _ contentType: inout String?) {
        for (name, value) in reply.headers {
            guard let name = HTTPField.Name(name) else { continue }
            if name == .contentType { contentType = nil }
            fields[name] = value
        }
    }

    private mutating func addLength() {
        switch content {
        case .none:
            if fields[.contentLength] == nil { fields.append(HTTPField(name: .contentLength, value: "0")) }
        case .bytes(let bytes): fields.append(HTTPField(name: .contentLength, value: String(bytes.count)))
        case .stream(let stream):
            if let length = stream.length { fields[.contentLength] = String(length) }
        }
    }
}
