import Encoding
import Synchronization
import Telemetry

/// Answers the requests of connections.
package protocol HTTPHandler: Sendable {
    /// Answers a request; what goes wrong has an answer, too.
    func answer(_ request: IncomingRequest) async -> Reply

    /// Whether a client that asks before it sends a body may send it.
    func mayTake(_ body: IncomingBody, headers: RequestHeaders) -> Bool

    /// The answer for which there is no memory.
    var overloaded: Reply { get }

    /// Whether the other end of a connection is a proxy that is believed about a request's id.
    func believes(peer: String) -> Bool

    /// The template of the paths that are counted in a row of the metrics; nil for paths of no route.
    func route(ofRow number: Int) -> String?
}

extension HTTPHandler {
    package func believes(peer: String) -> Bool { false }
    package func route(ofRow number: Int) -> String? { nil }
}

package struct IncomingRequest {
    /// A short id under which the log speaks about it.
    package let id: RequestID
    /// The method's name in the request line.
    package let method: String
    /// The target in the request line.
    package let target: String
    package let headers: RequestHeaders
    /// The host, and port, that the client called.
    package let authority: String?
    /// The IP address of the other end of the connection.
    package let peer: String
    package let body: IncomingBody
    /// Whether the server is about to end.
    package let isDraining: Bool
    /// What is found out about it, for metrics and for its log line.
    package let record: RequestRecord
    /// The span of the request, or nil if it isn't recorded.
    package let span: RequestSpan?

    package var isHead: Bool { method == "HEAD" }

    /// Whether the request only looks, so that an answer may say that nothing changed.
    package var isConditional: Bool { method == "GET" || method == "HEAD" }
}

/// A short id under which the log speaks about a request; its text is made where it is logged.
public struct RequestID: Sendable, CustomStringConvertible {
    private let number: UInt64
    /// A proxy's request id, or nil if the server assigns one.
    private let given: String?

    /// The id that a proxy gave a request; nil for one that is longer than 64 characters, or has others than letters,
    /// digits, full stops, hyphens and underscores.
    init?(given text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else { return nil }
        number = 0
        given = text
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || "._-".utf8.contains(byte)
    }

    /// An id with some number.
    public init(_ number: UInt64) {
        self.number = number
        given = nil
    }

    public var description: String { given ?? String(number, radix: 36) }
}

/// Gives ids to requests: unique in the process, and unlikely to repeat in the next one.
package final class RequestIDs: Sendable {
    private let counter = Atomic<UInt64>(UInt64.random(in: 0..<(1 << 40)))

    package func next() -> RequestID {
        RequestID(counter.add(1, ordering: .relaxed).newValue)
    }
}
