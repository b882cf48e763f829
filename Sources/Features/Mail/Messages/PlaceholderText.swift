import Encoding
import ServerConfiguration
import Templates

/// A text with placeholders, in the syntax of one of parse-server's mail adapters.
enum PlaceholderText: Sendable {
    case mustache(TextTemplate)
    case marked([Piece])

    enum Piece: Sendable, Equatable {
        case text(String)
        /// The path of a value, for example `user.name`.
        case place([String])
    }

    /// Parses a text.
    ///
    /// - Throws: `TextTemplate.Malformed` for an invalid Mustache template.
    init(_ text: String, _ syntax: Configuration.MailTemplates.Syntax, isHTML: Bool) throws(TextTemplate.Malformed) {
        switch syntax {
        case .mustache: self = .mustache(try TextTemplate(text, isHTML ? .html : .plain))
        case .percent: self = .marked(Self.pieces(text, "%", "%"))
        case .star: self = .marked(Self.pieces(text, "*|", "|*"))
        case .dollar: self = .marked(Self.pieces(text, "${", "}"))
        }
    }

    /// Returns the placeholder `name` as templates in `syntax` write it.
    static func placeholder(_ name: String, _ syntax: Configuration.MailTemplates.Syntax) -> String {
        switch syntax {
        case .mustache: "{{\(name)}}"
        case .percent: "%\(name)%"
        case .star: "*|\(name)|*"
        case .dollar: "${\(name)}"
        }
    }

    /// Returns the text with its placeholders filled in. For HTML, the values must already be escaped.
    func render(_ values: [String: any Sendable]) -> String {
        switch self {
        case .mustache(let template): template.render(values)
        case .marked(let pieces):
            pieces.map { piece in
                switch piece {
                case .text(let text): text
                case .place(let path): Self.value(path, values)
                }
            }.joined()
        }
    }

    private static func value(_ path: [String], _ values: [String: any Sendable]) -> String {
        var value: (any Sendable)? = values
        for name in path { value = (value as? [String: any Sendable])?[name] }
        if let text = value as? String { return text }
        if let flag = value as? Bool { return flag ? "true" : "false" }
        return ""
    }

    private static let longestName = 100

    /// Splits a text at its placeholders. Incomplete placeholders are treated as text.
    static func pieces(_ text: String, _ start: String, _ end: String) -> [Piece] {
        let bytes = Array(text.utf8)
        let (start, end) = (Array(start.utf8), Array(end.utf8))
        var pieces: [Piece] = []
        var position = 0
        var plain = 0
        while position < bytes.count {
            guard bytes[position...].starts(with: start) else {
                position += 1
                continue
            }
            let nameStart = position + start.count
            let nameEnd =
                bytes[nameStart...].prefix(longestName).firstIndex { !isOfName($0) }
                ?? min(bytes.count, nameStart + longestName)
            guard nameEnd > nameStart, bytes[nameEnd...].starts(with: end) else {
                position += 1
                continue
            }
            if plain < position { pieces.append(.text(String(decoding: bytes[plain..<position], as: UTF8.self))) }
            let name = String(decoding: bytes[nameStart..<nameEnd], as: UTF8.self)
            pieces.append(.place(name.split(separator: ".").map(String.init)))
            position = nameEnd + end.count
            plain = position
        }
        if plain < bytes.count { pieces.append(.text(String(decoding: bytes[plain...], as: UTF8.self))) }
        return pieces
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
    }
}
