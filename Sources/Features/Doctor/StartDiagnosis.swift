import JSON
import ParseModel
import ParseStorage
import Postgres
import Schema

/// Lists the main changes that Roost would make to the database at startup. Runs no queries.
struct StartDiagnosis {
    let facts: DatabaseFacts

    static let systemClasses = ["_User", "_Role", "_Session", "_Installation"]

    var findings: [Finding] {
        var made: [(subject: String, words: String)] = []
        if facts.rows == nil { made.append(("_SCHEMA", "creates the table of classes")) }
        for name in SystemClass.volatileNames {
            made += columns(of: ClassSchema(name: name.text), listed: true)
        }
        let known = Dictionary(facts.classes.map { (Name($0.name), $0) }) { first, _ in first }
        for name in Self.systemClasses {
            made += columns(of: known[name] ?? ClassSchema(name: name), listed: known[name] != nil)
        }
        let functions = Self.functionNames.filter { !facts.functions.contains($0) }
        if !functions.isEmpty {
            made.append(("functions", "creates \(functions.map(\.text).joined(separator: ", "))"))
        }
        let present = Set(facts.indexes.map { Name($0.name) })
        let indexes = DatabaseInstaller.indexes.map(Self.indexName).filter { !present.contains(Name($0)) }
        if !indexes.isEmpty { made.append(("indexes", "creates \(indexes.joined(separator: ", "))")) }
        let dated = Set(
            facts.indexes.filter { $0.isValid && $0.isWhole && $0.keys.first == "createdAt" }.map { Name($0.table) })
        let undated = facts.classes.map(\.name).filter { name in
            facts.tables[name]?.column("createdAt") != nil && !dated.contains(Name(name))
        }
        if !undated.isEmpty {
            made.append(
                (
                    "indexes by date",
                    "builds an index on createdAt without blocking writes for \(undated.joined(separator: ", "))"
                ))
        }
        return made.map { Finding(.startChange, .note, $0.subject, "Roost \($0.words) when it starts") }
    }

    private func columns(of schema: ClassSchema, listed: Bool) -> [(subject: String, words: String)] {
        guard let stored = facts.tables[schema.name] else { return [(schema.name, "creates the table")] }
        let missing = TableLayout.columns(of: schema).filter { stored.column($0.name) == nil }
        guard !missing.isEmpty else { return [] }
        return [(schema.name, "creates the columns \(missing.map(\.definition).joined(separator: ", "))")]
    }

    static let functionNames: [Name] = {
        let text = String(decoding: Schema.parseServerFunctions + Schema.functions, as: UTF8.self)
        let names = text.split(separator: "\n").compactMap { line -> Name? in
            guard line.hasPrefix("CREATE OR REPLACE FUNCTION ") else { return nil }
            let name = line.dropFirst(27).prefix { $0 != "(" }
            return Name(String(name.filter { $0 != "\"" }))
        }
        return names + ["idempotency_delete_expired_records"]
    }()

    static func indexName(_ statement: String) -> String {
        let parts = statement.split(separator: "\"", maxSplits: 2, omittingEmptySubsequences: false)
        return parts.count > 1 ? String(parts[1]) : ""
    }
}
