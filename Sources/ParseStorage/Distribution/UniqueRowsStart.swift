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
        // A process that makes an index now has listed it, and not finished.
        _ = try await ProcessLock.indexBuild.attempt(client) { _ in try await unlist() }
        guard distribution.hasUniqueRows else {
            // Rows of classes that were brought back would be old ones when they are spread again.
            return try await transaction.run("DROP TABLE \"_roost_unique\"")
        }
        let spreadUsers = classes.contains { $0.name == "_User" }
        try await transaction.run { session in
            let table = UniqueRowsTable(session: session)
            try await table.removeOthers(than: classes)
            if spreadUsers { try await table.fillUsers() }
        }
    }

    /// Unlists unique indexes whose making broke off, and those of classes that were spread or brought back by hand.
    private func unlist() async throws {
        let rows = try await client.query("SELECT \"class\", \"index\" FROM \"_roost_unique\" WHERE \"owner\" = ''")
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
            try await catalog.change(className.text) { current in
                var wanted = current ?? schema
                for name in lost { wanted.indexes[name] = nil }
                return wanted
            }
            logger.warning(
                "unique indexes that were not finished, or whose objects were spread or brought back, are to be made again",
                metadata: ["class": "\(className)", "indexes": "\(lost.map(\.text).joined(separator: ", "))"])
        }
    }
}
