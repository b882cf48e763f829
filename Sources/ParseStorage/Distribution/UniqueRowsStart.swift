import JSON
import Logging
import ParseModel
import Postgres

/// What a start does about the rows that make values unique.
struct UniqueRowsStart {
    let client: PostgresClient
    let catalog: SchemaCatalog
    let distribution: Distribution
    let logger: Logger

    /// Makes what is missing, and takes indexes from the lists of their classes that do not keep objects apart.
    ///
    /// - Throws: ``DistributionCheck/Unfit``; `PostgresError`.
    func run() async throws {
        if let field = catalog.schema("_User")?.distributedBy, field != "objectId" {
            throw DistributionCheck.Unfit(description: "users can be distributed by objectId only, not by \(field)")
        }
        let classes = catalog.snapshot.classes.values.filter { UniqueValues($0) != nil }
        if !distribution.hasUniqueRows, let first = classes.first {
            throw DistributionCheck.Unfit(
                description: "what must be unique in \(first.name) lies on several servers: set distribution.unique to "
                    + "\"lookup\"")
        }
        let transaction = SchemaTransaction(client: client, retryDuration: .seconds(30))
        if distribution.hasUniqueRows {
            try await transaction.run { session in
                _ = try await session.query("SELECT set_config('citus.multi_shard_modify_mode', 'sequential', true)")
                try await UniqueRowsTable(session: session).make(shards: distribution.shards)
            }
        }
        let isThere = try await client.query("SELECT to_regclass('\"_roost_unique\"') IS NOT NULL")
        guard isThere.bool(0, 0) == true else { return }
        guard distribution.hasUniqueRows else {
            guard try await unlist() else { return }
            // Rows of classes that were brought back would be old ones when they are spread again.
            return try await transaction.run("DROP TABLE \"_roost_unique\"")
        }
        if catalog.schema("_User")?.distributedBy != nil {
            try await transaction.run { try await UniqueRowsTable(session: $0).fillUsers() }
        }
        if try await unlistAlone() { return }
        Task {
            repeat { try await Task.sleep(for: .seconds(5)) } while try await !unlistAlone()
        }
    }

    /// Unlists while no process makes an index, which is listed before it is finished; returns whether all is done.
    private func unlistAlone() async throws -> Bool {
        try await ProcessLock.indexBuild.attempt(client) { _ in try await unlist() } ?? false
    }

    /// Unlists unique indexes whose making broke off, and those of classes that were spread or brought back by hand.
    ///
    /// - Returns: Whether no table was in use for too long.
    private func unlist() async throws -> Bool {
        let rows = try await SchemaTransaction(client: client).run { session in
            // No class is made meanwhile, and none changed.
            try await catalog.reload()
            return try await session.query("SELECT \"class\", \"index\" FROM \"_roost_unique\" WHERE \"owner\" = ''")
        }
        var finished: [Name: Set<Name>] = [:]
        for row in 0..<rows.rowCount {
            guard let className = rows.string(row, 0), let index = rows.string(row, 1) else { continue }
            finished[Name(className), default: []].insert(Name(index))
        }
        for (className, schema) in catalog.snapshot.classes {
            let byRows = schema.indexesUniqueByRows
            let lost = schema.indexes.keys.filter { name in
                let isFinished = finished[className]?.contains(Name(UniqueValues.index(name.text, of: schema))) == true
                return isFinished != (byRows[name] != nil)
            }
            guard !lost.isEmpty else { continue }
            do {
                try await catalog.change(className.text) { current in
                    guard var wanted = current else { throw ParseError.notFound }
                    for name in lost { wanted.indexes[name] = nil }
                    return wanted
                }
            } catch is ParseError {
                // The class was dropped since.
                continue
            } catch let error as PostgresError where error.sqlState == "55P03" {
                return false
            }
            logger.warning(
                "unique indexes that were not finished, or whose objects were spread or brought back, are to be made again",
                metadata: ["class": "\(className)", "indexes": "\(lost.map(\.text).joined(separator: ", "))"])
        }
        try await SchemaTransaction(client: client).run { session in
            // Another process may have made a class since this one read them.
            let placements = try await Distribution.placements { try await session.query($0) }
            let spread = placements.filter { if case .rows = $0.value { true } else { false } }
            try await UniqueRowsTable(session: session).removeOthers(than: spread.keys.map(\.text))
        }
        return true
    }
}
