/// Runs `body`, and then `cleanUp`, even after an error.
///
/// - Throws: The errors of `body`.
public nonisolated(nonsending) func withCleanup<R>(
    _ cleanUp: nonisolated(nonsending) () async -> Void, _ body: nonisolated(nonsending) () async throws -> R
) async rethrows -> R {
    do {
        let result = try await body()
        await cleanUp()
        return result
    } catch {
        await cleanUp()
        throw error
    }
}
