import JSON
import ParseModel
import Postgres

extension FilterCompiler {
    /// Like ``candidates(_:_:)``, but for a condition with an inner query, which Citus supports only in a join of
    /// tables.
    mutating func candidates(_ place: JSONPlace, inQueryOf outer: ClassSchema, _ condition: String) -> String {
        guard outer.distributedBy != nil, document == nil else { return candidates(place, condition) }
        return "\"objectId\" IN (SELECT _whole.\"objectId\" FROM \(SQL.identifier(outer.name)) AS _whole, "
            + "LATERAL \(elements(of: place)) WHERE \(condition))"
    }
}

/// The distribution values of objects, by which Citus routes a statement to a single server and locks rows there.
extension ClassSchema {
    /// Returns the distribution values of objects by object id. These values never change.
    private func fieldValues(of ids: [String], by field: Name, in store: ObjectStore) async throws -> [Name: String] {
        let rows = try await store.query(
            "SELECT \"objectId\", \(SQL.identifier(field.text)) FROM \(SQL.identifier(name)) "
                + "WHERE \"objectId\" = ANY($1)", [.textArray(ids)], readOnly: true)
        var values: [Name: String] = [:]
        for row in 0..<rows.rowCount {
            if let id = rows.string(row, 0) { values[Name(id)] = rows.string(row, 1) }
        }
        return values
    }

    /// Returns the condition that routes a statement to the object's server, or nil if the object or value is missing.
    ///
    /// - Parameter write: If it sets the distribution field to its current value, that operation is removed.
    func placeCondition(
        _ objectId: String, by field: Name, _ write: inout ObjectWrite, _ compiler: inout WriteCompiler,
        in store: ObjectStore
    ) async throws -> String? {
        guard let value = try await fieldValues(of: [objectId], by: field, in: store)[Name(objectId)] else {
            return nil
        }
        if case .set(let new)? = write.operations[field], let type = type(of: field.text),
            case .text(let text) = try ValueEncoder.encode(new, type, field: field.text), Name(text) == Name(value)
        {
            write.operations[field] = nil
        }
        return Self.placeCondition(field, value, &compiler)
    }

    private static func placeCondition(_ field: Name, _ value: String, _ compiler: inout WriteCompiler) -> String {
        "\(SQL.identifier(field.text)) = \(compiler.builder.bind(.text(value)))"
    }

    /// Returns one statement per object that locks it, in the order of the ids, or nil if one statement can lock them
    /// all. Missing objects may get no statement. Citus can't lock rows on several servers with one statement.
    func separateLocks(_ rows: [ObjectStore.LockedRow], in store: ObjectStore) async throws -> [Statement]? {
        guard distributedBy != nil else { return nil }
        var statements: [Statement] = []
        var values: [Name: String] = [:]
        if let placingField {
            values = try await fieldValues(of: rows.map(\.objectId), by: placingField, in: store)
        }
        for row in rows.sorted(by: { Name($0.objectId) < Name($1.objectId) }) {
            var compiler = WriteCompiler(schema: self)
            var conditions = [try ObjectStore.condition(row.access, self, &compiler)]
            if let placingField {
                guard let value = values[Name(row.objectId)] else { continue }
                conditions.append(Self.placeCondition(placingField, value, &compiler))
            }
            statements.append(
                Statement(
                    "SELECT 1 FROM \(SQL.identifier(name)) WHERE \"objectId\" = "
                        + "\(compiler.builder.bind(.text(row.objectId))) AND \(conditions.joined(separator: " AND ")) "
                        + "FOR UPDATE",
                    compiler.builder.parameters))
        }
        return statements
    }
}
