import JSON
import ParseModel
import Postgres

/// Writes rows as JSON, straight from the database's bytes into the answer's.
struct RowWriter {
    let links: FileLinks
    /// Objects that were fetched to stand in place of pointers.
    let included: IncludedObjects

    /// Writes one row as an object.
    ///
    /// - Parameters:
    ///   - node: What is included below this object; nil for nothing.
    ///   - isEmbedded: Whether the object stands inside another and says of which class it is.
    ///   - extra: Members added at the end, each as `"key":value`.
    func write(
        _ result: PostgresResult, _ row: Int, _ plan: ReadPlan, node: IncludeNode?, isEmbedded: Bool = false,
        omitting hidden: Set<String> = [], extra: [[UInt8]] = [], into writer: inout JSONWriter
    ) {
        var isFirst = !isEmbedded
        if isEmbedded { writer.raw(plan.embeddedOpening) } else { writer.byte(UInt8(ascii: "{")) }
        let isWhole = node == nil && hidden.isEmpty
        for index in plan.columns.indices {
            if result.isNull(row, index) { continue }
            if !isWhole {
                let column = plan.columns[index]
                if hidden.contains(column.name) { continue }
                if let node, let child = node.children[column.name],
                    writeIncluded(result, row, index, column, child, isFirst: &isFirst, into: &writer)
                {
                    continue
                }
                if let node, node.leavesOut(column.name) { continue }
            }
            let encoding = plan.columns[index].encoding
            if case .authData = encoding {
                writeAuthData(result, row, index, plan.columns[index], isFirst: &isFirst, into: &writer)
                continue
            }
            Self.separate(&isFirst, &writer)
            writer.raw(plan.columns[index].opening)
            writeValue(result, row, index, encoding, into: &writer)
        }
        for constant in plan.constants {
            Self.separate(&isFirst, &writer)
            writer.raw(constant)
        }
        if plan.hasACL { writeACL(result, row, plan.columns.count, isFirst: &isFirst, into: &writer) }
        for member in extra {
            Self.separate(&isFirst, &writer)
            writer.raw(member)
        }
        writer.byte(UInt8(ascii: "}"))
    }

    private static func separate(_ isFirst: inout Bool, _ writer: inout JSONWriter) {
        if isFirst { isFirst = false } else { writer.byte(UInt8(ascii: ",")) }
    }

    /// Writes a value, and what closes the opening of its column.
    private func writeValue(
        _ result: PostgresResult, _ row: Int, _ index: Int, _ encoding: ReadPlan.Encoding, into writer: inout JSONWriter
    ) {
        switch encoding {
        case .text: result.withBytes(row, index) { writer.string(utf8: $0) }
        case .number: writer.number(result.double(row, index) ?? 0)
        case .boolean: writer.bool(result.bool(row, index) ?? false)
        case .json:
            // The first byte of binary jsonb is the version of its format.
            result.withBytes(row, index) { writer.raw(UnsafeRawBufferPointer(rebasing: $0.dropFirst())) }
        case .plainDate:
            writeDate(result, row, index, into: &writer)
            writer.byte(UInt8(ascii: "\""))
        case .date:
            writeDate(result, row, index, into: &writer)
            writer.raw("\"}")
        case .pointer:
            result.withBytes(row, index) { writer.string(utf8: $0) }
            writer.byte(UInt8(ascii: "}"))
        case .file:
            result.withBytes(row, index) { name in
                writer.string(utf8: name)
                writer.raw(",\"url\":")
                links.write(name, into: &writer)
                writer.byte(UInt8(ascii: "}"))
            }
        case .point:
            let point = result.point(row, index) ?? (x: 0, y: 0)
            writer.number(point.y)
            writer.raw(",\"longitude\":")
            writer.number(point.x)
            writer.byte(UInt8(ascii: "}"))
        case .polygon:
            for (position, point) in (result.polygon(row, index) ?? []).enumerated() {
                if position > 0 { writer.byte(UInt8(ascii: ",")) }
                writer.byte(UInt8(ascii: "["))
                writer.number(point.y)
                writer.byte(UInt8(ascii: ","))
                writer.number(point.x)
                writer.byte(UInt8(ascii: "]"))
            }
            writer.raw("]}")
        case .authData: writer.null()
        }
    }

    private func writeDate(_ result: PostgresResult, _ row: Int, _ index: Int, into writer: inout JSONWriter) {
        ParseDate(milliseconds: result.timestamp(row, index) ?? 0).write(into: &writer)
    }

