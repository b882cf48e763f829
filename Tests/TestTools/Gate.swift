/// Limits the number of concurrent tasks. Others wait in order of arrival.
///
/// Without a limit, the connections of concurrent tests would exceed those of the test cluster.
public actor Gate {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    public init(places: Int) { free = places }

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
