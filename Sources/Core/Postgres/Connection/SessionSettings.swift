/// The settings in the connection parameter `options`, to be set by SQL if a pooler rejects or ignores the parameter.
package struct SessionSettings {
    package private(set) var values: [(name: String, value: String)] = []

    /// Parses `-c name=value`, `-cname=value` and `--name=value`. A backslash escapes the next character. Other options
    /// of the server program are ignored.
    package init(_ options: String) {
        var words = Self.words(in: options)[...]
        while let word = words.popFirst() {
            var setting: Substring
            if word == "-c" {
                setting = words.popFirst()?[...] ?? ""
            } else if word.hasPrefix("-c") || word.hasPrefix("--") {
                setting = word.dropFirst(2)
            } else {
                continue
            }
            guard let equals = setting.firstIndex(of: "=") else { continue }
            let name = String(setting[..<equals].replacing("-", with: "_"))
            let value = String(setting[setting.index(after: equals)...])
            values.removeAll { $0.name == name }
            values.append((name, value))
        }
    }

    /// The bytes that separate words.
    static let separators = Set(" \t\n\u{B}\u{C}\r".utf8)

    private static func words(in options: String) -> [String] {
        var words: [[UInt8]] = [[]]
        var isEscaped = false
        // The server splits bytes, not characters.
        for byte in options.utf8 {
            if !isEscaped, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if !isEscaped, separators.contains(byte) {
                words.append([])
            } else {
                words[words.count - 1].append(byte)
                isEscaped = false
            }
        }
        return words.filter { !$0.isEmpty }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// The statement that applies the settings, or nil if there are none.
    package var statement: String? {
        guard !values.isEmpty else { return nil }
        let calls = values.map { "pg_catalog.set_config(\(SQL.literal($0.name)), \(SQL.literal($0.value)), false)" }
        return "SELECT " + calls.joined(separator: ", ")
    }
}
