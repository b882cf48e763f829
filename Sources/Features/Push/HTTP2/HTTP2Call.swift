import NIOCore
import NIOHPACK

/// A request to a service of notifications, by HTTP/2.
struct HTTP2Call: Sendable {
    /// The header fields after the pseudo-header fields; many calls share them.
    var headers: HPACKHeaders
    var path: String
    /// The body; many calls may share it.
    var body: ByteBuffer
    /// A header field of this call's own; nil for none.
    var ownField: (name: String, value: String)?
}

/// What became of a request.
enum HTTP2Outcome: Sendable {
    /// The service answered.
    ///
    /// - Parameters:
    ///   - retryAfter: After how many seconds the service wants to be asked again; nil where it does not say.
    ///   - body: At most the first few kilobytes.
    case answer(status: Int, retryAfter: Double?, body: [UInt8])
    /// The service may have taken the request, or not: the connection ended, or no answer came in time.
    case unknown(String)
    /// The service did not get the request: it is left alone for a while, or the server stops.
    case unsent(String)
    /// The service did not get the request before the time by which it was to.
    case overdue
}

/// Why a service is not reached.
struct HTTP2Failure: Error, CustomStringConvertible {
    let description: String
}

/// What became of one of several requests that were handed over together.
struct HTTP2Result: Sendable {
    /// Its place among them.
    var index: Int
    var outcome: HTTP2Outcome
}
