import JSON
import Postgres

/// Chooses the index that would help a question most. Pure.
struct IndexChoice {
    let facts: DatabaseFacts

    struct Choice {
        let candidate: IndexCandidate
        /// The work with it, as a share of the work before.
        let rest: Double
    }

    /// The most columns of one kind that an index begins with.
    private static let mostEqual = 2
    /// Work of fewer rows takes no time.
    private static let littleWork = 20_000.0
    /// The largest share that may be left of the work.
    private static let largestRest = 0.5
    /// By how much an index of more columns must be better.
    private static let worthOfColumn = 0.8

    /// The index that would help; nil when there is one, or none would.
    func choice(for shape: StatementShape) -> Choice? {
        guard let stored = facts.tables[shape.table], !shape.table.hasPrefix("_Join:"), !stored.isPartition,
            !stored.isDivided,
            !shape.equal.contains("objectId")
        else { return nil }
        let statistics = facts.statistics(of: stored)
        let estimate = IndexEstimate(shape: shape, table: statistics)
        let before = work(estimate, shape.table)
        guard before >= Self.littleWork else { return nil }
        var best: (candidate: IndexCandidate, work: Double)?
        for candidate in candidates(for: shape, stored, statistics) {
            guard let work = estimate.work(with: candidate), work <= before * Self.largestRest else { continue }
            if let best, work > best.work * Self.worthOfColumn { continue }
            best = (candidate, work)
        }
        return best.map { Choice(candidate: $0.candidate, rest: $0.work / before) }
    }

    /// What is left of a question's work with an index that was chosen for another.
    func rest(of shape: StatementShape, with candidate: IndexCandidate) -> Double? {
        guard let stored = facts.tables[shape.table] else { return nil }
        let estimate = IndexEstimate(shape: shape, table: facts.statistics(of: stored))
        return estimate.work(with: candidate).map { min(1, $0 / work(estimate, shape.table)) }
    }

    private func work(_ estimate: IndexEstimate, _ table: Name) -> Double {
        facts.indexes.filter { Name($0.table) == table && $0.isValid && $0.isWhole && $0.isSorted }.compactMap {
            estimate.work(with: $0.asCandidate)
        }.min().map { min($0, estimate.withoutIndex) } ?? estimate.withoutIndex
    }

    /// What may help, from few columns to many.
    private func candidates(for shape: StatementShape, _ stored: StoredTable, _ statistics: TableStatistics)
        -> [IndexCandidate]
    {
        func usable(_ columns: [Name]) -> [IndexCandidate.Key] {
            columns.filter { Self.isIndexable(stored.column($0.text)) }.map { IndexCandidate.Key(column: $0) }
        }
        let equal = usable(shape.equal.sorted { statistics.distinct($0) > statistics.distinct($1) })
            .prefix(Self.mostEqual)
        let order = shape.isLimited && !shape.isCount ? usable(shape.order.map { [$0] } ?? []) : []
        let prefixes = usable(shape.prefixes).map {
            IndexCandidate.Key(column: $0.column, isPattern: !statistics.hasPlainOrder)
        }
        var lists: [[IndexCandidate.Key]] = [usable(shape.distinct.map { [$0] } ?? [])]
        for count in 0...equal.count {
            let first = Array(equal.prefix(count))
            lists.append(first)
            for last in order + usable(shape.ranges) + prefixes where !first.contains(last) {
                lists.append(first + [last])
            }
        }
        let plain = lists.filter { !$0.isEmpty }.sorted { $0.count < $1.count }.map {
            IndexCandidate(table: shape.table, keys: $0)
        }
        guard shape.isCount, stored.column("_rperm") != nil, !shape.hasOther else { return plain }
        return plain + plain.map { IndexCandidate(table: $0.table, keys: $0.keys, holdsReaders: true) }
    }

    private static func isIndexable(_ column: StoredTable.Column?) -> Bool {
        switch column.flatMap({ PostgresType(rawValue: $0.type) }) {
        case .text, .varchar, .bool, .float8, .timestamptz, .int8: true
        default: false
        }
    }
}

extension DatabaseFacts.Index {
    /// The index as one that could be made: its columns, and whether it finds what begins with a text.
    var asCandidate: IndexCandidate {
        IndexCandidate(
            table: Name(table),
            keys: keys.enumerated().map {
                IndexCandidate.Key(column: Name($0.element), isPattern: patternKeys.contains($0.offset))
            }, holdsReaders: holdsReaders)
    }
}

extension DatabaseFacts {
    /// What is known of a table, or assumed.
    func statistics(of table: StoredTable) -> TableStatistics {
        guard let rows = table.estimatedRows else {
            var unknown = TableStatistics.unknown
            unknown.hasPlainOrder = hasPlainOrder
            return unknown
        }
        return TableStatistics(
            rows: Double(rows), values: values[Name(table.name)] ?? [:], hasPlainOrder: hasPlainOrder)
    }
}
