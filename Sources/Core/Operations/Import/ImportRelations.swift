import JSON
import ParseModel
import ParseStorage
import Rules

/// Imports the members of relations as pairs of ids.
extension Imports {
    private static let pageSize = 1000

    /// The maximum id length in characters that fits in a join table.
    private static let longestId = 120

    /// Adds objects to a relation in pages. The owners, including their dates, don't change.
    ///
    /// - Parameter rows: Objects with the members `owningId` and `relatedId`.
    /// - Returns: The result of each row in order. A rejected row doesn't affect the others.
    /// - Throws: 103 if the class or 105 if the field doesn't exist, 111 if the field isn't a relation, 119 if writing
    ///   isn't allowed.
    public func relation(
        _ field: String, of className: String, _ rows: [JSONValue], _ context: RequestContext
    ) async throws -> [Result<WriteResult, any Error>] {
        try context.caller.check("update", of: className)
        guard let schema = catalog.schema(className) else { throw ParseError.missingClass(className) }
        guard let type = schema.type(of: field) else {
            throw ParseError(ParseError.invalidKeyName, "Relation \(field) does not exist in \(className).")
        }
        guard type.isRelation else {
            throw ParseError(ParseError.incorrectType, "Field \(field) of \(className) is not a relation.")
        }
        var outcomes: [Result<WriteResult, any Error>] = []
        outcomes.reserveCapacity(rows.count)
        for start in stride(from: 0, to: rows.count, by: Self.pageSize) {
            let page = rows[start..<min(start + Self.pageSize, rows.count)]
            outcomes += try await relatePage(Array(page), field, className)
        }
        if className == "_Role", !rows.isEmpty { await backend.caches.invalidateRoles() }
        return outcomes
    }

    private func relatePage(_ rows: [JSONValue], _ field: String, _ className: String) async throws
        -> [Result<WriteResult, any Error>]
    {
        var outcomes = [Result<WriteResult, any Error>](
            repeating: .success(WriteResult(status: 200, location: nil, body: [:])), count: rows.count)
        var pairs: [(owner: String, related: String)] = []
        var positions: [Int] = []
        for (place, row) in rows.enumerated() {
            do throws(ParseError) {
                pairs.append((try Self.id("owningId", of: row), try Self.id("relatedId", of: row)))
                positions.append(place)
            } catch {
                outcomes[place] = .failure(error)
            }
        }
        guard !pairs.isEmpty else { return outcomes }
        let isOwned = try await store.imports.relate(pairs, by: field, of: className)
        for (place, isOwned) in zip(positions, isOwned) where !isOwned {
            outcomes[place] = .failure(ParseError.notFound)
        }
        return outcomes
    }

    private static func id(_ key: String, of row: JSONValue) throws(ParseError) -> String {
        guard let id = row[key]?.stringValue, !id.isEmpty, id.unicodeScalars.count <= longestId, !id.utf8.contains(0)
        else { throw ParseError(ParseError.incorrectType, "\(key) must be an object id.") }
        return id
    }
}
