import JSON
import ParseModel
import Postgres

/// Writes rows as JSON, directly from the database result into the response.
struct RowWriter {
    let links: FileLinks
    /// Included objects, which replace pointers.
    let included: IncludedObjects
    /// The size in bytes above which included objects are no longer written, because the response will be rejected
    /// anyway.
    var sizeLimit = Int.max
    /// A function that transforms `authData` for the caller, or nil to write it unchanged.
    var loginData: (@Sendable (JSONObject) -> JSONObject)?

    /// Writes one row as an object.
    ///
    /// - Parameters:
    ///   - node: The includes below this object, or nil for none.
    ///   - isEmbedded: Whether the object replaces a pointer, and therefore names its class.
    ///   - extra: Members added at the end, each as `"key":value`.
    func write(
        _ result: PostgresResult, _ row: Int, _ plan: ReadPlan, node: IncludeNode?, isEmbedded: Bool = false,
        omitting hidden: Set<Name> = [], extra: [[UInt8]] = [], into writer: inout JSONWriter
    ) {
        if isEmbedded { writer.raw(plan.embeddedOpening) }
        // Every member begins with a comma. Unless the object is embedded, the opening brace replaces the first one.
        let opening = writer.count
        if hidden.isEmpty && node?.isPlain ?? true {
            plan.withCells { cells, openings in
                for index in cells.indices {
                    writeColumn(result, row, index, cells[index], openings, plan, into: &writer)
                }
            }
        } else {
            writeChosen(result, row, plan, node, omitting: hidden, into: &writer)
        }
        for constant in plan.constants { writer.raw(constant) }
        if plan.hasACL { writeACL(result, row, plan.columns.count, into: &writer) }
        for member in extra {
            writer.byte(UInt8(ascii: ","))
            writer.raw(member)
        }
        if !isEmbedded {
            if writer.count > opening {
                writer.replace(at: opening, with: UInt8(ascii: "{"))
            } else {
                writer.byte(UInt8(ascii: "{"))
            }
        }
        writer.byte(UInt8(ascii: "}"))
    }

    private func writeChosen(
        _ result: PostgresResult, _ row: Int, _ plan: ReadPlan, _ node: IncludeNode?, omitting hidden: Set<Name>,
        into writer: inout JSONWriter
    ) {
        plan.withCells { cells, openings in
            for index in cells.indices {
                let encoding = cells[index].encoding
                // Names are needed only for columns that may contain pointers, or if fields are left out.
                if encoding == .pointer || encoding == .json || !hidden.isEmpty || node?.isSelective ?? false {
                    let name = plan.columns[index].name
                    if hidden.contains(name) { continue }
                    if let child = node?.children[name],
                        writeIncluded(result, row, index, plan.columns[index], child, into: &writer)
                    {
                        continue
                    }
                    if let node, node.leavesOut(name) { continue }
                }
                writeColumn(result, row, index, cells[index], openings, plan, into: &writer)
            }
        }
    }

    @inline(__always)
    private func writeColumn(
        _ result: PostgresResult, _ row: Int, _ index: Int, _ cell: ReadPlan.Cell, _ openings: ReadPlan.Openings,
        _ plan: ReadPlan, into writer: inout JSONWriter
    ) {
        if cell.encoding == .authData {
            return writeAuthData(result, row, index, plan.columns[index], into: &writer)
        }
        _ = result.withValue(row, index) { value in
            openings.write(cell, into: &writer)
            writeValue(value, result, row, index, cell.encoding, into: &writer)
        }
    }

