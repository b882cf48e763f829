import CLibpq
public import Logging

/// A connection outside the pools that loads rows with COPY.
///
/// Its calls block the thread. Sending blocks until the server accepts the data, so that a fast sender doesn't fill
/// memory.
public final class BulkConnection {
    private let handle: OpaquePointer
    private let notices: NoticeLog

    /// Connects to the server. Blocks until the session is set up.
    ///
    /// - Parameter connectionString: A libpq URI or connection string.
    /// - Throws: `PostgresError` with the message of the server or of libpq.
    public init(connectionString: String, logger: Logger) throws {
        var configuration = PostgresConfiguration(connectionString: connectionString)
        configuration.statementTimeout = .zero
        configuration.applicationName = "roost import"
        let parameters = ConnectionParameters(configuration)
        var handle = parameters.connect(withoutOptions: false)
        let isRefused = handle.map(Self.isRefused) ?? false
        if isRefused {
            PQfinish(handle)
            handle = parameters.connect(withoutOptions: true)
        }
        guard let handle else { throw PostgresError(.unavailable, "out of memory") }
        self.handle = handle
        notices = NoticeLog(logger)
        notices.receive(from: handle)
        guard PQstatus(handle) == CONNECTION_OK else {
            throw PostgresError(.unavailable, message)
        }
        // Options with a search path are always set here too, because some poolers accept but ignore them.
        if isRefused || parameters.path != nil, let settings = parameters.settings { try query(settings) }
    }

    /// Whether a pooler rejected the server options, which libpq reports only in its error text.
    private static func isRefused(_ handle: OpaquePointer) -> Bool {
        PQstatus(handle) != CONNECTION_OK
            && PQerrorMessage(handle).map { String(cString: $0).contains("startup parameter") } ?? false
    }

    deinit { PQfinish(handle) }

    private var message: String { PQerrorMessage(handle).map { String(cString: $0).trimmed } ?? "out of memory" }

    /// Runs one statement. Blocks until the result has arrived.
    ///
    /// - Throws: `PostgresError`.
    @discardableResult
    public func query(_ sql: String, _ parameters: [PostgresParameter] = []) throws -> PostgresResult {
        let statement = try EncodedStatement(Statement(sql, parameters))
        // The pointers refer to the buffer, which stays alive during the call.
        let result = statement.bytes.withUnsafeBytes { bytes -> OpaquePointer? in
            let start = bytes.assumingMemoryBound(to: CChar.self).baseAddress
            let values = statement.slots.map { slot in slot.offset < 0 ? nil : start.map { $0 + Int(slot.offset) } }
            return PQexecParams(
                handle, statement.sql, Int32(values.count), statement.slots.map(\.type), values,
                statement.slots.map(\.length), values.map { _ in 1 }, 1)
        }
        return try check(result, expecting: [PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY])
    }

    /// Runs `body` in a transaction and commits it, or rolls it back if `body` throws.
    ///
    /// - Throws: `PostgresError`, or the error of `body`.
    public func transaction<R>(_ body: () throws -> R) throws -> R {
        try query("BEGIN")
        do {
            let result = try body()
            try query("COMMIT")
            return result
        } catch {
            _ = try? query("ROLLBACK")
            throw error
        }
    }

    /// Sends rows with a COPY statement.
    ///
    /// - Parameters:
    ///   - sql: `COPY … FROM STDIN (FORMAT binary)`.
    ///   - send: Receives a function that sends a buffer and can be called repeatedly. If `send` throws, the COPY is
    ///     aborted.
    /// - Throws: `PostgresError`, or the error of `send`.
    public func copy(_ sql: String, _ send: ((CopyBuffer) throws -> Void) throws -> Void) throws {
        _ = try check(PQexec(handle, sql), expecting: [PGRES_COPY_IN])
        do {
            try send { buffer in try self.put(buffer) }
        } catch {
            _ = PQputCopyEnd(handle, "cancelled")
            let refusal = lastResult()
            if let refusal, error is PostgresError { throw refusal }
            throw error
        }
        guard PQputCopyEnd(handle, nil) == 1 else { throw PostgresError(.connectionLost, message) }
        _ = try check(PQgetResult(handle), expecting: [PGRES_COMMAND_OK])
        while let rest = PQgetResult(handle) { PQclear(rest) }
    }

    private func put(_ buffer: CopyBuffer) throws {
        // libpq buffers what it can't send immediately. Chunks keep that buffer small.
        var start = 0
        while start < buffer.count {
            let end = min(start + 65_536, buffer.count)
            let status = buffer.bytes[start..<end].withUnsafeBytes { bytes in
                PQputCopyData(handle, bytes.assumingMemoryBound(to: CChar.self).baseAddress, Int32(bytes.count))
            }
            guard status == 1 else { throw PostgresError(.connectionLost, message) }
            start = end
        }
    }

    /// Drains an aborted COPY and returns the server's first error.
    private func lastResult() -> PostgresError? {
        var error: PostgresError?
        while let result = PQgetResult(handle) {
            if PQresultStatus(result) == PGRES_FATAL_ERROR, error == nil { error = PostgresError(result) }
            PQclear(result)
        }
        return error
    }

    private func check(_ result: OpaquePointer?, expecting statuses: [ExecStatusType]) throws -> PostgresResult {
        guard let result else { throw PostgresError(.connectionLost, "the connection was lost: \(message)") }
        guard statuses.contains(where: { $0 == PQresultStatus(result) }) else {
            var error = PostgresError(result)
            if PQstatus(handle) == CONNECTION_BAD { error.kind = .connectionLost }
            PQclear(result)
            while let rest = PQgetResult(handle) { PQclear(rest) }
            throw error
        }
        return PostgresResult(result, notices: notices)
    }
}

/// A buffer for rows in COPY's binary format.
public struct CopyBuffer: Sendable {
    public private(set) var bytes: [UInt8] = []

    public init() {}

    /// The buffer's size in bytes.
    public var count: Int { bytes.count }

    /// Appends COPY's header, which precedes the first row.
    public mutating func begin() {
        bytes.append(contentsOf: [0x50, 0x47, 0x43, 0x4F, 0x50, 0x59, 0x0A, 0xFF, 0x0D, 0x0A, 0x00])
        // No flags and no header extension.
        bytes.append(contentsOf: [0, 0, 0, 0, 0, 0, 0, 0])
    }

    /// Appends a row with one value per column, in column order.
    public mutating func append(_ values: [PostgresParameter]) {
        ParameterEncoding.append(Int16(clamping: values.count), to: &bytes)
        for value in values {
            if case .null = value {
                ParameterEncoding.append(Int32(-1), to: &bytes)
            } else {
                ParameterEncoding.appendSized(to: &bytes) { ParameterEncoding.append(value, to: &$0) }
            }
        }
    }

    /// Appends COPY's trailer, which follows the last row.
    public mutating func end() { bytes.append(contentsOf: [0xFF, 0xFF]) }

    /// Removes the rows but keeps the allocated memory.
    public mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }
}
