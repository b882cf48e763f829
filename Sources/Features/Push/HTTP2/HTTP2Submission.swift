import NIOCore
import NIOHPACK

/// Requests that were handed over together, and what is known of them. Used on the event loop of their connections alone.
final class HTTP2Submission {
    /// A request that waits for a stream, or has one.
    struct Entry {
        let submission: HTTP2Submission
        let index: Int
        var call: HTTP2Call { submission.calls[index] }
    }

    let calls: [HTTP2Call]
    private var open: Int
    private var results: [HTTP2Result] = []
    private let continuation: AsyncStream<[HTTP2Result]>.Continuation
    private(set) var isGivenUp = false
    private let end: NIODeadline?

    /// - Parameter end: When requests that have found no stream are given up; nil for never.
    init(
        _ calls: [HTTP2Call], _ continuation: AsyncStream<[HTTP2Result]>.Continuation, until end: NIODeadline? = nil
    ) {
        self.calls = calls
        self.continuation = continuation
        self.end = end
        open = calls.count
    }

    /// Whether what has found no stream is too late.
    var isOverdue: Bool { end.map { $0 < .now() } ?? false }

    /// Notes what became of a request.
    func finish(_ index: Int, _ outcome: HTTP2Outcome) {
        results.append(HTTP2Result(index: index, outcome: outcome))
        open -= 1
        if open == 0 { flush() }
    }

    /// Hands over what is known since the last time.
    func flush() {
        if !results.isEmpty {
            continuation.yield(results)
            results = []
        }
        if open == 0 { continuation.finish() }
    }

    /// The caller no longer waits for the rest.
    func giveUp() { isGivenUp = true }
}
