import NIOCore

/// The body of a request while it arrives. It can be read once. The server watches its memory and progress.
///
/// Belongs to the task that answers the request.
package final class IncomingBody {
    /// The declared number of bytes: 0 without a body, or nil for a chunked body.
    package let declaredLength: Int?
    /// The number of bytes received so far.
    package private(set) var receivedLength = 0
    /// Whether the whole body has been read.
    package private(set) var isComplete = false
    /// Whether the connection ended before the body did.
    package private(set) var isBroken = false
    /// Whether the client waits for `100 Continue` and has not received it.
    package var awaitsContinue = false

    private var firstChunk: ByteBuffer?
    private var isCollecting = false
    private var isCounted = false
    private var isReserved = false
    private var ticket: TransferTimeout.Ticket?
    private let connection: HTTPConnection
    private let transferTimeout: TransferTimeout

    init(headers: RequestHeaders, connection: HTTPConnection, transferTimeout: TransferTimeout) {
        self.connection = connection
        self.transferTimeout = transferTimeout
        let length = headers[.contentLength]
        let hasBody = length != nil || headers[.transferEncoding] != nil
        declaredLength = hasBody ? length.flatMap { Int($0) } : 0
        isComplete = declaredLength == 0
    }

    /// Reads the next bytes, or returns nil at the end.
    ///
    /// - Throws: ``HTTPError/aborted`` if the connection ends before the body does.
    package func next() async throws -> ByteBuffer? {
        if let chunk = firstChunk.take() { return chunk }
        return try await receive()
    }

    /// Passes the pieces of the unread body to a closure, and then nil at its end.
    ///
    /// - Parameters:
    ///   - isOver: Whether to stop. Call ``wake`` after its value changes.
    ///   - receive: Receives a piece. Returns false to stop.
    /// - Returns: False if `receive` returned false.
    /// - Throws: ``HTTPError/aborted`` if the connection ends before the body does, or the error of `receive`.
    @discardableResult package func pass(
        unless isOver: @Sendable () -> Bool, to receive: @Sendable (ByteBuffer?) async throws -> Bool
    ) async throws -> Bool {
        while let chunk = try await next(unless: isOver) {
            guard try await receive(chunk) else { return false }
        }
        return isComplete ? try await receive(nil) : true
    }

    private func next(unless isOver: @Sendable () -> Bool) async throws -> ByteBuffer? {
        if isOver() { return nil }
        if firstChunk == nil, !isComplete {
            let ticket = watch()
            await connection.parts.waitUntilReady(unless: isOver)
            if isOver() {
                transferTimeout.moved(ticket, bytes: 0, pauses: true)
                return nil
            }
        }
        return try await next()
    }

    /// A function that makes ``pass(unless:to:)`` check whether to stop. Safe to call from any task.
    package var wake: @Sendable () -> Void {
        { [connection] in connection.parts.wake() }
    }

    /// Starts to watch the body. Returns a function that requires a pace of 64 KB per second for the rest, safe to call
    /// from any task.
    func watchForAnswer() -> @Sendable () -> Void {
        let ticket = watch()
        return { [transferTimeout] in transferTimeout.hurry(ticket) }
    }

    /// Whether the body is empty. Bytes read to find out are returned by the next read.
    ///
    /// - Throws: ``HTTPError/aborted`` if the connection ends before the body does.
    package func isEmpty() async throws -> Bool {
        while firstChunk == nil {
            guard let chunk = try await receive() else { return true }
            if chunk.readableBytes > 0 { firstChunk = chunk }
        }
        return false
    }

    /// Reads the whole body, at most `limit` bytes.
    ///
    /// Unless the body is small, it counts toward the memory limit until the request is answered. If its declared
    /// length exceeds 1 MB, it waits for memory first, and nothing more is read meanwhile.
    ///
    /// - Throws: ``HTTPError/bodyTooLarge`` if the declared or received size exceeds the limit,
    ///   ``HTTPError/overloaded`` if memory is full or too many bodies wait, or ``HTTPError/aborted``.
    package func collect(upTo limit: Int) async throws -> [UInt8] {
        if let declaredLength, declaredLength > limit { throw HTTPError.bodyTooLarge }
        var bytes: [UInt8] = []
        isCollecting = true
        defer { isCollecting = false }
        do {
            while let chunk = try await next() {
                guard receivedLength <= limit else { throw HTTPError.bodyTooLarge }
                try await count(bytes.count + chunk.readableBytes, of: min(declaredLength ?? limit, limit))
                bytes.append(contentsOf: chunk.readableBytesView)
            }
        } catch {
            endTicket()
            throw error
        }
        if isCounted, let ticket { transferTimeout.rest(ticket) } else { endTicket() }
        return bytes
    }

    /// Counts a body that is passed on in parts toward the memory limit, until the request is answered. Does nothing
    /// until more than 64 KB have arrived. If memory is full, waits for it and reads nothing meanwhile.
    ///
    /// - Parameter limit: The maximum number of bytes held at a time.
    /// - Throws: ``HTTPError/aborted`` if the connection ends or the task is cancelled meanwhile, or
    ///   ``HTTPError/overloaded`` if too many bodies wait.
    package func reserve(_ limit: Int) async throws(HTTPError) {
        guard limit > 0, receivedLength > Self.smallFile, !isCounted else { return }
        try await reserve(min(declaredLength ?? limit, limit), in: .files)
    }

    private func reserve(_ bytes: Int, in lane: TransferState.Lane) async throws(HTTPError) {
        guard let ticket, !isReserved else { return }
        guard transferTimeout.mayWait() else { throw .overloaded }
        connection.waitForMemory(true)
        defer { connection.waitForMemory(false) }
        guard await transferTimeout.reserve(ticket, bytes: bytes, in: lane) else { throw .aborted }
        (isCounted, isReserved) = (true, true)
    }

    /// The numbers of bytes that a collected body (`uncounted`) and a file passed on in parts (`smallFile`) may hold
    /// without counting toward the memory limit.
    private static let (uncounted, smallFile) = (4096, 64 * 1024)
    /// The sizes in bytes above which a body waits for memory (`large`) and must leave memory for others (`giant`).
    private static let (large, giant) = (RequestQueue.hugeSize, RequestQueue.giantSize)

    private func count(_ bytes: Int, of limit: Int) async throws(HTTPError) {
        guard !isReserved, bytes > Self.uncounted, let ticket else { return }
        // If the length is unknown, only the received bytes count.
        if let declaredLength, declaredLength > Self.large {
            return try await reserve(limit, in: limit > Self.giant ? .giant : .large)
        }
        guard transferTimeout.hold(ticket, atLeast: bytes) else { throw .overloaded }
        isCounted = true
    }

    /// Stops counting the memory of the body if it is complete, because the request no longer needs it.
    package func release() {
        if isComplete { endTicket() }
    }

    /// Reads and discards the rest, so that the next request on the connection can be read.
    ///
    /// - Parameter limit: The maximum number of bytes to discard.
    /// - Returns: Whether the end was reached.
    package func drain(upTo limit: Int) async -> Bool {
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

    private func receive() async throws -> ByteBuffer? {
        guard !isComplete else { return nil }
        let ticket = watch()
        guard let chunk = try await nextFromConnection() else {
            finish()
            return nil
        }
        receivedLength += chunk.readableBytes
        if receivedLength == declaredLength {
            finish()
        } else {
            transferTimeout.moved(ticket, bytes: chunk.readableBytes, pauses: true)
        }
        return chunk
    }

    private func watch() -> TransferTimeout.Ticket {
        if let ticket { transferTimeout.resume(ticket) }
        let ticket = self.ticket ?? transferTimeout.begin(.body, on: connection.channel)
        self.ticket = ticket
        return ticket
    }

    private func nextFromConnection() async throws -> ByteBuffer? {
        do {
            switch try await connection.nextPart() {
            case .body(let chunk): return chunk
            case .end: return nil
            case .head, nil: throw HTTPError.aborted
            }
        } catch {
            isBroken = true
            throw HTTPError.aborted
        }
    }

    private func finish() {
        isComplete = true
        if isCollecting { return }
        if isCounted, let ticket { transferTimeout.rest(ticket) } else { endTicket() }
    }

    private func endTicket() {
        if let ticket = ticket.take() { transferTimeout.end(ticket) }
    }

    deinit { endTicket() }
}
