import JSON
import Postgres

/// Writes the rows of one table as an export has them.
protocol ExportRows: Sendable {
    /// Appends one row, without anything before or after it.
    func write(_ result: PostgresResult, _ row: Int, into writer: inout JSONWriter)
}

/// Rows of a class in REST form.
struct ClassRows: ExportRows {
    let plan: ExportPlan
    let writer: RowWriter

    func write(_ result: PostgresResult, _ row: Int, into output: inout JSONWriter) {
        let extra =
            plan.plan.hasACL ? ExactPermissions.members(result, row, plan.plan.columns.count) : []
        writer.write(result, row, plan.plan, node: nil, extra: extra, into: &output)
    }
}

/// Rows of a relation: pairs of ids.
struct RelationRows: ExportRows {
    func write(_ result: PostgresResult, _ row: Int, into writer: inout JSONWriter) {
        writer.raw("{\"owningId\":")
        result.withBytes(row, 0) { writer.string(utf8: $0) }
        writer.raw(",\"relatedId\":")
        result.withBytes(row, 1) { writer.string(utf8: $0) }
        writer.byte(UInt8(ascii: "}"))
    }
}