    /// Login providers with data; when there are none the field is left out.
    private func writeAuthData(
        _ result: PostgresResult, _ row: Int, _ index: Int, _ column: ReadPlan.Column, isFirst: inout Bool,
        into writer: inout JSONWriter
    ) {
        let json = result.jsonb(row, index).flatMap { try? JSONValue(parsing: $0) }
        let providers = (json?.objectValue ?? [:]).filter { !$0.value.isNull }
        guard !providers.isEmpty else { return }
        Self.separate(&isFirst, &writer)
        writer.raw(column.key)
        writer.object(providers)
    }

    /// The ACL from its two lists: readers first, only flags that are true.
    private func writeACL(
        _ result: PostgresResult, _ row: Int, _ index: Int, isFirst: inout Bool, into writer: inout JSONWriter
    ) {
        let isOpen = (read: result.isNull(row, index), write: result.isNull(row, index + 1))
        if isOpen.read && isOpen.write { return }
        Self.separate(&isFirst, &writer)
        writer.raw("\"ACL\":{")
        let readers = isOpen.read ? [] : result.textArray(row, index) ?? []
        let writers = isOpen.write ? [] : result.textArray(row, index + 1) ?? []
        var isFirstPrincipal = true
        for reader in readers {
            Self.separate(&isFirstPrincipal, &writer)
            writer.string(reader)
            writer.raw(writers.contains(reader) ? ":{\"read\":true,\"write\":true}" : ":{\"read\":true}")
        }
        for principal in writers where !readers.contains(principal) {
            Self.separate(&isFirstPrincipal, &writer)
            writer.string(principal)
            writer.raw(":{\"write\":true}")
        }
        writer.byte(UInt8(ascii: "}"))
    }

    /// Writes a value in which objects stand in place of pointers.
    ///
    /// - Returns: Whether the column is done with; a pointer whose object is missing or unreadable disappears.
    private func writeIncluded(
        _ result: PostgresResult, _ row: Int, _ index: Int, _ column: ReadPlan.Column, _ node: IncludeNode,
        isFirst: inout Bool, into writer: inout JSONWriter
    ) -> Bool {
        switch column.encoding {
        case .pointer:
            guard let id = result.string(row, index), let found = included.find(column.target ?? "", id) else {
                return true
            }
            Self.separate(&isFirst, &writer)
            writer.raw(column.key)
            write(
                found.result, found.row, found.plan, node: node, isEmbedded: true, omitting: found.hidden,
                into: &writer)
            return true
        case .json:
            guard let bytes = result.jsonb(row, index), let json = try? JSONValue(parsing: bytes) else { return false }
            Self.separate(&isFirst, &writer)
            writer.raw(column.key)
            if !write(json, node, into: &writer) { writer.null() }
            return true
        default:
            return false
        }
    }

    /// Writes JSON with its pointers replaced; false, and nothing, for a pointer to what cannot be seen.
    private func write(_ value: JSONValue, _ node: IncludeNode, into writer: inout JSONWriter) -> Bool {
        switch value {
        case .array(let list):
            writer.byte(UInt8(ascii: "["))
            var isFirst = true
            for element in list {
                let mark = writer.bytes.count
                let wasFirst = isFirst
                Self.separate(&isFirst, &writer)
                if !write(element, node, into: &writer) {
                    writer.bytes.removeLast(writer.bytes.count - mark)
                    isFirst = wasFirst
                }
            }
            writer.byte(UInt8(ascii: "]"))
            return true
        case .object(let object):
            if let pointer = Pointer(json: value), object["__type"] == "Pointer" {
                guard let found = included.find(pointer.className, pointer.objectId) else { return false }
                write(
                    found.result, found.row, found.plan, node: node, isEmbedded: true, omitting: found.hidden,
                    into: &writer)
                return true
            }
            writer.byte(UInt8(ascii: "{"))
            var isFirst = true
            for (key, member) in object {
                let mark = writer.bytes.count
                let wasFirst = isFirst
                Self.separate(&isFirst, &writer)
                writer.string(key)
                writer.byte(UInt8(ascii: ":"))
                if let child = node.children[key] {
                    if !write(member, child, into: &writer) {
                        writer.bytes.removeLast(writer.bytes.count - mark)
                        isFirst = wasFirst
                    }
                } else {
                    writer.value(member)
                }
            }
            writer.byte(UInt8(ascii: "}"))
            return true
        default:
            writer.value(value)
            return true
        }
    }
}
