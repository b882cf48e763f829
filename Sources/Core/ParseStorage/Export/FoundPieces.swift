import JSON
import ParseModel
import Postgres

/// Streams the results of large finds.
public struct FoundPieces: Sendable {
    let store: ObjectStore

    /// Passes the results of a find to `use` in pieces of a few megabytes, all from one snapshot. `include` is ignored.
    ///
    /// Occupies one of the few export connections until all pieces are processed. The sort order must end with the id.
    ///
    /// - Throws: `ParseError` or `ServiceUnavailable`, or an error of `use`.
    public func visit(_ request: ObjectStore.FindRequest, _ use: @Sendable (ObjectStore.Found) async throws -> Void)
        async throws
    {
        guard let schema = store.catalog.schema(request.className) else { return }
        var plan = store.catalog.plan(
            schema, keys: request.keys, excluded: request.excluded, hidden: request.access.hidden)
        let statement = try ObjectStore.statement(request, schema, &plan, store.catalog.snapshot)
        let wanted = plan
        // Both statements return the rows in the same order, because the sort order ends with the id.
        let rest = statement.sql.dropFirst("SELECT \(plan.selectList)".count)
        try await store.convertingErrors {
            try await store.client.transaction(isolation: .repeatableRead, retries: 0, purpose: .exports) {
                session in
                let setup = try await session.group([
                    DatabaseSnapshot.readOnly, DatabaseSnapshot.unlimited, StoredTable.listing(of: schema.name),
                ])
                let stored = StoredTable.read(setup[2])[Name(schema.name)]
                let sizes = stored?.rowSize.map { Statement("SELECT \($0)\(rest)", statement.parameters) }
                try await RowCursor(statement: statement, sizes: sizes).visit(session) { result in
                    try await use(
                        ObjectStore.Found(
                            result: result, plan: wanted, access: request.access, links: request.links,
                            unwritten: request.unwritten))
                }
            }
        }
    }
}

extension ObjectStore {
    public var pieces: FoundPieces { FoundPieces(store: self) }
}
