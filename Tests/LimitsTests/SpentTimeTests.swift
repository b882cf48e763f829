import Limits
import Testing

@Suite("Time spent per sender")
struct SpentTimeTests {
    private let first = Sender(address: "192.0.2.1")
    private let second = Sender(address: "192.0.2.2")

    @Test("Adds up per sender, and new senders start at the level of the sender admitted last")
    func levels() {
        var spent = SpentTime()
        spent.add(.seconds(2), to: first)
        spent.add(.seconds(1), to: first)
        #expect(spent[first] == .seconds(3))
        #expect(spent[second] == .zero)
        spent.admit(first)
        #expect(spent[second] == .seconds(3))
    }

    @Test("Is remembered for the last 4,096 senders")
    func bound() {
        var spent = SpentTime()
        for number in 1...10_000 { spent.add(.seconds(1), to: Sender(number: UInt64(number))) }
        let known = (1...10_000).count { spent[Sender(number: UInt64($0))] > .zero }
        #expect(known == 4096)
        #expect(spent[Sender(number: 10_000)] == .seconds(1))
    }
}
