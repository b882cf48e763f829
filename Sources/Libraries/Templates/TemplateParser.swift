import Encoding

indirect enum TemplatePart: Sendable {
    case text(String)
    case variable(TemplateName, isEscaped: Bool)
    case section(TemplateName, [TemplatePart], isInverted: Bool)
    /// A block that templates could override if they could include others.
    case block([TemplatePart])
}

/// A name in a template: `user.name`, or `.` for the current section's value.
struct TemplateName: Sendable {
    let keys: [String]
    /// Whether the name is only looked up in the innermost section.
    let isLocal: Bool

    init(_ bytes: ArraySlice<UInt8>) {
        keys = bytes.split(separator: UInt8(ascii: ".")).map { String(decoding: $0, as: UTF8.self) }
        isLocal = bytes.first == UInt8(ascii: ".")
    }
}

/// Parses Mustache templates with variables, sections, inverted sections, comments and custom delimiters. Partials
/// render as nothing, because templates can't include others.
struct TemplateParser {
    /// The maximum nesting depth. Limited, because each level of rendering copies the values of the outer ones.
    private static let maxDepth = 50

    private var rest: ArraySlice<UInt8>
    private var depth = 0

    init(_ text: String) { rest = Array(text.utf8)[...] }

    /// Parses the whole template.
    ///
    /// - Throws: `Malformed` if the syntax is invalid or sections are nested too deeply.
    mutating func parse() throws(TextTemplate.Malformed) -> [TemplatePart] {
        // Drops an empty first line, but keeps blanks before a tag in the first line.
        let startsLine = skipLineEnd()
        return try parts(of: nil, Delimiters(open: Array("{{".utf8), close: Array("}}".utf8)), startsLine: startsLine)
    }

    private struct Delimiters {
        var open: [UInt8]
        var close: [UInt8]
    }

    /// Parses up to the end of a section or of the template. Custom delimiters apply until there.
    private mutating func parts(
        of section: ArraySlice<UInt8>?, _ outer: Delimiters, startsLine: Bool
    ) throws(TextTemplate.Malformed) -> [TemplatePart] {
        var (delimiters, startsLine) = (outer, startsLine)
        var parts: [TemplatePart] = []
        var blanks: ArraySlice<UInt8> = []
        func add(_ text: ArraySlice<UInt8>) {
            if !text.isEmpty { parts.append(.text(String(decoding: text, as: UTF8.self))) }
        }
        func addBlanks() {
            add(blanks)
            blanks = []
        }
        while !rest.isEmpty {
            if startsLine { blanks = consume { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") } }
            let text = consumeText(delimiters.open)
            if !text.isEmpty {
                addBlanks()
                add(text)
                startsLine = text.last == UInt8(ascii: "\n")
                if startsLine { continue }
            }
            guard skip(delimiters.open[...]), let kind = rest.first else { break }
            // Drops lines that contain only a tag without output.
            var tagEndsLine = false
            switch kind {
            case UInt8(ascii: "#"), UInt8(ascii: "^"), UInt8(ascii: "$"), UInt8(ascii: "<"):
                rest.removeFirst()
                let name = try consumeName(delimiters, isPath: kind == UInt8(ascii: "<"))
                let isSection = kind == UInt8(ascii: "#") || kind == UInt8(ascii: "^")
                tagEndsLine = startsLine && skipLineEnd()
                if !tagEndsLine || !isSection { addBlanks() }
                guard depth < Self.maxDepth else { throw TextTemplate.Malformed() }
                depth += 1
                let inner = try self.parts(of: name, delimiters, startsLine: tagEndsLine)
                depth -= 1
                if isSection {
                    let isInverted = kind == UInt8(ascii: "^")
                    parts.append(.section(TemplateName(name), inner, isInverted: isInverted))
                } else if kind == UInt8(ascii: "$") {
                    parts.append(.block(inner))
                }
            case UInt8(ascii: "/"):
                rest.removeFirst()
                guard try consumeName(delimiters, isPath: true) == section else { throw TextTemplate.Malformed() }
                if !(startsLine && skipLineEnd()) { addBlanks() }
                return parts
            case UInt8(ascii: "!"):
                guard let end = rest.firstRange(of: delimiters.close) else { throw TextTemplate.Malformed() }
                rest = rest[end.upperBound...]
                tagEndsLine = startsLine && skipLineEnd()
            case UInt8(ascii: "="):
                rest.removeFirst()
                delimiters = try consumeDelimiters(delimiters)
                tagEndsLine = startsLine && skipLineEnd()
            case UInt8(ascii: ">"):
                rest.removeFirst()
                _ = try consumeName(delimiters, isPath: true)
                addBlanks()
                tagEndsLine = startsLine && skipLineEnd()
            default:
                addBlanks()
                let isBraced = kind == UInt8(ascii: "{")
                let isEscaped = !isBraced && kind != UInt8(ascii: "&")
                if !isEscaped { rest.removeFirst() }
                parts.append(.variable(TemplateName(try consumeName(delimiters)), isEscaped: isEscaped))
                if isBraced, !skip([UInt8(ascii: "}")]) { throw TextTemplate.Malformed() }
            }
            startsLine = tagEndsLine
        }
        guard section == nil else { throw TextTemplate.Malformed() }
        return parts
    }

    private mutating func consume(while isWanted: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let consumed = rest.prefix(while: isWanted)
        rest = rest[consumed.endIndex...]
        return consumed
    }

    private mutating func skip(_ expected: ArraySlice<UInt8>) -> Bool {
        guard rest.starts(with: expected) else { return false }
        rest = rest.dropFirst(expected.count)
        return true
    }

    private mutating func consumeText(_ delimiter: [UInt8]) -> ArraySlice<UInt8> {
        let start = rest
        while let byte = rest.first, !rest.starts(with: delimiter) {
            rest.removeFirst()
            if byte == UInt8(ascii: "\n") { break }
        }
        return start[..<rest.startIndex]
    }

    /// Skips the rest of the line if it has only blanks, and returns whether it did.
    private mutating func skipLineEnd() -> Bool {
        if rest.isEmpty { return true }
        var end = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        if end.first == UInt8(ascii: "\r") { end.removeFirst() }
        guard end.popFirst() == UInt8(ascii: "\n") else { return false }
        rest = end
        return true
    }

    private static func isSpace(_ byte: UInt8) -> Bool { " \t\r\n".utf8.contains(byte) }

    private mutating func consumeName(
        _ delimiters: Delimiters, isPath: Bool = false
    ) throws(TextTemplate.Malformed) -> ArraySlice<UInt8> {
        _ = consume(while: Self.isSpace)
        let name = consume { byte in
            byte.isASCIIAlphanumeric || ".-_?*".utf8.contains(byte) || isPath && byte == UInt8(ascii: "/")
        }
        _ = consume(while: Self.isSpace)
        guard skip(delimiters.close[...]) else { throw TextTemplate.Malformed() }
        return name
    }

    private mutating func consumeDelimiters(_ current: Delimiters) throws(TextTemplate.Malformed) -> Delimiters {
        _ = consume(while: Self.isSpace)
        let open = Array(consume { !Self.isSpace($0) })
        _ = consume(while: Self.isSpace)
        let close = Array(consume { !Self.isSpace($0) && $0 != UInt8(ascii: "=") })
        _ = consume(while: Self.isSpace)
        guard !open.isEmpty, !close.isEmpty, skip([UInt8(ascii: "=")]), skip(current.close[...]) else {
            throw TextTemplate.Malformed()
        }
        return Delimiters(open: open, close: close)
    }
}
