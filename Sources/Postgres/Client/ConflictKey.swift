import Encoding

/// Names the one row that a request changes or locks first: requests with the same key wait for each other here, not in the
/// database.
///
/// It is a hash of the name's bytes, which is the same in every process: two whose rows go in the order of their keys never
/// wait for each other crosswise. Rows with the same hash only wait where they need not.
struct ConflictKey: Hashable, Comparable, Sendable {
    private let hash: UInt64

    /// The key of a row.
    init(_ name: String) { hash = StableHash.of(name) }

    static func < (one: ConflictKey, other: ConflictKey) -> Bool { one.hash < other.hash }
}
