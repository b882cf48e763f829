import Synchronization
import Testing

@testable import HTTP
@testable import REST

@Suite("Requests with large bodies")
struct AdmissionLimiterTests {
    /// How many are inside, and how many were at most.
    private final class Counter: Sendable {
        private let state = Mutex((inside: 0, most: 0))
        var most: Int { state.withLock { $0.most } }

        func run() async {
            state.withLock { state in
                state.inside += 1
                state.most = max(state.most, state.inside)
            }
            for _ in 0..<20 { await Task.yield() }
            state.withLock { $0.inside -= 1 }
        }
    }

    @Test("No more of them are carried out than have a place, and all are in the end", arguments: [1, 3, 32])
    func places(places: Int) async {
        let requests = AdmissionLimiter(places: places)
        let counter = Counter()
        let results = await withTaskGroup(of: Int.self) { group in
            for number in 0..<300 {
                group.addTask {
                    await requests.inTurn(bytes: AdmissionLimiter.size) {
                        await counter.run()
                        return number
                    }
                }
            }
            return await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(results.count == 300)
        #expect(counter.most <= places)
    }

    @Test("Small ones do not wait for them, and one that fails gives its place back")
    func smallOnes() async throws {
        struct Failure: Error {}
        let requests = AdmissionLimiter(places: 1)
        await #expect(throws: Failure.self) {
            try await requests.inTurn(bytes: 1_000_000) { throw Failure() }
        }
        let answer = await requests.inTurn(bytes: 1_000_000) {
            await requests.inTurn(bytes: AdmissionLimiter.size - 1) { 42 }
        }
        #expect(answer == 42)
    }
}
