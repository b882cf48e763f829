import JSON
import ParseModel
import Postgres

/// Finds the distribution values of objects, so that Citus can route a statement to a single server and lock rows
/// there.
struct DistributedObjects {
    let store: ObjectStore

    /// Returns the distribution values of objects by object id. These values never change.
    private func fieldValues(of ids: [String], by field: Name, _ schema: ClassSchema) async throws -> [Name: String] {
        let rows = try await store.query(
            "SELECT \"objectId\", \(SQLBuilder.quote(field.text)) FROM \(SQLBuilder.quote(schema.name)) "
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
    func condition(
        _ objectId: String, by field: Name, _ schema: ClassSchema, _ write: inout ObjectWrite,
        _ compiler: inout WriteCompiler
    ) async throws -> String? {
        guard let value = try await fieldValues(of: [objectId], by: field, schema)[Name(objectId)] else { return nil }
        if case .set(let new)? = write.operations[field], let type = schema.type(of: field.text),
            case .text(let text) = try ValueEncoder.encode(new, type, field: field.text), Name(text) == Name(value)
        {
            write.operations[field] = nil
        }
        return Self.condition(field, value, &compiler)
    }

    private static func condition(_ field: Name, _ value: String, _ compiler: inout WriteCompiler) -> String {
        "\(SQLBuilder.quote(field.text)) = \(compiler.builder.bind(.text(value)))"
    }

    /// Returns one statement per object that locks it, in the order of the ids. Objects that don't exist may have none.
    /// Citus can't lock rows on several servers with one statement.
    func locks(_ rows: [ObjectStore.LockedRow], _ schema: ClassSchema) async throws -> [Statement] {
        var statements: [Statement] = []
        var values: [Name: String] = [:]
        if let field = schema.placingField {
            values = try await fieldValues(of: rows.map(\.objectId), by: field, schema)
        }
        for row in rows.sorted(by: { Name($0.objectId) < Name($1.objectId) }) {
            var compiler = WriteCompiler(schema: schema)
            var conditions = [try ObjectStore.condition(row.access, schema, &compiler)]
            if let field = schema.placingField {
                guard let value = values[Name(row.objectId)] else { continue }
                conditions.append(Self.condition(field, value, &compiler))
            }
            statements.append(
                Statement(
                    "SELECT 1 FROM \(SQLBuilder.quote(schema.name)) WHERE \"objectId\" = "
                        + "\(compiler.builder.bind(.text(row.objectId))) AND \(conditions.joined(separator: " AND ")) "
                        + "FOR UPDATE",
                    compiler.builder.parameters))
        }
        return statements
    }
}
