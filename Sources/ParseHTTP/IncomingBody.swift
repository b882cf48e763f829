import NIOCore

/// The body of a request while it arrives: read at most once, counted, and watched for standing still.
///
/// It belongs to the task that answers the request.
final class IncomingBody: AsyncSequence {
    typealias Element = ByteBuffer

    /// The number of bytes that the client promised, if it did.
    let declaredLength: Int?
    /// The number of bytes that arrived.
    private(set) var receivedLength = 0
    /// Whether all of it has been read.
    private(set) var isComplete = false
    /// Whether the connection ended before the body did.
    private(set) var isBroken = false
    /// Whether the client waits for a word before it sends the body, and has not had one.
    var awaitsContinue = false

    private var firstChunk: ByteBuffer?
    /// Whether all of it is being kept.
    private var isCollecting = false
    /// Whether its memory is counted.
    private var isCounted = false
    private var ticket: StallGuard.Ticket?
    private let connection: HTTPConnection
    private let stallGuard: StallGuard

    init(headers: RequestHeaders, connection: HTTPConnection, stallGuard: StallGuard) {
        self.connection = connection
        self.stallGuard = stallGuard
        let length = headers[.contentLength]
        let hasBody = length != nil || headers[.transferEncoding] != nil
        declaredLength = hasBody ? length.flatMap { Int($0) } : 0
        isComplete = declaredLength == 0
    }

    /// Reads the next bytes.
    ///
    /// - Returns: The bytes, or nil at the end.
    /// - Throws: ``HTTPFault/aborted`` when the connection ends before the body does.
    func next() async throws -> ByteBuffer? {
        if let chunk = firstChunk {
            firstChunk = nil
            return chunk
        }
        return try await receive()
    }

    /// Whether the body has no bytes at all. What is read to find out is not lost.
    func isEmpty() async throws -> Bool {
        while firstChunk == nil {
            guard let chunk = try await receive() else { return true }
            if chunk.readableBytes > 0 { firstChunk = chunk }
        }
        return false
    }

    /// Reads all of the body.
    ///
    /// What is large counts as memory that the transfer keeps, until the request is answered.
    /// - Parameter limit: The most bytes that are taken.
    /// - Throws: ``HTTPFault/bodyTooLarge`` when there are more, promised or sent; ``HTTPFault/overloaded`` when there is
    ///   no memory for it now; ``HTTPFault/aborted``.
    func collect(upTo limit: Int) async throws -> [UInt8] {
        if let declaredLength, declaredLength > limit { throw HTTPFault.bodyTooLarge }
        var bytes: [UInt8] = []
        isCollecting = true
        do {
            while let chunk = try await next() {
                guard receivedLength <= limit else { throw HTTPFault.bodyTooLarge }
                if bytes.count + chunk.readableBytes > Self.uncounted { try hold(chunk.readableBytes, bytes.count) }
                bytes.append(contentsOf: chunk.readableBytesView)
            }
        } catch {
            isCollecting = false
            endTicket()
            throw error
        }
        isCollecting = false
        if isCounted, let ticket { stallGuard.rest(ticket) } else { endTicket() }
        return bytes
    }

    /// The bytes that a body may keep without being counted.
    private static let uncounted = 64 * 1024

    /// Counts bytes that were received, and with the first of them all that came before.
    private func hold(_ count: Int, _ before: Int) throws(HTTPFault) {
        guard let ticket else { return }
        guard stallGuard.hold(ticket, bytes: isCounted ? count : before + count) else { throw .overloaded }
        isCounted = true
    }

    /// Counts the memory of the body no more: what was made of it is done with.
    func release() {
        if isComplete { endTicket() }
    }

    /// Reads and forgets what is left, so that the next request on the connection can be read.
    ///
    /// - Parameter limit: The most bytes that are worth it.
    /// - Returns: Whether the end was reached.
    func drain(upTo limit: Int) async -> Bool {
        var drained = 0
        do {
            while let chunk = try await next() {
                drained += chunk.readableBytes
                if drained > limit { return false }
            }
            return true
        } catch {
            return false
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(body: self)
    }

    struct Iterator: AsyncIteratorProtocol {
        let body: IncomingBody

        mutating func next() async throws -> ByteBuffer? {
            try await body.next()
        }
    }

    private func receive() async throws -> ByteBuffer? {
        guard !isComplete else { return nil }
        let ticket = self.ticket ?? stallGuard.begin(.body, on: connection.channel)
        self.ticket = ticket
        guard let chunk = try await nextFromConnection() else {
            finish()
            return nil
        }
        receivedLength += chunk.readableBytes
        if receivedLength == declaredLength {
            finish()
        } else {
            stallGuard.moved(ticket, bytes: chunk.readableBytes)
        }
        return chunk
    }

    private func nextFromConnection() async throws -> ByteBuffer? {
        do {
            switch try await connection.nextPart() {
            case .body(let chunk): return chunk
            case .end: return nil
            case .head, nil: throw HTTPFault.aborted
            }
        } catch {
            isBroken = true
            throw HTTPFault.aborted
        }
    }

    private func finish() {
        isComplete = true
        if !isCollecting { endTicket() }
    }

    private func endTicket() {
        if let ticket { stallGuard.end(ticket) }
        ticket = nil
    }

    deinit {
        if let ticket { stallGuard.end(ticket) }
    }
}
