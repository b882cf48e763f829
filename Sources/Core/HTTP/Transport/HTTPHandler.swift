import Encoding
import Synchronization
import Telemetry

/// Answers HTTP requests.
package protocol HTTPHandler: Sendable {
    /// Returns the reply to a request. Errors also become replies.
    func answer(_ request: IncomingRequest) async -> Reply

    /// Whether a client that sent `Expect: 100-continue` may send the body.
    func mayTake(_ body: IncomingBody, headers: RequestHeaders) -> Bool

    /// The reply if memory is full.
    var overloaded: Reply { get }

    /// Whether the peer is a trusted proxy, whose request ids and trace contexts may be used.
    func believes(peer: String) -> Bool

    /// Returns the route template of a metrics row, or nil for unrouted paths.
    func route(ofRow number: Int) -> String?
}

extension HTTPHandler {
    package func believes(peer: String) -> Bool { false }
    package func route(ofRow number: Int) -> String? { nil }
}

package struct IncomingRequest {
    package let id: RequestID
    package let method: String
    /// The request target, as in the request line.
    package let target: String
    package let headers: RequestHeaders
    /// The `Host` header, with an optional port.
    package let authority: String?
    /// The IP address of the other end of the connection.
    package let peer: String
    package let body: IncomingBody
    /// Whether the server is shutting down.
    package let isDraining: Bool
    /// The record for metrics, the log line and the span.
    package let record: RequestRecord
    /// The span of the request, or nil if it isn't recorded.
    package let span: RequestSpan?

    package var isHead: Bool { method == "HEAD" }

    /// Whether the request is a GET or HEAD. Only these can be answered with 304 Not Modified.
    package var isConditional: Bool { method == "GET" || method == "HEAD" }
}

/// The id of a request, in the header `X-Request-Id`, the log, traces and audit entries.
public struct RequestID: Sendable, CustomStringConvertible {
    private let number: UInt64
    private let given: String?

    /// Creates the id that a proxy sent. Returns nil unless it has 1 to 64 characters: letters, digits, periods,
    /// hyphens and underscores.
    init?(given text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else { return nil }
        number = 0
        given = text
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || "._-".utf8.contains(byte)
    }

    public init(_ number: UInt64) {
        self.number = number
        given = nil
    }

    public var description: String { given ?? String(number, radix: 36) }

    private static let counter = Atomic<UInt64>(UInt64.random(in: 0..<(1 << 40)))

    /// Returns an id that is unique in the process and unlikely to repeat in the next one.
    static func next() -> RequestID { RequestID(counter.add(1, ordering: .relaxed).newValue) }
}
