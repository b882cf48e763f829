import Encoding
import JSON
import NIOCore
import NIOHTTP1

/// The status, header fields and content of a response.
struct ResponseHead {
    enum Content {
        case none
        case bytes([UInt8])
        case stream(Reply.ByteStream)
    }

    var status: Int
    var content: Content
    /// Whether the response is sent over TLS and tells clients to require TLS (`Strict-Transport-Security`).
    var isSecure = false
    private var fields: [(name: String, value: String)]
    /// The CORS fields in wire format.
    private let crossOrigin: [UInt8]

    /// Adds the fields that most responses have: CORS, length, date, request id, `Cache-Control` and an entity tag.
    /// Omits the content in responses to `HEAD` and in 304 responses.
    ///
    /// - Parameter tag: The entity tag of the content, or nil to compute it.
    init(reply: Reply, request: IncomingRequest, tag: String? = nil, crossOrigin: CrossOrigin) {
        status = reply.status
        self.crossOrigin =
            reply.isForOwnOrigin || reply.isRelayed ? [] : crossOrigin.lines(origin: request.headers[.origin])
        fields =
            reply.isRelayed ? reply.headers.map { ($0, Self.singleLine($1)) } : Self.ownFields(of: reply)
        fields.append(("Date", HTTPDate.now))
        fields.append((HeaderName.requestID.text, request.id.description))
        var contentType: String?
        switch reply.body {
        case .json(let bytes):
            contentType = "application/json; charset=utf-8"
            content = .bytes(bytes)
        case .text(let text, let type):
            contentType = type
            content = .bytes(Array(text.utf8))
        case .empty:
            content = .none
        case .stream(let stream):
            content = .stream(stream)
        }
        if !reply.headers.isEmpty, value(.contentType) != nil { contentType = nil }
        let ownTag = reply.headers.isEmpty ? nil : value(.entityTag)
        if ownTag == nil, !reply.isRelayed { fields.append(("Cache-Control", "no-store")) }
        if case .bytes(let bytes) = content, status == 200, request.isConditional {
            let tag = ownTag ?? tag ?? EntityTag.weak(bytes)
            if ownTag == nil { fields.append((HeaderName.entityTag.text, tag)) }
            if let known = request.headers[.ifNoneMatch], EntityTag.matches(known, tag) {
                status = 304
                contentType = nil
                content = .none
            }
        }
        if let contentType { fields.append((HeaderName.contentType.text, contentType)) }
        if status != 304, status != 204, !isUnmeasured {
            fields.append((HeaderName.contentLength.text, String(contentLength)))
        }
        if request.isHead { content = .none }
    }

    /// Adds the fields that show whether the connection stays open. HTTP/1.1 clients assume that it does, HTTP/1.0
    /// clients that it doesn't.
    mutating func announce(keepsConnection: Bool, to version: HTTPVersion) {
        if isUnmeasured, version != .http1_0 { fields.append(("Transfer-Encoding", "chunked")) }
        if !keepsConnection {
            fields.append(("Connection", "close"))
        } else if version == .http1_0 {
            fields.append(("Connection", "keep-alive"))
        }
    }

    /// Writes everything before the content (RFC 9112).
    func write(to buffer: inout ByteBuffer) {
        // A NIO buffer would check its bounds and ownership for each of these small pieces.
        var head: [UInt8] = []
        head.reserveCapacity(headSize)
        head.append(contentsOf: "HTTP/1.1 \(status) ".utf8)
        head.append(contentsOf: HTTPResponseStatus(statusCode: status).reasonPhrase.utf8)
        head.append(contentsOf: "\r\n".utf8)
        head.append(contentsOf: crossOrigin)
        if isSecure { head.append(contentsOf: "Strict-Transport-Security: max-age=31536000\r\n".utf8) }
        for field in fields {
            head.append(contentsOf: field.name.utf8)
            head.append(contentsOf: ": ".utf8)
            head.append(contentsOf: field.value.utf8)
            head.append(contentsOf: "\r\n".utf8)
        }
        head.append(contentsOf: "\r\n".utf8)
        buffer.writeBytes(head)
    }

    private var headSize: Int {
        crossOrigin.count + 112 + fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
    }

    /// The approximate size of the head and the content in bytes, not counting streams.
    var size: Int {
        if case .bytes(let bytes) = content { headSize + bytes.count } else { headSize }
    }

    /// Replaces line breaks and NUL characters with spaces, so that a value can't end its line.
    static func singleLine(_ value: String) -> String {
        func breaks(_ byte: UInt8) -> Bool { byte == 0x0D || byte == 0x0A || byte == 0 }
        guard value.utf8.contains(where: breaks) else { return value }
        return String(decoding: value.utf8.map { breaks($0) ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
    }

    /// If fields have the same name, the last one wins.
    private static func ownFields(of reply: Reply) -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        fields.reserveCapacity(reply.headers.count + 7)
        for (name, value) in reply.headers {
            fields.removeAll { $0.name == name }
            fields.append((name, singleLine(value)))
        }
        return fields
    }

    private func value(_ name: HeaderName) -> String? {
        fields.first { name.matches($0.name) }?.value
    }

    /// The size of the content in bytes, or 0 if unknown.
    var contentLength: Int {
        switch content {
        case .none: 0
        case .bytes(let bytes): bytes.count
        case .stream(let stream): stream.length ?? 0
        }
    }

    /// Whether the length of the content is unknown, so that its last chunk or the end of the connection marks its end.
    var isUnmeasured: Bool {
        if case .stream(let stream) = content { stream.length == nil } else { false }
    }
}

/// Entity tags, which show whether a response has changed (`ETag`, `If-None-Match`).
package enum EntityTag {
    /// Returns a weak tag: a hash of the bytes and their number, which is the same in every process.
    package static func weak(_ bytes: [UInt8]) -> String { "W/\"" + ContentHash.text(of: bytes) + "\"" }

    /// Returns the tag of a response that takes too long to hash on the event loop, or nil for others.
    static func long(of reply: Reply, to request: IncomingRequest) async -> String? {
        guard case .json(let bytes) = reply.body, bytes.count > quicklyHashed, request.isConditional else { return nil }
        return await LongWork.medium.run { weak(bytes) }
    }

    /// The size in bytes up to which a response is hashed on the event loop.
    private static let quicklyHashed = 1024 * 1024

    /// Whether a tag matches `If-None-Match`. `*` matches any tag, and a weak tag equals a strong one.
    package static func matches(_ ifNoneMatch: String, _ tag: String) -> Bool {
        if ifNoneMatch.trimmingSpaces() == "*" { return true }
        return ifNoneMatch.split(separator: ",").contains { opaque($0.trimmingSpaces()) == opaque(Substring(tag)) }
    }

    private static func opaque(_ tag: Substring) -> Substring {
        tag.hasPrefix("W/") ? tag.dropFirst(2) : tag
    }
}
