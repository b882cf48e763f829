import JSON
import ParseModel
import ParseStorage

/// How many objects the classes have.
public struct ClassCounts: Sendable {
    let backend: Backend

    /// Larger tables, in bytes, are estimated.
    private static let largest: Int64 = 16 * 1024 * 1024
    /// Time limit for counting, in seconds.
    private static let longest = 1.0

    /// The counts of all classes that have a table, by name.
    public func counts() async throws -> [ClassCount] {
        let names = backend.catalog.snapshot.classes.keys.sorted()
            .filter { $0.utf8.first != UInt8(ascii: "_") || !SystemClass.volatileNames.contains($0) }
        return try await backend.store.classCounts.counts(of: names.texts, largest: Self.largest, seconds: Self.longest)
    }
}
