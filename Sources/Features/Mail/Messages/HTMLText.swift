/// Converts HTML to plain text, for mail programs that don't show HTML.
enum HTMLText {
    /// Returns the text of HTML, with line breaks between paragraphs and link addresses after the link text.
    static func plain(_ html: String) -> String {
        var reader = Reader(bytes: Array(html.utf8))
        reader.read()
        return reader.text
    }

    private struct Reader {
        let bytes: [UInt8]
        private var position = 0
        private var lines: [[UInt8]] = [[]]
        private var isAfterSpace = true
        /// The open link's address, and the position where its text begins.
        private var link: (address: String, line: Int, column: Int)?

        init(bytes: [UInt8]) { self.bytes = bytes }

        mutating func read() {
            while position < bytes.count {
                switch bytes[position] {
                case UInt8(ascii: "<"): readTag()
                case UInt8(ascii: "&"): readReference()
                case 0x09, 0x0A, 0x0C, 0x0D, 0x20:
                    space()
                    position += 1
                default:
                    add([bytes[position]])
                    position += 1
                }
            }
        }

        /// The text without consecutive empty lines.
        var text: String {
            var result: [String] = []
            for line in lines {
                let text = String(decoding: line.reversed().drop { $0 == 0x20 }.reversed(), as: UTF8.self)
                if text.isEmpty, result.last?.isEmpty ?? true { continue }
                result.append(text)
            }
            while result.last?.isEmpty == true { result.removeLast() }
            return result.joined(separator: "\n") + "\n"
        }

        private mutating func add(_ more: [UInt8]) {
            lines[lines.count - 1] += more
            isAfterSpace = false
        }

        private mutating func space() {
            if !isAfterSpace { lines[lines.count - 1].append(0x20) }
            isAfterSpace = true
        }

        private mutating func newLine() {
            lines.append([])
            isAfterSpace = true
        }

        private mutating func readTag() {
            let rest = bytes[position...]
            if rest.starts(with: "<!--".utf8) {
                position = rest.firstRange(of: "-->".utf8)?.upperBound ?? bytes.count
                return
            }
            guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else {
                position = bytes.count
                return
            }
            let tag = String(decoding: bytes[(position + 1)..<end], as: UTF8.self)
            position = end + 1
            let name = tag.prefix { !$0.isWhitespace }.lowercased()
            switch name {
            case "style", "script", "head", "title", "template":
                skip(to: name)
            case "br", "br/", "/li", "/tr", "/option": newLine()
            case "/td", "/th": space()
            case "li":
                newLine()
                add(Array("- ".utf8))
                isAfterSpace = true
            case "a": link = Self.address(tag).map { ($0, lines.count, lines[lines.count - 1].count) }
            case "/a": closeLink()
            case "p", "/p", "div", "/div", "h1", "/h1", "h2", "/h2", "h3", "/h3", "h4", "/h4", "table", "/table", "ul",
                "/ul", "ol", "/ol", "hr", "hr/", "blockquote", "/blockquote", "section", "/section", "header",
                "/header",
                "footer", "/footer":
                newLine()
                if name != "div", name != "/div" { newLine() }
            default: break
            }
        }

        private mutating func skip(to name: String) {
            let end = Array("</\(name)".utf8)
            while position < bytes.count {
                if bytes[position] == UInt8(ascii: "<"),
                    bytes[position...].prefix(end.count).map({ $0 | 0x20 }) == end.map({ $0 | 0x20 })
                {
                    position = bytes[position...].firstIndex(of: UInt8(ascii: ">")).map { $0 + 1 } ?? bytes.count
                    return
                }
                position += 1
            }
        }

        private mutating func closeLink() {
            guard let (address, line, column) = link else { return }
            link = nil
            let words = line == lines.count ? Array(lines[line - 1].dropFirst(column)) : []
            guard !String(decoding: words, as: UTF8.self).utf8.elementsEqual(address.utf8) else { return }
            space()
            // On its own line, so that mail programs don't include the following text in the link.
            if !lines[lines.count - 1].isEmpty { newLine() }
            add(Array(address.utf8))
            newLine()
        }

        private static func address(_ tag: String) -> String? {
            guard let start = tag.utf8.firstRange(of: "href=".utf8)?.upperBound else { return nil }
            let rest = tag.utf8[start...]
            guard let quote = rest.first else { return nil }
            let value =
                quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'")
                ? rest.dropFirst().prefix { $0 != quote } : rest.prefix { $0 > 0x20 }
            let address = HTMLText.decoded(String(decoding: value, as: UTF8.self))
            return address.isEmpty || address.hasPrefix("#") ? nil : address
        }

        private mutating func readReference() {
            guard let (character, length) = HTMLText.reference(bytes[position...]) else {
                add([bytes[position]])
                position += 1
                return
            }
            position += length
            if character == "\u{A0}" { space() } else { add(Array(String(character).utf8)) }
        }
    }

    /// Returns a text with its character references decoded.
    static func decoded(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        var position = 0
        while position < bytes.count {
            if bytes[position] == UInt8(ascii: "&"), let (character, length) = reference(bytes[position...]) {
                result += Array(String(character).utf8)
                position += length
            } else {
                result.append(bytes[position])
                position += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Returns the character and the length in bytes of a leading reference, or nil if it is unknown or invalid.
    private static func reference(_ bytes: ArraySlice<UInt8>) -> (Unicode.Scalar, Int)? {
        guard let end = bytes.prefix(12).firstIndex(of: UInt8(ascii: ";")) else { return nil }
        let name = String(decoding: bytes[(bytes.startIndex + 1)..<end], as: UTF8.self)
        let length = end - bytes.startIndex + 1
        let number: UInt32?
        if name.hasPrefix("#x") || name.hasPrefix("#X") {
            number = UInt32(name.dropFirst(2), radix: 16)
        } else if name.hasPrefix("#") {
            number = UInt32(name.dropFirst())
        } else {
            number = names[name]?.value
        }
        guard let scalar = number.flatMap({ Unicode.Scalar($0) }), scalar.value >= 0x20 else { return nil }
        return (scalar, length)
    }

    private static let names: [String: Unicode.Scalar] = [
        "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": "\u{A0}", "auml": "ä", "ouml": "ö",
        "uuml": "ü", "Auml": "Ä", "Ouml": "Ö", "Uuml": "Ü", "szlig": "ß", "eacute": "é", "egrave": "è", "agrave": "à",
        "ccedil": "ç", "ntilde": "ñ", "ndash": "–", "mdash": "—", "hellip": "…", "copy": "©", "middot": "·",
    ]
}
