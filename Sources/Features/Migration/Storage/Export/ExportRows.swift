import JSON
import ParseStorage
import Postgres

/// Formats the rows of one table for an export.
protocol ExportRows: Sendable {
    /// Appends one row, without separators.
    func write(_ result: PostgresResult, _ row: Int, into writer: inout JSONWriter)
}

extension ClassRows: ExportRows {}

/// Formats the rows of a relation as pairs of ids.
struct RelationRows: ExportRows {
    func write(_ result: PostgresResult, _ row: Int, into writer: inout JSONWriter) {
        writer.raw("{\"owningId\":")
        result.withBytes(row, 0) { writer.string(utf8: $0) }
        writer.raw(",\"relatedId\":")
        result.withBytes(row, 1) { writer.string(utf8: $0) }
        writer.byte(UInt8(ascii: "}"))
    }
}
