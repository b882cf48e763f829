import JSON
internal import Operations
internal import ParseModel

/// The number of objects per class.
struct ClassCounts: Sendable {
    let backend: Backend

    /// The table size in bytes above which a count is estimated.
    private static let largest: Int64 = 16 * 1024 * 1024
    /// The time limit for counting, in seconds. Remaining classes are estimated.
    private static let longest = 1.0

    /// Returns the counts of the classes that have a table and a row in `_SCHEMA`, sorted by name.
    func counts() async throws -> [ClassCount] {
        let names = backend.catalog.snapshot.classes.keys.sorted()
            .filter { $0.utf8.first != UInt8(ascii: "_") || !SystemClass.volatileNames.contains($0) }
        return try await backend.store.classCounts.counts(of: names.texts, largest: Self.largest, seconds: Self.longest)
    }
}
