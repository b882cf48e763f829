import DequeModule
import Encoding
import JSON
import NIOCore
import NIOHTTP1
import Synchronization

/// Parsed parts of a connection's requests (head, body pieces, end), queued for the task that answers the requests.
///
/// One task consumes the parts. It waits on the event loop that adds them, so receiving a part needs no thread switch.
package final class RequestParts: Sendable {
    private struct Entry {
        var part: HTTPServerRequestPart
        var bytes: Int

        var mayGrow: Bool {
            if case .body(let data) = part { data.readableBytes < RequestParts.maxJoinedBytes } else { false }
        }

        mutating func join(_ piece: inout ByteBuffer, bytes count: Int) {
            guard case .body(var data) = part else { return }
            // Releases the entry's reference, so that the buffer isn't copied.
            part = .end(nil)
            data.writeBuffer(&piece)
            part = .body(data)
            bytes += count
        }
    }

    private struct State {
        private var entries = Deque<Entry>()
        /// The size of the parts in bytes, as counted by ``HeldInput``.
        private(set) var bytes = 0
        private(set) var heads = 0
        /// The result with which the connection ended, or nil if it is open.
        var end: Result<Void, any Error>?
        var consumer: CheckedContinuation<HTTPServerRequestPart?, any Error>?
        /// Whether the consumer waits for a request rather than for a part of one.
        var mayRest = false
        var isResting = false
        var waiter: CheckedContinuation<Void, Never>?

        var isReady: Bool { !entries.isEmpty || end != nil }

        /// Appends a part. Body pieces are joined, because a client may send each byte as a separate piece, and taking
        /// a piece costs far more than a byte.
        mutating func append(_ part: HTTPServerRequestPart, bytes count: Int) {
            bytes += count
            if case .head = part { heads += 1 }
            guard case .body(var piece) = part, entries.last?.mayGrow == true, var last = entries.popLast() else {
                return entries.append(Entry(part: part, bytes: count))
            }
            last.join(&piece, bytes: count)
            entries.append(last)
        }

        mutating func popFirst() -> (part: HTTPServerRequestPart, bytes: Int)? {
            guard let entry = entries.popFirst() else { return nil }
            bytes -= entry.bytes
            if case .head = entry.part { heads -= 1 }
            return (entry.part, entry.bytes)
        }
    }

    private let state = Mutex(State())
    /// The counter of waiting input, parsed and unparsed.
    let input: HeldInput

    package init(_ input: HeldInput) { self.input = input }

    /// The size in bytes from which body pieces are not joined.
    private static let maxJoinedBytes = 16 * 1024
    /// The number of queued bytes at which reading from the connection pauses.
    private static let maxBytes = 128 * 1024

    /// Whether reading should pause, because a request or much of a body is queued, or because parsing failed and
    /// further input would be dropped.
    package var isFull: Bool {
        state.withLock { state in
            if case .failure? = state.end { return true }
            return state.heads > 0 || state.bytes >= Self.maxBytes
        }
    }

    package var hasRequest: Bool { state.withLock { $0.heads > 0 } }

    /// Returns the next part, waiting until there is one.
    ///
    /// - Parameter mayRest: Whether ``rest()`` ends the wait.
    /// - Returns: The part, or nil after the last one or when the connection rests.
    /// - Throws: The error that ended the connection, such as `HTTPParserError` for invalid HTTP.
    package func next(mayRest: Bool = false) async throws -> HTTPServerRequestPart? {
        if let part = dequeue() { return part }
        return try await withCheckedThrowingContinuation { continuation in
            let result: Result<(part: HTTPServerRequestPart, bytes: Int)?, any Error>? = state.withLock { state in
                if let next = state.popFirst() { return .success(next) }
                if let end = state.end { return end.map { nil } }
                (state.consumer, state.mayRest) = (continuation, mayRest)
                return nil
            }
            guard let result else { return }
            if case .success(let next?) = result { input.remove(next.bytes) }
            continuation.resume(with: result.map { $0?.part })
        }
    }

    /// Ends the wait for the next request, so that the task that answers requests can end and release its memory.
    package func rest() {
        let consumer = state.withLock { state -> CheckedContinuation<HTTPServerRequestPart?, any Error>? in
            guard state.mayRest, let consumer = state.consumer.take() else { return nil }
            state.isResting = true
            return consumer
        }
        consumer?.resume(returning: nil)
    }

    /// Whether the last wait for a request was ended by ``rest()``.
    package var isResting: Bool { state.withLock { $0.isResting } }

    /// Waits until a part is available, no more can come, or `isOver` returns true. Resets ``isResting``.
    ///
    /// - Parameter isOver: Whether to stop waiting. Call ``wake()`` after its value changes.
    package func waitUntilReady(unless isOver: @Sendable () -> Bool = { false }) async {
        await withCheckedContinuation { continuation in
            let waits = state.withLock { state in
                state.isResting = false
                let waits = !state.isReady && !isOver()
                if waits { state.waiter = continuation }
                return waits
            }
            if !waits { continuation.resume() }
        }
    }

    /// Makes ``waitUntilReady(unless:)`` check whether to stop.
    package func wake() { state.withLock { $0.waiter.take() }?.resume() }

    private func dequeue() -> HTTPServerRequestPart? {
        guard let next = state.withLock({ $0.popFirst() }) else { return nil }
        input.remove(next.bytes)
        return next.part
    }

    /// Appends a part that took `bytes` bytes of input, or hands it to the waiting consumer.
    package func append(_ part: HTTPServerRequestPart, bytes: Int) {
        let (consumer, waiter) = state.withLock { state in
            let consumer = state.consumer.take()
            if consumer == nil { state.append(part, bytes: bytes) }
            return (consumer, state.waiter.take())
        }
        waiter?.resume()
        guard let consumer else { return }
        input.remove(bytes)
        consumer.resume(returning: part)
    }

    /// Records that no more parts come. Only the first reason counts.
    package func finish(_ end: Result<Void, any Error>) {
        let (consumer, waiter) = state.withLock { state in
            if state.end == nil { state.end = end }
            return (state.consumer.take(), state.waiter.take())
        }
        waiter?.resume()
        consumer?.resume(with: end.map { nil })
    }
}

