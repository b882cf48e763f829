/// Runs `body` `count` times concurrently, and returns the results in the order of the index.
package func concurrently<R: Sendable>(_ count: Int, _ body: @escaping @Sendable (Int) async throws -> R) async throws
    -> [R]
{
    try await withThrowingTaskGroup(of: (Int, R).self) { group in
        for index in 0..<count { group.addTask { (index, try await body(index)) } }
        var results: [(Int, R)] = []
        for try await result in group { results.append(result) }
        return results.sorted { $0.0 < $1.0 }.map(\.1)
    }
}
