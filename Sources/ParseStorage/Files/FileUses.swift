import Encoding
import JSON
import ParseModel
import Postgres

/// A place where an object mentions an uploaded file.
public struct FileUse: Sendable, Equatable {
    /// The class of the object.
    public let className: String
    /// Its id.
    public let objectId: String
    /// The field.
    public let field: String
}

/// Looks for objects that mention a file: in fields of the type File, in objects and lists, and in texts, which may hold its
/// address.
public struct FileUses: Sendable {
    let store: ObjectStore

    /// The first objects that mention a file.
    ///
    /// No index serves this, so that all objects are read; what is not read in time is left out.
    ///
    /// - Parameters:
    ///   - schemas: The classes and fields in which it is looked for.
    ///   - most: How many objects are given at most.
    ///   - time: For how long it is looked for.
    /// - Returns: Also whether all was looked through, or enough was found.
    /// - Throws: `ParseError`.
    public func of(_ name: String, in schemas: [ClassSchema], most: Int, time: Duration) async throws
        -> (uses: [FileUse], isComplete: Bool)
    {
        var uses: [FileUse] = []
        let end = ContinuousClock.now + time
        let hasFiles = { (schema: ClassSchema) in schema.fields.values.contains { $0.type == .file } }
        for schema in schemas.filter(hasFiles) + schemas.filter({ !hasFiles($0) }) {
            let conditions = schema.fields.compactMap { field, definition in
                Self.condition(field.text, definition.type, of: schema.name).map { (field.text, $0) }
            }
            guard !conditions.isEmpty else { continue }
            let rest = end - .now
            guard rest > .zero, uses.count < most else { return (uses, false) }
            let cases = conditions.map { "WHEN \($0.1) THEN \(SQL.literal($0.0))" }.joined(separator: " ")
            let statement = Statement(
                """
                SELECT "objectId", CASE \(cases) END FROM \(SQLBuilder.quote(schema.name)) \
                WHERE \(conditions.map(\.1).joined(separator: " OR ")) LIMIT \(most - uses.count)
                """, [.text(name), .text(PercentEncoding.encode(name))])
            do {
                let rows = try await store.client.slowQuery(statement, timeLimit: rest)
                for row in 0..<rows.rowCount {
                    guard let id = rows.string(row, 0), let field = rows.string(row, 1) else { continue }
                    uses.append(FileUse(className: schema.name, objectId: id, field: field))
                }
            } catch let error as PostgresError where error.sqlState == "57014" {
                return (uses, false)
            } catch let error as PostgresError where ["42P01", "42703"].contains(error.sqlState) {
                // The class was changed meanwhile.
                continue
            } catch let error as PostgresError {
                throw store.failure(error)
            }
        }
        return (uses, uses.count < most)
    }

    /// Whether a column mentions the file: parameter 1 is its name, parameter 2 the same as addresses have it.
    private static func condition(_ field: String, _ type: FieldType, of className: String) -> String? {
        // What users log in by elsewhere names no files, and a caller who may only read would spell it out, letter by letter.
        guard TableLayout.hasColumn(field, of: className, type: type), field != "authData" else { return nil }
        let column = SQLBuilder.quote(field)
        switch type {
        case .file: return "coalesce(\(column) = $1, false)"
        case .string: return "coalesce(strpos(\(column), $1) > 0 OR strpos(\(column), $2) > 0, false)"
        case .object, .array:
            return "coalesce(strpos(\(column)::text, $1) > 0 OR strpos(\(column)::text, $2) > 0, false)"
        default: return nil
        }
    }
}
