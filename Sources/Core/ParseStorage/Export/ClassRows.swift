import JSON
import Postgres

/// Formats the rows of a class for an export, in the format of the REST API.
package struct ClassRows: Sendable {
    private let plan: ExportPlan
    private let writer: RowWriter

    /// Formats the rows that a plan selects, with the given URLs of files.
    package init(plan: ExportPlan, links: FileLinks) {
        self.plan = plan
        writer = RowWriter(links: links, included: IncludedObjects())
    }

    /// Appends one row, without separators.
    package func write(_ result: PostgresResult, _ row: Int, into output: inout JSONWriter) {
        let extra =
            plan.plan.hasACL ? ExactPermissions.members(result, row, plan.plan.columns.count) : []
        writer.write(result, row, plan.plan, node: nil, extra: extra, into: &output)
    }
}

/// The permission lists of a row whose ACL can't reproduce them: only one list is NULL, a list contains duplicates, or
/// the order differs.
package enum ExactPermissions {
    /// Returns both lists as JSON members, or nothing if the ACL reproduces them.
    ///
    /// - Parameter column: The index of `_rperm`, which is followed by `_wperm`.
    static func members(_ result: PostgresResult, _ row: Int, _ column: Int) -> [[UInt8]] {
        let readers = result.textArray(row, column)
        let writers = result.textArray(row, column + 1)
        guard !isExact(readers, writers) else { return [] }
        return [member("_rperm", readers), member("_wperm", writers)]
    }

    /// Whether the lists can be reproduced from the ACL.
    package static func isExact(_ readers: [String]?, _ writers: [String]?) -> Bool {
        guard let readers, let writers else { return readers == nil && writers == nil }
        if readers.count <= 1, writers.count <= 1 { return true }
        var known = Set(readers.map { Name($0) })
        guard known.count == readers.count else { return false }
        let names = Set(writers.map { Name($0) })
        guard names.count == writers.count else { return false }
        // The ACL lists readers first, so writers who are also readers must have the readers' order.
        var named = readers.filter { names.contains(Name($0)) }
        for writer in writers where known.insert(Name(writer)).inserted { named.append(writer) }
        return named.elementsEqual(writers) { $0.utf8.elementsEqual($1.utf8) }
    }

    private static func member(_ name: String, _ list: [String]?) -> [UInt8] {
        let value = list.map { JSONValue.array($0.map { .string($0) }) } ?? .null
        let object: JSONObject = [Name(name): value]
        return Array(object.serialized().dropFirst().dropLast())
    }
}
