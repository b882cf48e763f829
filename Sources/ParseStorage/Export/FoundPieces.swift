import JSON
import ParseModel
import Postgres

/// Finds of any number of objects, for callers who hand them on.
extension ObjectStore {
    /// Gives what a find finds in pieces of a few megabytes, all as it is at one moment. What is included is left out.
    ///
    /// It takes a connection for administration, of which there are few, for as long as `use` takes with all pieces.
    ///
    /// - Throws: What `use` throws; `ParseError`.
    public func visit(_ request: FindRequest, _ use: @Sendable (Found) async throws -> Void) async throws {
        guard let schema = catalog.schema(request.className) else { return }
        var plan = catalog.plan(
            schema, keys: request.keys, excluded: request.excluded, hidden: request.access.hidden)
        let statement = try Self.statement(request, schema, &plan, catalog.snapshot)
        let wanted = plan
        // The same rows in the same order, as the order ends with the id.
        let rest = statement.sql.dropFirst("SELECT \(plan.selectList)".count)
        do {
            try await client.transaction(isolation: .repeatableRead, retries: 0, purpose: .administration) { session in
                let setup = try await session.group([
                    DatabaseSnapshot.readOnly, DatabaseSnapshot.unlimited, StoredTable.listing,
                ])
                let stored = StoredTable.read(setup[2])[Name(schema.name)]
                let sizes = stored?.rowSize.map { Statement("SELECT \($0)\(rest)", statement.parameters) }
                try await RowCursor(statement: statement, sizes: sizes).visit(session) { result in
                    try await use(
                        Found(
                            result: result, plan: wanted, access: request.access, included: IncludedObjects(),
                            include: nil, links: request.links, unwritten: request.unwritten, count: nil))
                }
            }
        } catch let error as PostgresError {
            throw failure(error)
        }
    }
}
