import JSON
import ParseModel
import Postgres

/// Finds of any number of objects, for callers who hand them on.
public struct FoundPieces: Sendable {
    let store: ObjectStore

    /// Gives what a find finds in pieces of a few megabytes, all as it is at one moment. What is included is left out.
    ///
    /// It takes a connection for exports, of which there are few, for as long as `use` takes with all pieces.
    ///
    /// - Throws: What `use` throws; `ParseError`.
    public func visit(_ request: ObjectStore.FindRequest, _ use: @Sendable (ObjectStore.Found) async throws -> Void)
        async throws
    {
        guard let schema = store.catalog.schema(request.className) else { return }
        var plan = store.catalog.plan(
            schema, keys: request.keys, excluded: request.excluded, hidden: request.access.hidden)
        let statement = try ObjectStore.statement(request, schema, &plan, store.catalog.snapshot)
        let wanted = plan
        // The same rows in the same order, as the order ends with the id.
        let rest = statement.sql.dropFirst("SELECT \(plan.selectList)".count)
        do {
            try await store.client.transaction(isolation: .repeatableRead, retries: 0, purpose: .export) {
                session in
                let setup = try await session.group([
                    DatabaseSnapshot.readOnly, DatabaseSnapshot.unlimited, StoredTable.listing(of: schema.name),
                ])
                let stored = StoredTable.read(setup[2])[Name(schema.name)]
                let sizes = stored?.rowSize.map { Statement("SELECT \($0)\(rest)", statement.parameters) }
                try await RowCursor(statement: statement, sizes: sizes).visit(session) { result in
                    try await use(
                        ObjectStore.Found(
                            result: result, plan: wanted, access: request.access, included: IncludedObjects(),
                            include: nil, links: request.links, unwritten: request.unwritten, count: nil))
                }
            }
        } catch let error as PostgresError {
            throw store.failure(error)
        }
    }
}

extension ObjectStore {
    /// Finds whose objects are handed on piece by piece.
    public var pieces: FoundPieces { FoundPieces(store: self) }
}