/// A request that isn't valid HTTP/1.1 or 1.0, or that a proxy could interpret differently. The client gets the reason,
/// and the connection is closed.
struct MalformedRequest: Error, Equatable {
    let reason: String

    init(_ reason: String) { self.reason = reason }

    init(_ error: HTTPParserError) {
        switch error {
        case .headerOverflow: reason = "The header fields are too large."
        case .invalidContentLength, .unexpectedContentLength:
            reason = "Content-Length is invalid, repeated, or combined with Transfer-Encoding."
        case .invalidChunkSize: reason = "Invalid chunk size."
        case .invalidVersion: reason = "The HTTP version must be 1.0 or 1.1."
        case .invalidMethod: reason = "Unknown method."
        case .invalidHeaderToken: reason = "A header field has a character that is not allowed."
        case .invalidEOFState, .closedConnection: reason = "The connection ended before the request was complete."
        case .unknown:
            reason =
                "Transfer-Encoding is not chunked or is combined with Content-Length, or a line does not end in CR LF."
        default: reason = "The request is not HTTP/1.1."
        }
    }

    /// Checks rules for `Host` and `Transfer-Encoding` that the parser ignores. Returns nil for a valid request.
    init?(_ headers: RequestHeaders, version: HTTPVersion) {
        switch headers.count(of: .host) {
        case 0 where version != .http1_0: self.init("The Host header is missing.")
        case 0, 1:
            guard let coding = headers[.transferEncoding] else { return nil }
            if version == .http1_0 {
                self.init("HTTP/1.0 doesn't support Transfer-Encoding.")
            } else if coding.asciiLowercased != "chunked" {
                // The parser also accepts other codings before chunked, such as gzip, and doesn't decode them.
                self.init("The only supported Transfer-Encoding is chunked.")
            } else {
                return nil
            }
        default: self.init("More than one Host header.")
        }
    }

    var answer: ByteBuffer {
        let body = JSONValue.object(["error": .string("Bad request: \(reason)")]).serialized()
        var buffer = ByteBuffer(
            string: "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/json; charset=utf-8\r\n"
                + "Content-Length: \(body.count)\r\n\r\n")
        buffer.writeBytes(body)
        return buffer
    }
}
