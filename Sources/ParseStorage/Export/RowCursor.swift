import Postgres
import Synchronization

/// Reads the rows of a statement in pieces of a few megabytes at most, however many and however large they are.
struct RowCursor: Sendable {
    let snapshot: DatabaseSnapshot
    let statement: Statement

    /// How far the reading came. Nobody else has it while a piece is under way.
    private final class Place: Sendable {
        private struct State {
            var done = 0
            var count = 16
        }

        private let state = Mutex(State())

        var done: Int { state.withLock { $0.done } }
        var count: Int { state.withLock { $0.count } }

        /// Notes that rows were handed on, and how many are asked for next.
        func advance(_ rows: Int, size: Int) {
            state.withLock { state in
                state.done += rows
                if size < RowCursor.smallPiece { state.count = min(RowCursor.mostRows, state.count * 2) }
                if size > RowCursor.largePiece { state.count = max(1, state.count / 4) }
            }
        }

        /// Asks for one row at a time from here on; false when it does already.
        func retreat() -> Bool {
            state.withLock { state in
                defer { state.count = 1 }
                return state.count > 1
            }
        }
    }

    private static let smallPiece = 512 * 1024
    private static let largePiece = 4 * 1024 * 1024
    private static let mostRows = 1024

    /// Gives the rows, piece by piece, in the order of the table.
    ///
    /// While one is used the next one comes. A piece that takes more memory than a result may is asked for again, row by
    /// row.
    /// - Throws: What `use` throws; `PostgresError`.
    func visit(_ use: @Sendable (PostgresResult) async throws -> Void) async throws {
        let place = Place()
        while true {
            do {
                return try await snapshot.read { session in try await visit(session, place, use) }
            } catch let error as PostgresError where error.kind == .tooLarge && place.retreat() {
                continue
            }
        }
    }

    private func visit(
        _ session: PostgresSession, _ place: Place, _ use: @Sendable (PostgresResult) async throws -> Void
    ) async throws {
        // A name of its own: a statement that was prepared for another cursor has other columns.
        let cursor = SQL.identifier("roost_rows_\(UInt32.random(in: 0 ... .max))")
        var declaration = statement
        declaration.sql = "DECLARE \(cursor) NO SCROLL CURSOR FOR \(statement.sql)"
        _ = try await session.query(declaration)
        if place.done > 0 { _ = try await session.query("MOVE FORWARD \(place.done) FROM \(cursor)") }
        var count = place.count
        var piece = try await session.query("FETCH FORWARD \(count) FROM \(cursor)")
        while true {
            // The last piece is the one with fewer rows than were asked for.
            guard piece.rowCount == count else { break }
            let next = place.count
            async let following = session.query("FETCH FORWARD \(next) FROM \(cursor)")
            try await use(piece)
            place.advance(piece.rowCount, size: piece.size)
            piece = try await following
            count = next
        }
        try await use(piece)
        _ = try await session.query("CLOSE \(cursor)")
    }
}
