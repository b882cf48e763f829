import JSON

/// Estimates the work of a query with and without an index from a table's statistics.
///
/// The unit is one row read in table order. The estimate is rough: it distinguishes a factor of 100, not a factor of 2.
struct IndexEstimate {
    let shape: QueryShape
    private let rows: Double
    /// The number of distinct values of each column. A negative number is the share of the rows, as in
    /// `pg_stats.n_distinct`.
    private let values: [Name: Double]
    /// Whether the database sorts text by bytes, so that any index serves prefix searches.
    private let hasPlainOrder: Bool

    /// The cost of reading one row through an index.
    private static let costOfJump = 25.0
    /// The assumed number of results of a find.
    private static let usualLimit = 100.0
    /// Assumed shares of the rows in a range, with a prefix, and matching other conditions.
    private static let (inRange, inPrefix, inOther) = (1 / 3.0, 1 / 1000.0, 1 / 10.0)

    init(_ shape: QueryShape, _ table: StoredTable, _ facts: DatabaseFacts) {
        self.shape = shape
        // A table without statistics counts as large.
        rows = table.estimatedRows.map { Double($0) } ?? 1_000_000
        values = table.estimatedRows == nil ? [:] : facts.values[Name(table.name)] ?? [:]
        hasPlainOrder = facts.hasPlainOrder
    }

    var withoutIndex: Double {
        shape.order == nil && shape.isLimited ? min(rows, Self.usualLimit / share(except: [])) : rows
    }

    /// Returns the work with an index, or nil if the index doesn't help.
    func work(with index: IndexCandidate) -> Double? {
        if let column = shape.distinct {
            let values = distinct(column)
            guard index.keys.first?.column == column, values < DistinctValues.maxJumps else { return nil }
            return min(values * Self.costOfJump, rows)
        }
        var read = rows
        var used: Set<Name> = []
        var isOrdered = false
        for key in index.keys {
            if shape.equal.contains(key.column) {
                read /= distinct(key.column)
            } else if shape.prefixes.contains(key.column), key.isPattern || hasPlainOrder {
                read *= Self.inPrefix
            } else if key.column == shape.order, !key.isPattern, shape.isLimited {
                isOrdered = true
                break
            } else if shape.ranges.contains(key.column), !key.isPattern {
                read *= Self.inRange
            } else {
                break
            }
            used.insert(key.column)
            // After a range condition, an index can't provide the sort order.
            if !shape.equal.contains(key.column) { break }
        }
        guard isOrdered || !used.isEmpty else { return nil }
        if isOrdered || shape.order == nil && shape.isLimited {
            read = min(read, Self.usualLimit / share(except: used))
        }
        return read * Self.costOfJump
    }

    /// Returns the estimated number of distinct values of a column.
    func distinct(_ column: Name) -> Double {
        guard let value = values[column] else { return max(1, rows / 1000) }
        return max(1, value >= 0 ? value : -value * rows)
    }

    private func share(except used: Set<Name>) -> Double {
        var share = shape.hasOther ? Self.inOther : 1
        for column in shape.equal where !used.contains(column) { share /= distinct(column) }
        for column in shape.ranges where !used.contains(column) { share *= Self.inRange }
        for column in shape.prefixes where !used.contains(column) { share *= Self.inPrefix }
        return max(share, 1e-12)
    }
}
