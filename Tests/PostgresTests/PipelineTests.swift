import Postgres
import Testing

@Suite("Requests in flight on a connection, without a server")
struct PipelineTests {
    private let start = MonotonicInstant.now

    private func at(_ milliseconds: Int) -> MonotonicInstant { start.after(.milliseconds(milliseconds)) }

    private static func read(isSearch: Bool = false, isUnknown: Bool = false) -> Request {
        Request(.statements([]), isReadOnly: true, isSearch: isSearch, isUnknown: isUnknown)
    }

    private static func change() -> Request { Request(.statements([]), conflictKey: "Song:1", sharesTransaction: true) }

    /// The counters: all requests, those in a batch, changes, potentially slow reads, and writes.
    private static func numbers(_ pipeline: Pipeline) -> [Int] {
        [pipeline.count, pipeline.batched, pipeline.changes, pipeline.searches, pipeline.writes]
    }

    @Test("Counts requests of each kind until they are answered")
    func numbers() {
        var pipeline = Pipeline()
        pipeline.append(Self.read(), sequence: 1, sharesSync: true, at: start)
        pipeline.append(Self.read(isSearch: true), sequence: 2, sharesSync: true, at: start)
        pipeline.append(Self.read(), sequence: 3, sharesSync: false, at: start)
        pipeline.append(Self.change(), sequence: 4, sharesSync: false, at: start)
        pipeline.append(Request(.statements([])), sequence: 5, sharesSync: false, at: start)
        var numbers = [Self.numbers(pipeline)]
        var sequences: [UInt64] = []
        while let request = pipeline.popFirst(at: start) {
            sequences.append(request.sending.sequence)
            numbers.append(Self.numbers(pipeline))
        }
        #expect(sequences == [1, 2, 3, 4, 5])
        #expect(
            numbers == [
                [5, 2, 1, 1, 2], [4, 1, 1, 1, 2], [3, 0, 1, 0, 2], [2, 0, 1, 0, 2], [1, 0, 0, 0, 1], [0, 0, 0, 0, 0],
            ])
    }

    @Test("Up to 16 reads of the same kind share a sync, which the last one gets")
    func batches() {
        for isSearch in [false, true] {
            var pipeline = Pipeline()
            var takes = [pipeline.takesRead(isSearch: isSearch)]
            for number in 1...16 {
                let request = Self.read(isSearch: isSearch)
                pipeline.append(request, sequence: UInt64(number), sharesSync: true, at: start)
                takes.append(pipeline.takesRead(isSearch: isSearch))
                #expect(!pipeline.takesRead(isSearch: !isSearch))
            }
            #expect(takes == [false] + Array(repeating: true, count: 15) + [false])
            let (isEnded, isEndedAgain) = (pipeline.endBatch(), pipeline.endBatch())
            #expect((isEnded, isEndedAgain) == (true, false))
            let ends = pipeline.requests.map(\.sending.end)
            #expect(ends == Array(repeating: .lastResult, count: 15) + [.sharedSync])
            #expect(!pipeline.takesRead(isSearch: isSearch))
        }
    }

    @Test("Later changes wait for those in flight until the request at the front takes more than 20 ms")
    func changes() {
        var pipeline = Pipeline()
        pipeline.append(Request(.statements([])), sequence: 1, sharesSync: false, at: at(0))
        #expect(!pipeline.isBusyWithChanges(at: at(0)))
        #expect(pipeline.stallDeadline(at: at(0)) == nil)
        pipeline.append(Self.change(), sequence: 2, sharesSync: false, at: at(15))
        #expect([0, 20, 21].map { pipeline.isBusyWithChanges(at: at($0)) } == [true, true, false])
        #expect(pipeline.stallDeadline(at: at(15)) == at(20))
        #expect(pipeline.stallDeadline(at: at(21)) == nil)
        // From here on, the change itself is at the front.
        _ = pipeline.popFirst(at: at(30))
        #expect([30, 50, 51].map { pipeline.isBusyWithChanges(at: at($0)) } == [true, true, false])
        #expect(pipeline.stallDeadline(at: at(30)) == at(50))
        _ = pipeline.popFirst(at: at(60))
        #expect(!pipeline.isBusyWithChanges(at: at(60)))
    }

    @Test("A stalled request adds more load than a potentially slow read, which adds more than 100 quick ones")
    func loads() {
        var (quick, searching, slow) = (Pipeline(), Pipeline(), Pipeline())
        for number in 0..<100 { quick.append(Self.read(), sequence: UInt64(number), sharesSync: false, at: at(100)) }
        searching.append(Self.read(isSearch: true), sequence: 1, sharesSync: true, at: at(100))
        slow.append(Self.read(), sequence: 1, sharesSync: false, at: at(70))
        let loads = [Pipeline(), quick, searching, slow].map { $0.load(at: at(100)) }
        #expect(loads == loads.sorted())
        #expect(Set(loads).count == 4)
    }

    @Test("Gives reads of unknown cost 50 ms at the front or since the last cancellation, known ones 200 ms")
    func patience() {
        var pipeline = Pipeline()
        #expect(pipeline.patienceEnd(stoppedAt: nil) == nil)
        pipeline.append(Self.read(isSearch: true, isUnknown: true), sequence: 1, sharesSync: false, at: at(0))
        #expect(pipeline.patienceEnd(stoppedAt: nil) == at(50))
        for number in 2...4 {
            pipeline.append(Self.read(isSearch: true), sequence: UInt64(number), sharesSync: true, at: at(5))
        }
        #expect(pipeline.patienceEnd(stoppedAt: at(-10)) == at(50))
        #expect(pipeline.patienceEnd(stoppedAt: at(30)) == at(80))
        let unknown = pipeline.popFirst(at: at(60))
        #expect(unknown?.wasSlow == true)
        #expect(pipeline.patienceEnd(stoppedAt: nil) == at(260))
        let known = pipeline.popFirst(at: at(70))
        #expect(known?.wasSlow == false)
        #expect(pipeline.patienceEnd(stoppedAt: nil) == at(270))
        // The request at the front is fast, whatever follows it.
        var mixed = Pipeline()
        mixed.append(Self.read(), sequence: 1, sharesSync: false, at: at(0))
        mixed.append(Self.read(isSearch: true), sequence: 2, sharesSync: true, at: at(0))
        #expect(mixed.patienceEnd(stoppedAt: nil) == nil)
    }

    @Test("Resending a request resets the state of its previous attempt")
    func sendingAgain() {
        var pipeline = Pipeline()
        let request = Self.read()
        pipeline.append(request, sequence: 7, sharesSync: true, at: start)
        request.sending.addStatement()
        request.sending.receiveFailure(.detour)
        _ = pipeline.popFirst(at: start)
        pipeline.append(request, sequence: 9, sharesSync: false, at: start)
        #expect(request.attempts == 2)
        #expect(request.sending.sequence == 9)
        #expect(request.sending.error == nil)
        #expect(request.sending.end == .ownSync)
        #expect(request.sending.expected == 0)
    }
}
