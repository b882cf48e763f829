import JSON
import NIOCore
import NIOHTTP1

/// A request that cannot be told apart from what follows it, or could be understood otherwise by a proxy in front. The
/// client hears why, and the connection is closed.
struct MalformedRequest: Error, Equatable {
    let reason: String

    init(_ reason: String) { self.reason = reason }

    /// What the parser found.
    init(_ error: HTTPParserError) {
        switch error {
        case .headerOverflow: reason = "The header fields are too large."
        case .invalidContentLength, .unexpectedContentLength:
            reason = "Content-Length is not a number of bytes, stands there twice, or beside Transfer-Encoding."
        case .invalidChunkSize: reason = "The size of a chunk is not a number of bytes."
        case .invalidVersion: reason = "The version of HTTP is not 1.0 or 1.1."
        case .invalidMethod: reason = "The method is not known."
        case .invalidHeaderToken: reason = "A header field has a character that is not allowed."
        case .invalidEOFState, .closedConnection: reason = "The connection ended within the request."
        case .unknown:
            reason =
                "Transfer-Encoding is not chunked or stands beside Content-Length, or a line does not end in CR LF."
        default: reason = "The request is not HTTP/1.1."
        }
    }

    /// Checks what the parser lets pass.
    ///
    /// - Returns: nil for a request that is in order.
    init?(_ headers: RequestHeaders, version: HTTPVersion) {
        switch headers.count(of: .host) {
        case 0 where version != .http1_0: self.init("The field Host is missing.")
        case 0, 1:
            guard version == .http1_0, headers.count(of: .transferEncoding) > 0 else { return nil }
            self.init("HTTP/1.0 has no Transfer-Encoding.")
        default: self.init("More than one field Host.")
        }
    }

    /// The answer.
    var answer: ByteBuffer {
        let body = JSONValue.object(["error": .string("Bad request: \(reason)")]).serialized()
        var buffer = ByteBuffer(
            string: "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/json; charset=utf-8\r\n"
                + "Content-Length: \(body.count)\r\n\r\n")
        buffer.writeBytes(body)
        return buffer
    }
}
