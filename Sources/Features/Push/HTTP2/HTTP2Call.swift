import NIOCore
import NIOHPACK

/// A POST request to a push service over HTTP/2.
struct HTTP2Call: Sendable {
    /// The header fields that follow the pseudo-header fields. Many calls share them.
    var headers: HPACKHeaders
    var path: String
    var body: ByteBuffer
    /// An additional header field for this call only.
    var ownField: (name: String, value: String)?
}

/// The result of a request to a push service.
enum HTTP2Outcome: Sendable {
    /// The service responded.
    ///
    /// - Parameters:
    ///   - retryAfter: The `Retry-After` delay in seconds, or nil if the service didn't send a number.
    ///   - body: The response body, truncated to 8 KiB.
    case answer(status: Int, retryAfter: Double?, body: [UInt8])
    /// The request has no response: it is `unclear` whether the service processed it, it was `unreached`, or it
    /// `failed` because it expired before a stream was available.
    case failure(PushOutcome)
}

/// An error of a connection to a push service.
struct HTTP2Failure: Error, CustomStringConvertible {
    let description: String
}

/// The index of a request in its submission, and its outcome.
typealias HTTP2Result = (index: Int, outcome: HTTP2Outcome)
