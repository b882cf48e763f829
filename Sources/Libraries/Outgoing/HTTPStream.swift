import AsyncHTTPClient
import Limits
public import NIOCore

/// A response whose body is streamed. Releasing it before the end of the body closes the connection.
public struct HTTPStream: Sendable {
    public let status: Int
    /// The header fields in their original order.
    public let headers: [(name: String, value: String)]
    public let body: HTTPPieces

    /// Returns the value of the first header field with the given name, ignoring case, or nil if there is none.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// A streamed response body. Pieces are read from the connection on demand.
public actor HTTPPieces {
    private var iterator: HTTPClientResponse.Body.AsyncIterator?
    private var failure: (any Error)?
    private let silence: Duration

    init(_ body: HTTPClientResponse.Body, silence: Duration) {
        iterator = body.makeAsyncIterator()
        self.silence = silence
    }

    /// Reads the next piece, or returns nil at the end.
    ///
    /// - Throws: `HTTPCallFailure` if the connection or read fails, and on every later call, or `CancellationError`.
    public nonisolated func next() async throws -> ByteBuffer? {
        do {
            guard let piece = try await withTimeLimit(silence, { try await self.read() }) else {
                throw HTTPCallFailure(description: "no data for \(silence)")
            }
            return piece
        } catch {
            throw HTTPCaller.failure(error)
        }
    }

    /// Reads the rest of the body. Fails after five minutes, even if data keeps arriving.
    ///
    /// - Throws: `HTTPCallFailure`, also if the body exceeds `limit` bytes, or `CancellationError`.
    public nonisolated func collect(upTo limit: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        let time = Duration.seconds(300)
        let end = ContinuousClock.now + time
        while let piece = try await next() {
            guard ContinuousClock.now < end else {
                throw HTTPCallFailure(description: "the response took longer than \(time)")
            }
            guard bytes.count + piece.readableBytes <= limit else {
                throw HTTPCallFailure(description: "the response is larger than \(limit) bytes", kind: .tooLarge)
            }
            bytes += piece.readableBytesView
        }
        return bytes
    }

    private func read() async throws -> ByteBuffer? {
        if let failure { throw failure }
        guard var iterator else { throw HTTPCallFailure(description: "the response already has a reader") }
        self.iterator = nil
        do {
            let piece = try await iterator.next(isolation: self)
            self.iterator = iterator
            return piece
        } catch {
            // A failed stream must not look as if it had ended.
            failure = error is CancellationError ? HTTPCallFailure(description: "the response was cancelled") : error
            throw error
        }
    }
}

/// Splits a request body of known length into pieces.
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
    /// Sends a request and returns as soon as the response head arrives.
    ///
    /// - Parameters:
    ///   - content: A large body that replaces the call's own.
    ///   - limit: Maximum time until the response head arrives.
    ///   - silence: Maximum time without data while the body is read.
    /// - Throws: `HTTPCallFailure` without a response within the limits, or `CancellationError`.
    public func open(
        _ call: HTTPCall, content: ByteBuffer? = nil, headWithin limit: Duration, silence: Duration
    ) async throws -> HTTPStream {
        var request = try Self.request(call)
        if let content, content.readableBytes > 0 {
            request.body = .stream(BufferPieces(buffer: content), length: .known(Int64(content.readableBytes)))
        }
        do {
            // The deadline includes connecting, in case a network proxy drops packets.
            let response = try await client().execute(request, deadline: .now() + TimeAmount(limit))
            return HTTPStream(
                status: Int(response.status.code), headers: response.headers.map { ($0.name, $0.value) },
                body: HTTPPieces(response.body, silence: silence))
        } catch {
            throw Self.failure(error)
        }
    }
}
