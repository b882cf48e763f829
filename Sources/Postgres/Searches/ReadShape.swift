/// What reads have in common that cost about the same: the statement, how many rows are asked for, and whether more is read
/// for these rows.
struct ReadShape: Hashable, Sendable {
    private let key: StatementKey
    /// How many bits the number of rows has.
    private let magnitude: Int
    private let leadsToMore: Bool

    init(_ key: StatementKey, mostRows: Int, leadsToMore: Bool) {
        self.key = key
        magnitude = Int.bitWidth - max(0, mostRows).leadingZeroBitCount
        self.leadsToMore = leadsToMore
    }

    /// About how many bytes of memory it takes to remember it.
    var size: Int { key.sql.utf8.count + 24 * key.slots.count + 256 }
}
