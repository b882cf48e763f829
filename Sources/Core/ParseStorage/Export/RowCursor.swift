import Postgres
import Synchronization

/// Reads any number of rows of any size in pieces of a few megabytes.
package struct RowCursor: Sendable {
    let statement: Statement
    /// The query for the approximate size of each row in bytes, in the order of the rows, or nil if all rows are small.
    let sizes: Statement?

    package init(statement: Statement, sizes: Statement?) {
        self.statement = statement
        self.sizes = sizes
    }

    /// The reading position. Only one task uses it at a time.
    private final class Place: Sendable {
        private struct State {
            var done = 0
            /// The number of rows still to be read one by one.
            var single = 0
        }

        private let state = Mutex(State())

        var done: Int { state.withLock { $0.done } }
        var isSingle: Bool { state.withLock { $0.single > 0 } }

        func advance(_ rows: Int) {
            state.withLock { state in
                state.done += rows
                state.single = max(0, state.single - rows)
            }
        }

        /// Switches to reading rows one by one for a while. Returns false if that is already the case.
        func retreat() -> Bool {
            state.withLock { state in
                defer { state.single = RowCursor.maxRows }
                return state.single == 0
            }
        }
    }

    /// The maximum size of a piece in bytes, unless it is a single row.
    private static let pieceSize = 4 * 1024 * 1024
    private static let maxRows = 1024

    /// Passes the rows to `use` in pieces, in the order of the statement.
    ///
    /// Fetches the next piece while `use` processes the current one. The sizes are storage sizes, and stored values may
    /// be compressed: if a piece exceeds the memory limit for results, it is read again row by row.
    ///
    /// - Throws: `PostgresError`, or an error of `use`.
    package func visit(_ snapshot: DatabaseSnapshot, _ use: @Sendable (PostgresResult) async throws -> Void)
        async throws
    {
        let place = Place()
        while true {
            do {
                return try await snapshot.read { session in try await visit(session, place, use) }
            } catch let error as PostgresError where error.kind == .tooLarge && place.retreat() {
                continue
            }
        }
    }

    /// Passes the rows to `use` in pieces, within a transaction. Throws `PostgresError` if a piece exceeds the memory
    /// limit.
    func visit(_ session: PostgresSession, _ use: @Sendable (PostgresResult) async throws -> Void) async throws {
        try await visit(session, Place(), use)
    }

    private func visit(
        _ session: PostgresSession, _ place: Place, _ use: @Sendable (PostgresResult) async throws -> Void
    ) async throws {
        // Unique cursor names prevent the reuse of a statement that was prepared for another cursor with other columns.
        let number = UInt32.random(in: 0 ... .max)
        let cursor = try await Self.declare("roost_rows_\(number)", statement, session, after: place.done)
        var counts = PieceCounts()
        if let sizes {
            counts.cursor = try await Self.declare("roost_sizes_\(number)", sizes, session, after: place.done)
        }
        var count = try await counts.next(session, isSingle: place.isSingle)
        var piece = try await session.query("FETCH FORWARD \(count) FROM \(cursor)")
        // The last piece has fewer rows than requested.
        while piece.rowCount == count {
            let next = try await counts.next(session, isSingle: place.isSingle)
            async let following = session.query("FETCH FORWARD \(next) FROM \(cursor)")
            try await use(piece)
            place.advance(piece.rowCount)
            piece = try await following
            count = next
        }
        try await use(piece)
        _ = try await session.query("CLOSE \(cursor)")
    }

    /// Opens a cursor and skips the rows already read.
    private static func declare(
        _ name: String, _ statement: Statement, _ session: PostgresSession, after done: Int
    ) async throws -> String {
        let cursor = SQL.identifier(name)
        var declaration = statement
        declaration.sql = "DECLARE \(cursor) NO SCROLL CURSOR FOR \(statement.sql)"
        _ = try await session.query(declaration)
        if done > 0 { _ = try await session.query("MOVE FORWARD \(done) FROM \(cursor)") }
        return cursor
    }

    private struct PieceCounts {
        /// The cursor of row sizes, or nil if all rows are small.
        var cursor: String?
        private var sizes: ArraySlice<Int64> = []

        /// Returns the number of rows for the next piece, at least 1.
        mutating func next(_ session: PostgresSession, isSingle: Bool) async throws -> Int {
            guard let cursor else { return isSingle ? 1 : RowCursor.maxRows }
            if sizes.isEmpty {
                let rows = try await session.query("FETCH FORWARD \(RowCursor.maxRows) FROM \(cursor)")
                sizes = (0..<rows.rowCount).map { rows.int($0, 0) ?? 0 }[...]
            }
            var count = 0
            var total: Int64 = 0
            while let size = sizes.first, count == 0 || !isSingle && total + size <= Int64(RowCursor.pieceSize) {
                total += size
                count += 1
                sizes.removeFirst()
            }
            // After the last size no rows are left, so the next piece is empty and ends the loop.
            return max(count, 1)
        }
    }
}
