import JSON

/// How much work a question is with and without an index, by what the statistics say of a table. Pure.
///
/// The unit is a row that is read in the order of the table. It is a rough measure: it distinguishes a hundred times from twice.
struct IndexEstimate {
    let shape: StatementShape
    let table: TableStatistics

    /// How many rows read in the order of the table take as long as one that an index names.
    private static let costOfJump = 25.0
    /// How many rows a find without a word about it gives.
    private static let usualLimit = 100.0
    /// Of how many rows one lies in a range, one begins with a text, one fulfils what is not known.
    private static let (inRange, inPrefix, inOther) = (1 / 3.0, 1 / 1000.0, 1 / 10.0)
    /// From how many different values on none is jumped to.
    private static let mostDistinct = 1000.0

    /// The work without any index.
    var withoutIndex: Double {
        guard shape.order == nil, shape.isLimited, !shape.isCount, shape.distinct == nil else { return table.rows }
        return min(table.rows, Self.usualLimit / share(except: []))
    }

    /// The work with an index; nil for one that does not help.
    func work(with index: IndexCandidate) -> Double? {
        if let distinct = shape.distinct {
            let values = table.distinct(distinct)
            guard index.keys.first?.column == distinct, shape.equal.isEmpty, !shape.hasOther, values < Self.mostDistinct
            else { return nil }
            return min(values * Self.costOfJump, table.rows)
        }
        var read = table.rows
        var used: Set<Name> = []
        var isOrdered = false
        for key in index.keys {
            if shape.equal.contains(key.column) {
                read /= table.distinct(key.column)
            } else if shape.prefixes.contains(key.column), key.isPattern || table.hasPlainOrder {
                read *= Self.inPrefix
            } else if key.column == shape.order, !key.isPattern, shape.isLimited, !shape.isCount {
                isOrdered = true
                break
            } else if shape.ranges.contains(key.column), !key.isPattern {
                read *= Self.inRange
            } else {
                break
            }
            used.insert(key.column)
            // Behind a range an index only finds, and gives no order.
            if !shape.equal.contains(key.column) { break }
        }
        guard isOrdered || !used.isEmpty else { return nil }
        if isOrdered || (shape.order == nil && shape.isLimited && !shape.isCount) {
            read = min(read, Self.usualLimit / share(except: used))
        }
        return read * (shape.isCount && index.holdsReaders ? 1 : Self.costOfJump)
    }

    /// Which share of the rows fulfils the conditions, but for those on some columns.
    private func share(except used: Set<Name>) -> Double {
        var share = shape.hasOther ? Self.inOther : 1
        for column in shape.equal where !used.contains(column) { share /= table.distinct(column) }
        for column in shape.ranges where !used.contains(column) { share *= Self.inRange }
        for column in shape.prefixes where !used.contains(column) { share *= Self.inPrefix }
        return max(share, 1e-12)
    }
}

struct TableStatistics: Sendable {
    /// How many rows there are.
    var rows: Double
    /// How many different values columns have: a number or, below zero, which share of the rows.
    var values: [Name: Double] = [:]
    /// Whether texts are in the order of their bytes, so that every index finds what begins with a text.
    var hasPlainOrder = false

    /// How many different values a column has.
    func distinct(_ column: Name) -> Double {
        guard let value = values[column] else { return max(1, rows / 1000) }
        return max(1, value >= 0 ? value : -value * rows)
    }

    /// What is assumed of a table that was never looked at.
    static let unknown = TableStatistics(rows: 1_000_000)
}
