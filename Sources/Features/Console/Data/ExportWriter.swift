import Encoding
import HTTP
import JSON
internal import Operations
internal import ParseStorage
import Rules

/// Formats exported objects as JSON, newline-delimited JSON or CSV.
struct ExportWriter: Sendable {
    enum Format: String, Sendable {
        case csv, json, ndjson

        var contentType: String {
            switch self {
            case .csv: "text/csv; charset=utf-8"
            case .json: "application/json; charset=utf-8"
            case .ndjson: "application/x-ndjson; charset=utf-8"
            }
        }
    }

    let format: Format
    /// Whether CSV output begins with a byte order mark and spreadsheets can't read its cells as formulas.
    let isGuarded: Bool
    let columns: [Name]

    /// The text before the objects. Spreadsheets detect UTF-8 by the byte order mark.
    var head: [UInt8] {
        switch format {
        case .csv: Array((isGuarded ? "\u{FEFF}" : "").utf8) + line(columns.map { .string($0.text) })
        case .json: Array("{\"results\":[\n".utf8)
        case .ndjson: []
        }
    }

    /// The text after the objects.
    var tail: [UInt8] { format == .json ? Array("\n]}\n".utf8) : [] }

    /// Returns the text of some objects.
    ///
    /// - Parameter isFirst: Whether these are the first objects of the file.
    func text(of found: ObjectStore.Found, isFirst: Bool) throws -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(found.writtenSize)
        for row in 0..<found.rowCount {
            var writer = JSONWriter(capacity: 512)
            try found.write(row, into: &writer)
            let bytes = writer.finish()
            if format == .json, !(isFirst && row == 0) { text.append(contentsOf: ",\n".utf8) }
            if format != .csv {
                text.append(contentsOf: bytes)
            } else {
                guard let object = (try? JSONValue(parsing: bytes, maximumDepth: 1_000))?.objectValue else {
                    throw HTTPError(status: 500, message: "An object could not be read.")
                }
                text.append(contentsOf: line(columns.map { object[$0] ?? .null }))
            }
            if format == .ndjson { text.append(UInt8(ascii: "\n")) }
        }
        return text
    }

    // MARK: Tables

    private func line(_ values: [JSONValue]) -> [UInt8] {
        var line: [UInt8] = []
        for (index, value) in values.enumerated() {
            if index > 0 { line.append(UInt8(ascii: ",")) }
            append(value, to: &line)
        }
        line.append(contentsOf: "\r\n".utf8)
        return line
    }

    /// Appends a cell. Quotes empty texts and those with quotes, line breaks, common CSV separators or outer spaces.
    /// Disarms formulas if `isGuarded`.
    private func append(_ value: JSONValue, to line: inout [UInt8]) {
        guard var cell = Self.cell(value) else { return }
        if isGuarded, value.numberValue == nil, Self.beginsFormula(cell) { cell = "'" + cell }
        let isBare =
            !cell.isEmpty && cell.utf8.first != UInt8(ascii: " ") && cell.utf8.last != UInt8(ascii: " ")
            && !cell.utf8.contains { "\",;|\t\r\n".utf8.contains($0) }
        guard !isBare else { return line.append(contentsOf: cell.utf8) }
        line.append(UInt8(ascii: "\""))
        for byte in cell.utf8 {
            if byte == UInt8(ascii: "\"") { line.append(byte) }
            line.append(byte)
        }
        line.append(UInt8(ascii: "\""))
    }

    /// Returns a value's text as the data grid copies it, or nil for an empty cell: null or a relation.
    private static func cell(_ value: JSONValue) -> String? {
        guard case .object(let object) = value else {
            if value.isNull { return nil }
            return value.stringValue ?? String(decoding: value.serialized(), as: UTF8.self)
        }
        switch object["__type"]?.stringValue {
        case "Date": if let text = object["iso"]?.stringValue { return text }
        case "Pointer": if let text = object["objectId"]?.stringValue { return text }
        case "File": if let text = object["name"]?.stringValue { return text }
        case "Bytes": if let text = object["base64"]?.stringValue { return text }
        case "Relation": return nil
        case "GeoPoint":
            if let latitude = object["latitude"], let longitude = object["longitude"] {
                return "\(latitude.text), \(longitude.text)"
            }
        default: break
        }
        return String(decoding: value.serialized(), as: UTF8.self)
    }

    /// Returns whether a spreadsheet could interpret the text as a formula. Leading apostrophes are skipped, so that an
    /// import that removes one restores every text.
    static func beginsFormula(_ text: String) -> Bool {
        // Compares scalars: a combining mark after a sign makes another character, but still begins a formula.
        guard let first = text.unicodeScalars.first(where: { $0 != "'" }) else { return false }
        return "=+-@\t\r\n\u{FF1D}\u{FF0B}\u{FF0D}\u{FF20}".unicodeScalars.contains(first)
    }
}
