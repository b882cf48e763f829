import Foundation
import ServerConfiguration
import TestTools
import Testing

/// Checks that the tables of docs/configuration.md match the options.
///
/// Each table is enclosed by two comments. `scripts/document_options.sh` writes the tables.
@Suite("Documentation of options") struct OptionDocumentTests {
    private static let path = Checkout.path("docs/configuration.md")

    @Test("docs/configuration.md matches the options (scripts/document_options.sh updates it)")
    func tables() throws {
        for (title, options) in OptionTable.sections {
            for option in options {
                let own = option.support == .built ? nil : option.support == .notBuilt ? "Not built" : "Without effect"
                #expect(own == (["Not built", "Without effect"].contains(title) ? title : nil), "\(option.name)")
            }
        }
        let text = try String(contentsOfFile: Self.path, encoding: .utf8)
        let current = try Self.completed(text)
        if ProcessInfo.processInfo.environment["ROOST_WRITE_DOCUMENTS"] == "1" {
            try current.write(toFile: Self.path, atomically: true, encoding: .utf8)
            return
        }
        let lines = zip(text.split(separator: "\n"), current.split(separator: "\n"))
        for (found, expected) in lines where found != expected {
            Issue.record("docs/configuration.md has\n\(found)\nin place of\n\(expected)")
            return
        }
        #expect(text == current)
    }

    /// The document with up-to-date tables.
    private static func completed(_ text: String) throws -> String {
        var tables = Dictionary(uniqueKeysWithValues: OptionTable.sections.map { ($0.title, table($0.options)) })
        tables["Defaults by preset"] = presets
        tables["Variables of members"] = memberVariables
        var result: [Substring] = []
        var isInTable = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line == "<!-- end -->" { isInTable = false }
            if !isInTable { result.append(line) }
            guard line.hasPrefix("<!-- options: "), line.hasSuffix(" -->") else { continue }
            let title = String(line.dropFirst("<!-- options: ".count).dropLast(" -->".count))
            let table = tables.removeValue(forKey: title)
            result += try #require(table, "no table \(title)").map { $0[...] }
            isInTable = true
        }
        #expect(tables.isEmpty, "the document lacks \(tables.keys)")
        return result.joined(separator: "\n")
    }

    private static func table(_ options: [OptionDefinition]) -> [String] {
        ["| Option | Environment variable | Type | Meaning |", "|---|---|---|---|"]
            + options.map { option in
                let keys = option.members.filter { $0.support == .built }.map { "`\($0.name)`" }
                let isFree = option.kind != .object || keys.isEmpty
                let meaning = option.help + (isFree ? "" : ". Keys: \(keys.joined(separator: ", "))")
                let cells = ["`\(option.name)`", "`\(option.environment)`", option.kind.rawValue, meaning]
                return "| \(cells.joined(separator: " | ")) |"
            }
    }

    private static var presets: [String] {
        func rows(_ option: OptionDefinition, _ path: String) -> [String] {
            let inner = option.members.flatMap { rows($0, "\(path).\($0.name)") }
            let words = option.defaults.map { $0 ?? "none" }
            guard Set(words).count > 1 else { return inner }
            return ["| `\(path)` | \(words.joined(separator: " | ")) |"] + inner
        }
        return ["| Option | 4 | 5 | 6 | 7 | 8 | 9 |", "|---|---|---|---|---|---|---|"]
            + OptionTable.all.flatMap { rows($0, $0.name) }
    }

    private static var memberVariables: [String] {
        ["| Object | Its variables begin with | Needed |", "|---|---|---|"]
            + MemberVariables.all.sorted { $0.path.lexicographicallyPrecedes($1.path) }.map { variables in
                let needed = variables.form.needed.sorted().map { " `\($0)`" }.joined(separator: ",")
                return "| `\(variables.path.joined(separator: "."))` | `\(variables.form.prefix)_` |\(needed) |"
            }
    }
}
