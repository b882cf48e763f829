import JSON
internal import Operations
internal import ParseModel

/// Finds the objects that point to an object.
struct References: Sendable {
    let backend: Backend

    private static let maxCounted = 1_000
    /// Time limits for counting, per field and in total.
    private static let longest = (one: Duration.milliseconds(300), all: Duration.seconds(2))

    /// Counts the objects that point to the target, up to 1,000 for each pointer or relation field to its class. If
    /// counting takes too long, the count is PostgreSQL's estimate.
    ///
    /// Fields without references are omitted, and so are the remaining fields when the total time is up: an estimate is
    /// at least one row per table, so it would report references that don't exist.
    ///
    /// - Throws: `ParseError` if the database fails.
    func pointing(to target: Pointer) async throws -> [Reference] {
        let end = ContinuousClock.now + Self.longest.all
        var references: [Reference] = []
        for (className, schema) in backend.catalog.snapshot.classes.sorted(by: { $0.key < $1.key }) {
            for (field, definition) in schema.fields
            where definition.type.targetClass == Name(target.className) {
                guard ContinuousClock.now < end else { return references }
                let reference = try await backend.store.references.references(
                    to: target, by: field.text, of: className.text, limit: Self.maxCounted,
                    within: Self.longest.one)
                if let reference, reference.count > 0 { references.append(reference) }
            }
        }
        return references
    }
}
