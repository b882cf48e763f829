import Encoding
import JSON
import ParseModel
import ParseStorage
import Postgres

/// Compares the tables with the classes, and finds ambiguous names. Runs no queries.
package struct LayoutDiagnosis {
    let facts: DatabaseFacts

    package init(facts: DatabaseFacts) { self.facts = facts }

    package var findings: [Finding] {
        let classes = facts.classes
        return classes.flatMap { tableFindings($0) + relationFindings($0) + growth($0) } + unknownTypes
            + unowned(classes)
            + similarNames(classes) + invalidIndexes
    }

    /// Finds classes with many fields to which every client may add more. Queries without `keys` get slower with each
    /// field.
    private func growth(_ schema: ClassSchema) -> [Finding] {
        let count = schema.fields.keys.count { !SystemClass.isDefaultField($0.text, of: schema.name) }
        guard count > Self.manyFields, schema.effectivePermissions.admits([], to: .addField) else { return [] }
        return [
            Finding(
                .growingClass, .warning, schema.name,
                "the class has \(count) fields, and every client may add more. Deny addField in its permissions")
        ]
    }

    private static let manyFields = 100

    private func tableFindings(_ schema: ClassSchema) -> [Finding] {
        let table = SQL.identifier(schema.name)
        guard let stored = facts.tables[schema.name] else {
            let definitions = TableLayout.columnDefinitions(of: schema)
            return [
                Finding(
                    .missingTable, .error, schema.name, "the class has no table",
                    remedy: .init(
                        words: "create an empty table for \(schema.name)",
                        statements: ["CREATE TABLE IF NOT EXISTS \(table) (\(definitions.joined(separator: ", ")))"]))
            ]
        }
        let columns = TableLayout.columns(of: schema)
        var findings: [Finding] = []
        for wanted in columns where !wanted.isKey {
            let name = wanted.name
            guard let column = stored.column(name) else {
                if isMadeAtStart(name, of: schema.name) { continue }
                findings.append(
                    Finding(
                        .missingColumn, .error, "\(schema.name).\(name)", "the field has no column",
                        remedy: .init(
                            words: "add the column \(name) to \(schema.name)",
                            statements: ["ALTER TABLE \(table) ADD COLUMN IF NOT EXISTS \(wanted.definition)"])))
                continue
            }
            if !Self.isSame(column.typeName, wanted.type) {
                findings.append(
                    Finding(
                        .columnType, .error, "\(schema.name).\(name)",
                        "the column has the type \(column.typeName), but the field needs \(wanted.type)"))
            }
        }
        let fields = Set(schema.fields.keys)
        for column in stored.columns where !fields.contains(Name(column.name)) {
            let isOurs = columns.contains { $0.name.hasSameBytes(as: column.name) }
            guard !isOurs, !column.isGenerated else { continue }
            findings.append(
                Finding(
                    .unknownColumn, .note, "\(schema.name).\(column.name)",
                    "the column of type \(column.typeName) belongs to no field, so clients can't see it"))
        }
        return findings
    }

    /// Whether Roost adds the missing column at startup: a default field or internal column of `_User`, `_Role`,
    /// `_Session` or `_Installation`.
    private func isMadeAtStart(_ column: String, of className: String) -> Bool {
        StartDiagnosis.systemClasses.contains { $0.hasSameBytes(as: className) }
            && (SystemClass.isDefaultField(column, of: className) || column.hasPrefix("_"))
    }

    private static func isSame(_ actual: String, _ wanted: String) -> Bool {
        if actual == wanted { return true }
        return wanted == "text" && (actual == "character varying" || actual.hasPrefix("character varying("))
    }

    private func relationFindings(_ schema: ClassSchema) -> [Finding] {
        schema.relations.compactMap { name, table in
            guard facts.tables[Name(table)] == nil, table.utf8.count <= 63 else { return nil }
            return Finding(
                .missingRelation, .warning, "\(schema.name).\(name)", "the relation has no table and is empty",
                remedy: .init(
                    words: "create an empty table for the relation \(schema.name).\(name)",
                    statements: JoinTable.statements(field: name, of: schema)))
        }
    }

    private var unknownTypes: [Finding] {
        (facts.rows ?? []).flatMap { row in
            (row.json["fields"]?.objectValue ?? [:]).compactMap { name, json -> Finding? in
                guard !name.hasPrefix("_"), Field(json: json) == nil else { return nil }
                return Finding(
                    .unknownType, .error, "\(row.name).\(name)",
                    "the field is of the type \(json["type"]?.text ?? "nothing"), which Parse doesn't define")
            }
        }
    }

    private func unowned(_ classes: [ClassSchema]) -> [Finding] {
        var owned: Set<Name> = ["_SCHEMA"]
        owned.formUnion(SystemClass.volatileNames)
        for schema in classes {
            owned.insert(Name(schema.name))
            for (_, join) in schema.relations {
                owned.insert(Name(join))
                if join.utf8.count > 63 { owned.insert(Name(String(decoding: join.utf8.prefix(63), as: UTF8.self))) }
            }
        }
        return facts.tables.values
            .filter { !owned.contains(Name($0.name)) && !Self.isRoosts($0.name) && !$0.isPartition }
            .sorted { Name($0.name) < Name($1.name) }
            .map { table in
                let isRelation = table.name.hasPrefix("_Join:")
                return Finding(
                    .unownedTable, .note, table.name,
                    isRelation
                        ? "orphaned relation table: its field no longer exists"
                        : "orphaned table: its class no longer exists",
                    advice: isRelation ? "DROP TABLE \(SQL.identifier(table.name))" : nil)
            }
    }

    private static func isRoosts(_ table: String) -> Bool {
        table.hasPrefix("_roost_") || table.hasPrefix("roost-")
    }

    private func similarNames(_ classes: [ClassSchema]) -> [Finding] {
        func groups(_ names: [String]) -> [[String]] {
            Dictionary(grouping: names) { $0.lowercased() }.values.filter { $0.count > 1 }
                .map { $0.sorted { Name($0) < Name($1) } }.sorted { Name($0[0]) < Name($1[0]) }
        }
        var findings = groups(classes.map(\.name)).map { names in
            Finding(
                .sameInAnyCase, .warning, names.joined(separator: ", "),
                "the class names differ only in case: tools and case-insensitive file systems mix them up")
        }
        for schema in classes {
            for names in groups(schema.fields.keys.map(\.text)) {
                findings.append(
                    Finding(
                        .sameInAnyCase, .warning, "\(schema.name): \(names.joined(separator: ", "))",
                        "the field names differ only in case: clients can easily use the wrong one"))
            }
        }
        return findings
    }

    private var invalidIndexes: [Finding] {
        facts.indexes.filter { !$0.isValid }.map { index in
            Finding(
                .invalidIndex, .warning, "\(index.table): \(index.name)",
                "the index is invalid (its build failed): it slows down writes and is never used",
                remedy: .init(
                    words: "rebuild the index \(index.name) of \(index.table)",
                    statements: ["REINDEX INDEX CONCURRENTLY \(SQL.identifier(index.name))"]))
        }
    }
}
