import Encoding

/// A document of the folder docs as an HTML page.
///
/// Supports the Markdown that these documents use: headings, paragraphs, lists, tables, fenced code, emphasis and links.
/// Leaves out pictures.
package struct DocumentPage {
    package private(set) var html: String
    private let hasDocument: (Substring) -> Bool

    /// - Parameters:
    ///   - markdown: The text of the document.
    ///   - hasDocument: Returns whether the server serves the document with a file name such as `push.md`. Relative links
    ///     to other files become plain text.
    package init(_ markdown: String, hasDocument: @escaping (Substring) -> Bool) {
        let lines = markdown.split(separator: "\n", omittingEmptySubsequences: false)
        let title = HTMLEscaping.escapeMarkup(lines.first?.drop { "# ".contains($0) } ?? "")
        html = """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
            <title>\(title) · Roost</title><link rel="icon" href="../style/icon.svg" type="image/svg+xml">
            <link rel="stylesheet" href="../style/console.css"></head><body class="document"><main>
            """
        self.hasDocument = hasDocument
        append(lines[...])
        html += "</main></body></html>\n"
    }

    /// - Parameter isItem: Whether the lines are a list item, whose first paragraph needs no element of its own.
    private mutating func append(_ text: ArraySlice<Substring>, isItem: Bool = false) {
        var lines = text
        while let line = lines.first {
            if line.isEmpty || line.hasPrefix("<!--") || line.hasPrefix("![") {
                lines.removeFirst()
            } else if line == "<picture>" {
                lines = lines.drop { $0 != "</picture>" }.dropFirst()
            } else if line.hasPrefix("```") {
                let code = lines.dropFirst().prefix { $0 != "```" }
                html += "<pre><code>\(HTMLEscaping.escapeMarkup(code.joined(separator: "\n")))</code></pre>\n"
                lines = lines.dropFirst(code.count + 2)
            } else if let heading = line.prefixMatch(of: /(#+) (.*)/) {
                let level = heading.1.count
                html += "<h\(level) id=\"\(Self.anchor(heading.2))\">\(inline(heading.2))</h\(level)>\n"
                lines.removeFirst()
            } else if line.hasPrefix("|") {
                let rows = lines.prefix { $0.hasPrefix("|") }
                append(table: rows)
                lines = lines.dropFirst(rows.count)
            } else if let marker = line.prefixMatch(of: Self.marker) {
                let isNumbered = marker.1 != nil
                html += isNumbered ? "<ol>\n" : "<ul>\n"
                while let next = lines.first?.prefixMatch(of: Self.marker), (next.1 != nil) == isNumbered {
                    let rest = lines.dropFirst().prefix { $0.isEmpty || $0.hasPrefix(" ") }
                    html += "<li>"
                    let width = next.0.count
                    append([lines[lines.startIndex].dropFirst(width)] + rest.map { $0.dropFirst(width) }, isItem: true)
                    html += "</li>\n"
                    lines = lines.dropFirst(rest.count + 1)
                }
                html += isNumbered ? "</ol>\n" : "</ul>\n"
            } else {
                let rest = lines.dropFirst().prefix { !$0.isEmpty && $0.prefixMatch(of: Self.start) == nil }
                let paragraph = inline(([line] + rest).joined(separator: "\n")[...])
                html += isItem && lines.startIndex == text.startIndex ? paragraph : "<p>\(paragraph)</p>\n"
                lines = lines.dropFirst(rest.count + 1)
            }
        }
    }

    /// The marker of a list item, with the number of a numbered one.
    private static var marker: Regex<(Substring, Substring?)> { /(?:[*-]|(\d+)\.) +/ }

    /// The start of a block that ends a paragraph.
    private static var start: Regex<Substring> { /[*-] |\d+\. |```|<!--|#+ |\|/ }

    private mutating func append(table rows: ArraySlice<Substring>) {
        html += "<table>\n"
        for (number, row) in rows.enumerated() where number != 1 {
            // A backslash keeps a bar from ending the cell.
            let cells = row.dropFirst().replacing("\\|", with: "\0").split(
                separator: "|", omittingEmptySubsequences: false)
            let element = number == 0 ? "th" : "td"
            html += "<tr>"
            for cell in cells.dropLast() {
                let text = cell.replacing("\0", with: "|")
                html += "<\(element)>\(inline(text[...].drop { $0 == " " }))</\(element)>"
            }
            html += "</tr>\n"
        }
        html += "</table>\n"
    }

    private func inline(_ text: Substring) -> String {
        var html = ""
        var rest = text
        while let next = rest.first {
            let inner = rest.dropFirst()
            if next == "`", let end = inner.firstIndex(of: "`") {
                html += "<code>\(HTMLEscaping.escapeMarkup(inner[..<end]))</code>"
                rest = inner[end...].dropFirst()
            } else if next == "[", let link = rest.prefixMatch(of: /\[([^\]]+)\]\(([^)\s]+)\)/) {
                let file = link.2.prefix { $0 != "#" }
                let isServed = file.isEmpty || link.2.hasPrefix("https://") || hasDocument(file)
                let label = inline(link.1)
                html += isServed ? "<a href=\"\(HTMLEscaping.escapeMarkup(link.2))\">\(label)</a>" : label
                rest = rest[link.range.upperBound...]
            } else if next == "<", let address = rest.prefixMatch(of: /<(https?:[^>]+)>/) {
                let url = HTMLEscaping.escapeMarkup(address.1)
                html += "<a href=\"\(url)\">\(url)</a>"
                rest = rest[address.range.upperBound...]
            } else if rest.hasPrefix("**"), let end = inner.dropFirst().firstRange(of: "**") {
                html += "<strong>\(inline(inner.dropFirst()[..<end.lowerBound]))</strong>"
                rest = rest[end.upperBound...]
            } else if next == "*", let end = inner.firstIndex(of: "*"), end > inner.startIndex {
                html += "<em>\(inline(inner[..<end]))</em>"
                rest = inner[end...].dropFirst()
            } else {
                let plain = rest.prefix(1) + inner.prefix { !"`[<*".contains($0) }
                html += HTMLEscaping.escapeMarkup(plain)
                rest = rest.dropFirst(plain.count)
            }
        }
        return html
    }

    /// The anchor that GitHub gives a heading.
    private static func anchor(_ heading: Substring) -> String {
        String(heading.lowercased().filter { $0.isLetter || $0.isNumber || "-_ ".contains($0) }).replacing(
            " ", with: "-")
    }
}
