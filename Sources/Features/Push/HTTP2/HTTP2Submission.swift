import NIOCore
import NIOHPACK

/// Requests that were submitted together, and their results. Used only on the event loop of their connections.
final class HTTP2Submission {
    /// A queued or sent request.
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

    /// - Parameter end: The deadline for requests to get a stream, or nil for none.
    init(_ calls: [HTTP2Call], _ continuation: AsyncStream<[HTTP2Result]>.Continuation, until end: NIODeadline?) {
        self.calls = calls
        self.continuation = continuation
        self.end = end
        open = calls.count
    }

    /// Whether requests that are still waiting for a stream have expired.
    var isOverdue: Bool { end.map { $0 < .now() } ?? false }

    func finish(_ index: Int, _ outcome: HTTP2Outcome) {
        results.append((index, outcome))
        open -= 1
        if open == 0 { flush() }
    }

    /// Delivers the results since the last flush. Finishes the stream once every request has a result.
    func flush() {
        if !results.isEmpty {
            continuation.yield(results)
            results = []
        }
        if open == 0 { continuation.finish() }
    }

    /// Drops the requests that were not sent yet, because the caller stopped listening.
    func giveUp() { isGivenUp = true }
}
