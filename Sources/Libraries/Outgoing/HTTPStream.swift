import AsyncHTTPClient
public import NIOCore
import NIOHTTP1

/// An answer whose body has not been read yet. When it is let go, the connection is closed.
public struct HTTPStream: Sendable {
    /// The status.
    public let status: Int
    /// The header fields, in the order in which they came.
    public let headers: [(name: String, value: String)]
    /// The body.
    public let body: HTTPPieces

    /// The value of the first header field with a name, whose case does not count; nil without any.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// The body of an answer, piece by piece. The next piece is read from the connection when it is asked for.
public actor HTTPPieces {
    private var iterator: HTTPClientResponse.Body.AsyncIterator?
    private var failure: (any Error)?
    private let silence: Duration

    init(_ body: HTTPClientResponse.Body, silence: Duration) {
        iterator = body.makeAsyncIterator()
        self.silence = silence
    }

    /// The next piece; nil at the end.
    ///
    /// - Throws: `HTTPCallFailure` if the connection ends before the body or the read times out, and on every later
    ///   call.
    public nonisolated func next() async throws -> ByteBuffer? {
        do {
            return try await withThrowingTaskGroup(of: ByteBuffer?.self) { group in
                group.addTask { try await self.read() }
                group.addTask { [silence] in
                    try await Task.sleep(for: silence)
                    throw HTTPCallFailure(description: "nothing came for \(silence)")
                }
                defer { group.cancelAll() }
                return try await group.next() ?? nil
            }
        } catch {
            throw HTTPCaller.failure(error)
        }
    }

    /// Reads all that is left.
    ///
    /// - Parameter time: How long that may take, however little is silence.
    /// - Throws: `HTTPCallFailure`, also when there are more bytes than `limit`.
    public nonisolated func collect(upTo limit: Int, within time: Duration = .seconds(300)) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        let end = ContinuousClock.now + time
        while let piece = try await next() {
            guard ContinuousClock.now < end else {
                throw HTTPCallFailure(description: "an answer that took longer than \(time)")
            }
            guard bytes.count + piece.readableBytes <= limit else {
                throw HTTPCallFailure(description: "an answer of more than \(limit) bytes", kind: .tooLarge)
            }
            bytes += piece.readableBytesView
        }
        return bytes
    }

    private func read() async throws -> ByteBuffer? {
        if let failure { throw failure }
        guard var iterator else { throw HTTPCallFailure(description: "two read an answer at once") }
        self.iterator = nil
        do {
            let piece = try await iterator.next(isolation: self)
            self.iterator = iterator
            return piece
        } catch {
            // A broken stream must not look like its end.
            failure = error is CancellationError ? HTTPCallFailure(description: "its reading was given up") : error
            throw error
        }
    }
}

/// A body of a known length, in pieces that a connection takes one after the other.
struct BufferPieces: AsyncSequence, Sendable {
    let buffer: ByteBuffer

    private static let pieceSize = 256 * 1024

    struct AsyncIterator: AsyncIteratorProtocol {
        var rest: ByteBuffer

        mutating func next() async -> ByteBuffer? {
            rest.readableBytes == 0 ? nil : rest.readSlice(length: Swift.min(pieceSize, rest.readableBytes))
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: buffer) }
}

extension HTTPCaller {
    /// Sends a request, and gives the answer as soon as its head is there.
    ///
    /// - Parameters:
    ///   - content: The body, in place of the call's own, where it is large.
    ///   - limit: How long it may take until the head of the answer is there.
    ///   - silence: How long the body may be silent while it is read.
    /// - Throws: `HTTPCallFailure` when there is no answer within the limits; `CancellationError`.
    public func open(
        _ call: HTTPCall, content: ByteBuffer? = nil, headWithin limit: Duration, silence: Duration
    ) async throws -> HTTPStream {
        var request = HTTPClientRequest(url: call.url)
        request.method = HTTPMethod(rawValue: call.method)
        for (name, value) in call.headers { request.headers.add(name: name, value: value) }
        if let content, content.readableBytes > 0 {
            request.body = .stream(BufferPieces(buffer: content), length: .known(Int64(content.readableBytes)))
        } else if !call.body.isEmpty {
            request.body = .bytes(call.body)
        }
        do {
            // Where a proxy of the network drops packets, the limit counts from the first try to connect.
            let response = try await client().execute(request, deadline: .now() + TimeAmount(limit))
            return HTTPStream(
                status: Int(response.status.code), headers: response.headers.map { ($0.name, $0.value) },
                body: HTTPPieces(response.body, silence: silence))
        } catch {
            throw Self.failure(error)
        }
    }
}
