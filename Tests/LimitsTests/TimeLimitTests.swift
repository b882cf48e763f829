import Limits
import Testing

@Suite("A time limit")
struct TimeLimitTests {
    private struct Failure: Error {}

    @Test("Returns the value or the error of work that ends in time", .timeLimit(.minutes(1)))
    func inTime() async throws {
        #expect(await withTimeLimit(.seconds(60)) { 7 } == 7)
        await #expect(throws: Failure.self) { try await withTimeLimit(.seconds(60)) { throw Failure() } }
    }

    @Test("Cancels work that takes too long, and returns nil once it has stopped", .timeLimit(.minutes(1)))
    func timeout() async throws {
        let hasStopped = OneTime<Bool>()
        let value = await withTimeLimit(.milliseconds(20)) {
            try? await Task.sleep(for: .seconds(3600))
            hasStopped.set(true)
            return 7
        }
        #expect(value == nil)
        #expect(hasStopped.value == true)
    }

    @Test("Reports a cancelled task as the work does, not as a timeout", .timeLimit(.minutes(1)))
    func cancellation() async throws {
        let task = Task { try await withTimeLimit(.seconds(3600)) { try await Task.sleep(for: .seconds(3600)) } }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
