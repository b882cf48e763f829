import JSON
import ParseModel
import ParseStorage

/// What points to an object.
public struct References: Sendable {
    let backend: Backend

    /// Objects counted per field.
    private static let most = 1_000
    /// Time limits for counting, by one field and in total.
    private static let longest = (one: Duration.milliseconds(300), all: Duration.seconds(2))

    /// How many objects point to one, by each pointer and relation of all classes that leads to its class. Fields by which
    /// none does are left out, and those for which no time was left: the planner expects a row in each table.
    public func pointing(to target: Pointer) async throws -> [Reference] {
        let end = ContinuousClock.now + Self.longest.all
        var references: [Reference] = []
        for (className, schema) in backend.catalog.snapshot.classes.sorted(by: { $0.key < $1.key }) {
            for (field, definition) in schema.fields
            where definition.type.targetClass == Name(target.className) {
                guard ContinuousClock.now < end else { return references }
                let reference = try await backend.store.references.references(
                    to: target, by: field.text, of: className.text, most: Self.most,
                    within: Self.longest.one)
                if let reference, reference.count > 0 { references.append(reference) }
            }
        }
        return references
    }
}