    @inline(__always)
    private func writeValue(
        _ value: UnsafeRawBufferPointer, _ result: PostgresResult, _ row: Int, _ index: Int,
        _ encoding: ReadPlan.Encoding, into writer: inout JSONWriter
    ) {
        switch encoding {
        case .text:
            writer.escaped(utf8: value)
            writer.byte(UInt8(ascii: "\""))
        case .number: writer.number(BinaryValue(value).double(type: result.columnType(index)) ?? 0)
        case .boolean: writer.bool(value.first == 1)
        case .json:
            // The first byte of binary jsonb is its format version.
            let text = UnsafeRawBufferPointer(rebasing: value.dropFirst())
            if let renewed = links.renewed(text) { writer.raw(renewed) } else { writer.raw(text) }
        case .plainDate:
            ParseDate(milliseconds: BinaryValue(value).milliseconds ?? 0).write(into: &writer)
            writer.byte(UInt8(ascii: "\""))
        case .date:
            ParseDate(milliseconds: BinaryValue(value).milliseconds ?? 0).write(into: &writer)
            writer.raw("\"}")
        case .pointer:
            writer.escaped(utf8: value)
            writer.raw("\"}")
        case .file:
            writer.string(utf8: value)
            writer.raw(",\"url\":")
            links.write(value, into: &writer)
            writer.byte(UInt8(ascii: "}"))
        case .point:
            let point = BinaryValue(value).point ?? (x: 0, y: 0)
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
        case .exactNumber:
            let number = BinaryValue(value).double(type: result.columnType(index)) ?? 0
            guard !number.isFinite else { return writer.number(number) }
            writer.raw("{\"$numberDouble\":\"")
            writer.raw(number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity")
            writer.raw("\"}")
        }
    }

    /// Writes the login providers with data. The field is left out if no provider has data.
    private func writeAuthData(
        _ result: PostgresResult, _ row: Int, _ index: Int, _ column: ReadPlan.Column, into writer: inout JSONWriter
    ) {
        let json = result.json(row, index)
        let providers = (json?.objectValue ?? [:]).filter { !$0.value.isNull }
        guard !providers.isEmpty else { return }
        let visible = loginData?(providers) ?? providers
        guard !visible.isEmpty else { return }
        writer.raw(column.key)
        writer.object(visible)
    }

    /// The size in bytes up to which a permission list counts as short.
    private static let shortList = 512

    /// Writes the ACL: readers first, and only flags that are true. An object without permission lists has no ACL.
    private func writeACL(_ result: PostgresResult, _ row: Int, _ index: Int, into writer: inout JSONWriter) {
        let readers = result.texts(row, index)
        let writers = result.texts(row, index + 1)
        if readers == nil && writers == nil { return }
        // Unless both lists are long, a linear search is faster.
        let isLong = (readers?.size ?? 0) > Self.shortList && (writers?.size ?? 0) > Self.shortList
        let knownReaders = isLong ? readers?.set : nil
        let knownWriters = isLong ? writers?.set : nil
        func contains(_ name: UnsafeRawBufferPointer, _ list: TextList?, _ known: Set<[UInt8]>?) -> Bool {
            known?.contains(Array(name)) ?? list?.contains(name) ?? false
        }
        writer.raw(",\"ACL\":{")
        var isFirst = true
        func principal(_ name: UnsafeRawBufferPointer) {
            if isFirst { isFirst = false } else { writer.byte(UInt8(ascii: ",")) }
            writer.string(utf8: name)
        }
        readers?.visit { reader in
            principal(reader)
            writer.raw(
                contains(reader, writers, knownWriters)
                    ? ":{\"read\":true,\"write\":true}" : ":{\"read\":true}")
        }
        writers?.visit { name in
            if contains(name, readers, knownReaders) { return }
            principal(name)
            writer.raw(":{\"write\":true}")
        }
        writer.byte(UInt8(ascii: "}"))
    }

    /// Writes a value with its pointers replaced by objects.
    ///
    /// - Returns: False if the column must be written without replacements. A pointer to a missing or unreadable object
    ///   is left out. As the only value of a jsonb column it becomes null.
    private func writeIncluded(
        _ result: PostgresResult, _ row: Int, _ index: Int, _ column: ReadPlan.Column, _ node: IncludeNode,
        into writer: inout JSONWriter
    ) -> Bool {
        switch column.encoding {
        case .pointer:
            guard let id = result.string(row, index),
                let found = included.find(Pointer(className: column.target ?? "", objectId: id))
            else { return true }
            writer.raw(column.key)
            write(found, node, into: &writer)
            return true
        case .json:
            return result.withJSON(row, index) { text in
                writer.raw(column.key)
                if let pointers = PointerList.read(text) {
                    write(pointers, node, into: &writer)
                } else if let json = try? JSONValue(parsing: text) {
                    if !write(links.renewed(json), node, into: &writer) { writer.null() }
                } else {
                    writer.raw(text)
                }
            }
        default:
            return false
        }
    }

    private func write(_ found: IncludedObjects.Found, _ node: IncludeNode, into writer: inout JSONWriter) {
        guard writer.count <= sizeLimit else { return writer.null() }
        write(
            found.result, found.row, found.plan, node: node, isEmbedded: true, omitting: found.hidden, into: &writer)
    }

    private func write(_ pointers: [Pointer], _ node: IncludeNode, into writer: inout JSONWriter) {
        writer.byte(UInt8(ascii: "["))
        var isFirst = true
        for pointer in pointers {
            if writer.count > sizeLimit { break }
            guard let found = included.find(pointer) else { continue }
            Self.separate(&isFirst, &writer)
            write(found, node, into: &writer)
        }
        writer.byte(UInt8(ascii: "]"))
    }

    private static func separate(_ isFirst: inout Bool, _ writer: inout JSONWriter) {
        if isFirst { isFirst = false } else { writer.byte(UInt8(ascii: ",")) }
    }

    /// Writes JSON with its pointers replaced. Returns false and writes nothing if the value is a pointer to a missing
    /// or unreadable object.
    private func write(_ value: JSONValue, _ node: IncludeNode, into writer: inout JSONWriter) -> Bool {
        switch value {
        case .array(let list):
            writer.byte(UInt8(ascii: "["))
            var isFirst = true
            for element in list {
                let mark = writer.count
                let wasFirst = isFirst
                Self.separate(&isFirst, &writer)
                if !write(element, node, into: &writer) {
                    writer.truncate(to: mark)
                    isFirst = wasFirst
                }
            }
            writer.byte(UInt8(ascii: "]"))
            return true
        case .object(let object):
            if let pointer = Pointer(json: value), object["__type"] == "Pointer" {
                guard let found = included.find(pointer) else { return false }
                write(found, node, into: &writer)
                return true
            }
            writer.byte(UInt8(ascii: "{"))
            var isFirst = true
            for (key, member) in object {
                let mark = writer.count
                let wasFirst = isFirst
                Self.separate(&isFirst, &writer)
                writer.string(key.text)
                writer.byte(UInt8(ascii: ":"))
                if let child = node.children[key] {
                    if !write(member, child, into: &writer) {
                        writer.truncate(to: mark)
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
