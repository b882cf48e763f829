import CLibpq

/// The rows returned by a statement, in PostgreSQL's binary format.
///
/// `@unchecked Sendable`: a `PGresult` never changes once received, and libpq's accessors only read it.
public final class PostgresResult: @unchecked Sendable {
    @usableFromInline let result: OpaquePointer
    /// The log for libpq's warnings about indices out of range. It must outlive the result.
    private let notices: NoticeLog
    // Set once, before the reader gets the result.
    private var reservation: RowReservation?
    private var recordSize: (@Sendable (Int) -> Void)?

    /// Takes ownership of `result`, which is cleared on deinit.
    init(_ result: OpaquePointer, notices: NoticeLog) {
        self.result = result
        self.notices = notices
    }

    deinit { PQclear(result) }

    @inlinable public var rowCount: Int { Int(PQntuples(result)) }

    /// The memory that libpq uses for the result, in bytes.
    public var size: Int { Int(PQresultMemorySize(result)) }

    /// Attaches the memory reserved for the result. Must be called before the reader gets the result.
    func own(_ reservation: RowReservation, recordSize: @escaping @Sendable (Int) -> Void) {
        self.reservation = reservation
        self.recordSize = recordSize
    }

    /// Sets the reserved memory to the result's size plus the bytes read for its rows, such as included objects.
    public func hold(with more: Int) {
        guard more > 0 else { return }
        reservation?.resize(to: size + more)
        recordSize?(size + more)
    }

    /// Releases the reserved memory before the result is freed, for callers that wait for something else next.
    public func release() { reservation?.release() }

    @inlinable public var columnCount: Int { Int(PQnfields(result)) }

    /// The number of rows in the command tag, for example of inserted, selected or copied rows, or 0 if the tag has
    /// none.
    public var affectedRows: Int { PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0 }

    /// The server's command tag, such as `INSERT 0 1` or `COMMIT`.
    var commandTag: String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }

    /// Returns a column's name, or an empty string if the index is out of range.
    public func columnName(_ column: Int) -> String {
        PQfname(result, Int32(column)).map { String(cString: $0) } ?? ""
    }

    /// Returns the OID of a column's type.
    @inlinable
    public func columnType(_ column: Int) -> UInt32 { PQftype(result, Int32(column)) }

    @inlinable
    public func isNull(_ row: Int, _ column: Int) -> Bool { PQgetisnull(result, Int32(row), Int32(column)) == 1 }

    /// Calls `body` with the bytes of a value, or with no bytes for NULL. They are valid only during the call.
    @inlinable
    public func withBytes<R>(_ row: Int, _ column: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        let length = Int(PQgetlength(result, Int32(row), Int32(column)))
        return try body(UnsafeRawBufferPointer(start: PQgetvalue(result, Int32(row), Int32(column)), count: length))
    }

    /// Calls `body` with the bytes of a value and returns true, or returns false if the value is NULL. The bytes are
    /// valid only during the call.
    @inlinable
    public func withValue(_ row: Int, _ column: Int, _ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
        // NULL has length 0, so only empty values need a third libpq call.
        let length = Int(PQgetlength(result, Int32(row), Int32(column)))
        if length == 0 && isNull(row, column) { return false }
        body(UnsafeRawBufferPointer(start: PQgetvalue(result, Int32(row), Int32(column)), count: length))
        return true
    }
}
