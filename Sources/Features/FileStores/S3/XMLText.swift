import Encoding

/// Reads the elements of S3 responses by name. Ignores attributes, and resolves only character references and the
/// entities predefined in XML.
package struct XMLText {
    private let text: Substring

    package init(_ bytes: [UInt8]) { text = String(decoding: bytes, as: UTF8.self)[...] }

    private init(_ text: Substring) { self.text = text }

    /// Returns the elements with the given name, in order.
    package func elements(_ name: String) -> [XMLText] {
        var result: [XMLText] = []
        var rest = text.utf8[...]
        let (start, end) = (Array("<\(name)".utf8), Array("</\(name)>".utf8))
        while let opening = rest.firstRange(of: start) {
            rest = rest[opening.upperBound...]
            guard let next = rest.first else { break }
            // The name of another element may begin with this name.
            guard next == UInt8(ascii: ">") || next <= UInt8(ascii: " ") || next == UInt8(ascii: "/") else { continue }
            guard let bracket = rest.firstIndex(of: UInt8(ascii: ">")) else { break }
            let isEmpty = rest[..<bracket].last == UInt8(ascii: "/")
            rest = rest[rest.index(after: bracket)...]
            if isEmpty {
                result.append(XMLText(""))
                continue
            }
            guard let closing = rest.firstRange(of: end) else { break }
            result.append(XMLText(text[rest.startIndex..<closing.lowerBound]))
            rest = rest[closing.upperBound...]
        }
        return result
    }

    /// The text of the first element with the given name, or nil if it doesn't exist.
    subscript(name: String) -> String? { elements(name).first?.plain }

    private var plain: String {
        guard text.utf8.contains(UInt8(ascii: "&")) else { return String(text) }
        var result = ""
        for (index, part) in text.split(separator: "&", omittingEmptySubsequences: false).enumerated() {
            guard index > 0, let end = part.firstIndex(of: ";") else {
                result += (index > 0 ? "&" : "") + part
                continue
            }
            result += Self.character(part[..<end]) ?? "&\(part[..<end]);"
            result += part[part.index(after: end)...]
        }
        return result
    }

    private static func character(_ entity: Substring) -> String? {
        switch entity {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default:
            guard entity.hasPrefix("#") else { return nil }
            let digits = entity.dropFirst()
            let code = digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
            return code.flatMap { Unicode.Scalar($0) }.map { String(Character($0)) }
        }
    }
}
