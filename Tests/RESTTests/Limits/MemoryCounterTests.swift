import REST
import Testing

@Suite struct MemoryCounterTests {
    private static func sender(_ number: Int) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    private static func count(_ counter: MemoryCounter, _ number: Int, _ amount: Int = 1) -> RequestCount {
        counter.count([RequestDemand(limit: 0, sender: sender(number), amount: amount)])[0]
    }

    @Test("Keeps the count of a frequent sender during a flood of others, without exceeding the capacity")
    func flood() {
        let counter = MemoryCounter(windows: [3_600_000], capacity: 1000)
        _ = Self.count(counter, -1, 50)
        for number in 0..<20_000 {
            #expect(Self.count(counter, number).requests == 1)
            if counter.size > 1000 { Issue.record("\(counter.size) counts") }
        }
        #expect(Self.count(counter, -1).requests == 51)
    }

    @Test("Doesn't exceed the capacity even if every sender has sent many requests")
    func evenFlood() {
        let counter = MemoryCounter(windows: [3_600_000], capacity: 100)
        for number in 0..<1000 { _ = Self.count(counter, number, 5000) }
        #expect(counter.size <= 100)
        #expect(Self.count(counter, 999).requests == 5001)
    }

    @Test("A count resets when its window ends")
    func window() async throws {
        let counter = MemoryCounter(windows: [50])
        #expect(Self.count(counter, 1, 3).requests == 3)
        #expect(Self.count(counter, 1).remaining <= 50)
        try await Task.sleep(for: .milliseconds(60))
        #expect(Self.count(counter, 1).requests == 1)
    }
}
