import JSON
import Postgres

/// Chooses the index that would speed up a query most.
struct IndexChoice {
    let facts: DatabaseFacts

    private static let maxEqualColumns = 2
    /// The work, in rows, below which a query is fast enough without a further index.
    private static let littleWork = 20_000.0
    /// The largest share of the work that may remain with an index.
    private static let largestRest = 0.5
    /// A later candidate, which has at least as many columns, replaces the best one if it needs at most this share of
    /// its work.
    private static let worthOfColumn = 0.8

    /// Returns the most useful index, or nil if the table is unknown or partitioned, or if no further index is
    /// worthwhile.
    func candidate(for shape: QueryShape) -> IndexCandidate? {
        guard let stored = facts.tables[shape.table], !stored.isPartition, !stored.isDivided else { return nil }
        let estimate = IndexEstimate(shape, stored, facts)
        let before = work(estimate)
        guard before >= Self.littleWork else { return nil }
        var best: (candidate: IndexCandidate, work: Double)?
        for candidate in candidates(estimate, stored) {
            guard let work = estimate.work(with: candidate), work <= before * Self.largestRest else { continue }
            if let best, work > best.work * Self.worthOfColumn { continue }
            best = (candidate, work)
        }
        return best?.candidate
    }

    /// Returns the share of a query's work that remains with an index, or nil if the table has no statistics or the
    /// index doesn't help.
    func rest(of shape: QueryShape, with candidate: IndexCandidate) -> Double? {
        guard let stored = facts.tables[shape.table], stored.estimatedRows != nil else { return nil }
        let estimate = IndexEstimate(shape, stored, facts)
        return estimate.work(with: candidate).map { min(1, $0 / work(estimate)) }
    }

    private func work(_ estimate: IndexEstimate) -> Double {
        let usable = facts.indexes.filter {
            Name($0.table) == estimate.shape.table && $0.isValid && $0.isWhole && $0.isSorted
        }
        return usable.compactMap { estimate.work(with: $0.asCandidate) }.reduce(estimate.withoutIndex, min)
    }

    private func candidates(_ estimate: IndexEstimate, _ stored: StoredTable) -> [IndexCandidate] {
        let shape = estimate.shape
        func usable(_ columns: [Name], isPattern: Bool = false) -> [IndexCandidate.Key] {
            columns.filter { Self.isIndexable(stored.column($0.text)) }
                .map { IndexCandidate.Key(column: $0, isPattern: isPattern) }
        }
        let equal = usable(shape.equal.sorted { estimate.distinct($0) > estimate.distinct($1) }).prefix(
            Self.maxEqualColumns)
        let order = shape.isLimited ? usable(shape.order.map { [$0] } ?? []) : []
        let prefixes = usable(shape.prefixes, isPattern: !facts.hasPlainOrder)
        var lists = [usable(shape.distinct.map { [$0] } ?? [])]
        for count in 0...equal.count {
            let first = Array(equal.prefix(count))
            lists.append(first)
            for last in order + usable(shape.ranges) + prefixes where !first.contains(last) {
                lists.append(first + [last])
            }
        }
        return lists.filter { !$0.isEmpty }.sorted { $0.count < $1.count }.map {
            IndexCandidate(table: shape.table, keys: $0)
        }
    }

    private static func isIndexable(_ column: StoredTable.Column?) -> Bool {
        switch column.flatMap({ PostgresType(rawValue: $0.type) }) {
        case .text, .varchar, .bool, .float8, .timestamptz, .int8: true
        default: false
        }
    }
}

extension DatabaseFacts.Index {
    fileprivate var asCandidate: IndexCandidate {
        IndexCandidate(
            table: Name(table),
            keys: keys.enumerated().map {
                IndexCandidate.Key(column: Name($0.element), isPattern: patternKeys.contains($0.offset))
            })
    }
}
