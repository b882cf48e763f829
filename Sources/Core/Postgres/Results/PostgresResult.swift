import CLibpq

/// The rows that a statement gave, in PostgreSQL's binary form.
///
/// `@unchecked Sendable`: a `PGresult` is never changed after it was received, and libpq's readers of it only read.
public final class PostgresResult: @unchecked Sendable {
    @usableFromInline let result: OpaquePointer
    /// Receives libpq's warnings about indices out of range. Must outlive the result.
    private let notices: NoticeLog
    // Set once, before the caller of the read has the result.
    private var reservation: RowReservation?
    private var noteSize: (@Sendable (Int) -> Void)?

    /// Takes over a result and clears it in the end.
    init(_ result: OpaquePointer, notices: NoticeLog) {
        self.result = result
        self.notices = notices
    }

    deinit { PQclear(result) }

    /// How many rows there are.
    @inlinable public var rowCount: Int { Int(PQntuples(result)) }

    /// How many bytes of memory it takes.
    public var size: Int { Int(PQresultMemorySize(result)) }

    /// Gives the result the memory that was reserved for it. The caller of the read does not have it yet.
    func own(_ reservation: RowReservation, noteSize: @escaping @Sendable (Int) -> Void) {
        self.reservation = reservation
        self.noteSize = noteSize
    }

    /// Counts what was read besides for these rows, in bytes: it is kept as long as they are.
    public func hold(with more: Int) {
        guard more > 0 else { return }
        reservation?.resize(to: size + more)
        noteSize?(size + more)
    }

    /// Lets others have the memory of the rows, before they are gone. It is for callers that wait for something else
    /// next.
    public func release() { reservation?.release() }

    /// How many columns there are.
    @inlinable public var columnCount: Int { Int(PQnfields(result)) }

    /// How many rows an INSERT, UPDATE, DELETE or SELECT touched.
    public var affectedRows: Int { PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0 }

    /// What the server says that it did: `INSERT 0 1`, `COMMIT`…
    var commandTag: String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }

    /// A column's name; empty for a column that there is not.
    public func columnName(_ column: Int) -> String {
        PQfname(result, Int32(column)).map { String(cString: $0) } ?? ""
    }

    /// The object id of a column's type.
    @inlinable
    public func columnType(_ column: Int) -> UInt32 { PQftype(result, Int32(column)) }

    /// Whether a value is NULL.
    @inlinable
    public func isNull(_ row: Int, _ column: Int) -> Bool { PQgetisnull(result, Int32(row), Int32(column)) == 1 }

    /// Gives `body` the bytes of a value as the server sent them; none for NULL. They are valid only during the call.
    @inlinable
    public func withBytes<R>(_ row: Int, _ column: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        let length = Int(PQgetlength(result, Int32(row), Int32(column)))
        return try body(UnsafeRawBufferPointer(start: PQgetvalue(result, Int32(row), Int32(column)), count: length))
    }

    /// Gives `body` the bytes of a value as the server sent them, if it is not NULL. They are valid only during the
    /// call.
    ///
    /// - Returns: Whether there was a value.
    @inlinable
    public func withValue(_ row: Int, _ column: Int, _ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
        // The length of NULL is zero; only then libpq has to be asked a third time.
        let length = Int(PQgetlength(result, Int32(row), Int32(column)))
        if length == 0 && isNull(row, column) { return false }
        body(UnsafeRawBufferPointer(start: PQgetvalue(result, Int32(row), Int32(column)), count: length))
        return true
    }
}
