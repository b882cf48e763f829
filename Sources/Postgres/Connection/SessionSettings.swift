/// Settings of a session, as the parameter `options` of a connection names them, for a pooler that refuses it.
struct SessionSettings {
    private(set) var values: [(name: String, value: String)] = []

    /// Reads `-c name=value`, `-cname=value` and `--name=value`; a backslash takes the next character as it is. What
    /// else the server's program takes has no meaning in a session, and is left out.
    init(_ options: String) {
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

    private static func words(in options: String) -> [String] {
        var words: [String] = []
        var word: String?
        var isEscaped = false
        for character in options {
            if isEscaped {
                word = (word ?? "") + String(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character.isWhitespace {
                if let ended = word { words.append(ended) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        if let ended = word { words.append(ended) }
        return words
    }

    /// The statement that sets them; nil for none.
    var statement: String? {
        guard !values.isEmpty else { return nil }
        let calls = values.map { "pg_catalog.set_config(\(SQL.literal($0.name)), \(SQL.literal($0.value)), false)" }
        return "SELECT " + calls.joined(separator: ", ")
    }
}
