import Postgres
import Synchronization

/// Reads the rows of a statement in pieces of a few megabytes, however many and however large they are.
package struct RowCursor: Sendable {
    let statement: Statement
    /// Gives about how many bytes each row takes, in the order of the rows; nil where all rows are small.
    let sizes: Statement?

    package init(statement: Statement, sizes: Statement?) {
        self.statement = statement
        self.sizes = sizes
    }

    /// The reading position. Only one task uses it at a time, until its piece is complete.
    private final class Place: Sendable {
        private struct State {
            var done = 0
            /// How many rows are still asked for one by one.
            var single = 0
        }

        private let state = Mutex(State())

        var done: Int { state.withLock { $0.done } }
        var isSingle: Bool { state.withLock { $0.single > 0 } }

        /// Notes that rows were handed on.
        func advance(_ rows: Int) {
            state.withLock { state in
                state.done += rows
                state.single = max(0, state.single - rows)
            }
        }

        /// Asks for one row at a time for a while; false when it does already.
        func retreat() -> Bool {
            state.withLock { state in
                defer { state.single = RowCursor.mostRows }
                return state.single == 0
            }
        }
    }

    /// Bytes from which a piece takes no further row.
    private static let pieceSize = 4 * 1024 * 1024
    private static let mostRows = 1024

    /// Gives the rows, piece by piece, in the order of the table.
    ///
    /// While one is used the next one comes. What the sizes say is what lies on the disk, where values may be packed: a
    /// piece that takes more memory than a result may is asked for again, row by row.
    /// - Throws: What `use` throws; `PostgresError`.
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

    /// Gives the rows in a transaction, which a piece ends that takes too much memory.
    func visit(_ session: PostgresSession, _ use: @Sendable (PostgresResult) async throws -> Void) async throws {
        try await visit(session, Place(), use)
    }

    private func visit(
        _ session: PostgresSession, _ place: Place, _ use: @Sendable (PostgresResult) async throws -> Void
    ) async throws {
        // Names of their own: a statement that was prepared for another cursor has other columns.
        let number = UInt32.random(in: 0 ... .max)
        let cursor = try await Self.declare("roost_rows_\(number)", statement, session, after: place.done)
        var counts = PieceCounts()
        if let sizes {
            counts.cursor = try await Self.declare("roost_sizes_\(number)", sizes, session, after: place.done)
        }
        var count = try await counts.next(session, isSingle: place.isSingle)
        var piece = try await session.query("FETCH FORWARD \(count) FROM \(cursor)")
        // The last piece is the one with fewer rows than were asked for.
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

    /// Opens a cursor after the rows already read.
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
        /// The cursor of the rows' sizes; nil where all rows are small.
        var cursor: String?
        private var sizes: ArraySlice<Int64> = []

        /// The number of rows of the next piece: at least one, and no more than are small enough together.
        mutating func next(_ session: PostgresSession, isSingle: Bool) async throws -> Int {
            guard let cursor else { return isSingle ? 1 : RowCursor.mostRows }
            if sizes.isEmpty {
                let rows = try await session.query("FETCH FORWARD \(RowCursor.mostRows) FROM \(cursor)")
                sizes = (0..<rows.rowCount).map { rows.int($0, 0) ?? 0 }[...]
            }
            var count = 0
            var total: Int64 = 0
            while let size = sizes.first, count == 0 || !isSingle && total + size <= Int64(RowCursor.pieceSize) {
                total += size
                count += 1
                sizes.removeFirst()
            }
            // Behind the last size there are no rows either: the next piece ends the reading.
            return max(count, 1)
        }
    }
}
