import JSON
import ParseModel
import Postgres

/// Finding out where objects lie that are to be changed: a statement that goes to one server can lock there.
struct DistributedObjects {
    let store: ObjectStore

    /// The immutable distribution values of objects, by id.
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

    /// The further condition on an object by which a statement goes to the server that has it.
    ///
    /// - Parameter write: Loses the value of the field that says so, where it is the one that the object has.
    /// - Returns: nil when there is no such object.
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

    /// The statements that lock objects of a distributed class, one for each in the order of their ids: Citus locks no
    /// rows of several servers by one.
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
