import FileStores
import Outgoing
import TestSupport
import Testing

@Suite("Response bodies of other servers")
struct HTTPPiecesTests {
    @Test("A body that failed keeps failing instead of ending normally")
    func broken() async throws {
        let caller = try HTTPCaller(S3OptionTests.load([:]).outgoing)
        let behaviour: StoreStandIn.Behaviour = { _, _ in .stall("12345", length: 10) }
        try await StoreStandIn.run(behaviour) { store in
            let call = HTTPCall("GET", "http://127.0.0.1:\(store.port)/")
            let answer = try await caller.open(call, headWithin: .seconds(10), silence: .milliseconds(300))
            #expect(try await answer.body.next()?.readableBytes == 5)
            for _ in 0..<2 {
                await #expect(throws: HTTPCallFailure.self) { _ = try await answer.body.next() }
            }
        }
        await caller.shutdown()
    }
}
