/// Lets so many in at a time; the others wait in the order in which they came.
///
/// Tests run all at once, and each has connections of its own: without a limit they would use up those of the test
/// cluster.
public actor Gate {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Makes a gate.
    ///
    /// - Parameter places: How many are inside at most.
    public init(places: Int) { free = places }

    /// Runs `body` inside.
    public nonisolated func enter<R: Sendable>(_ body: @Sendable () async throws -> R) async throws -> R {
        await acquire()
        do {
            let value = try await body()
            await release()
            return value
        } catch {
            await release()
            throw error
        }
    }

    private func acquire() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    private func release() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}
