import Postgres
import Testing

@Suite("Buffered events of a notification stream")
struct EventBufferTests {
    private static func text(_ event: PostgresEvent?) -> String {
        switch event {
        case .connected: "connected"
        case .disconnected: "disconnected"
        case .notification(_, let payload): payload
        case nil: "end"
        }
    }

    private static func notification(_ payload: String) -> PostgresEvent {
        .notification(channel: "c", payload: payload)
    }

    @Test("Arrive in order, followed by the end of the stream")
    func order() async {
        let buffer = EventBuffer()
        buffer.append(.connected)
        for payload in ["a", "b"] { buffer.append(Self.notification(payload)) }
        buffer.finish()
        buffer.append(Self.notification("late"))
        var texts: [String] = []
        for _ in 0..<4 { texts.append(Self.text(await buffer.next())) }
        #expect(texts == ["connected", "a", "b", "end"])
    }

    @Test("Are dropped beyond the byte limit, which the consumer sees as a reconnection")
    func overflow() async {
        let buffer = EventBuffer(capacity: 1000)
        for number in 0..<5 { buffer.append(Self.notification(String(repeating: "\(number)", count: 300))) }
        buffer.append(Self.notification("last"))
        buffer.finish()
        var texts: [String] = []
        while let event = await buffer.next() { texts.append(Self.text(event)) }
        #expect(texts.prefix(2) == ["disconnected", "connected"])
        #expect(texts.last == "last")
        #expect(texts.reduce(0) { $0 + $1.utf8.count } < 1000)
    }

    @Test("Wake a waiting consumer; a cancelled consumer stops waiting")
    func waiting() async {
        let buffer = EventBuffer()
        let first = Task { Self.text(await buffer.next()) }
        buffer.append(Self.notification("a"))
        #expect(await first.value == "a")
        let second = Task { Self.text(await buffer.next()) }
        second.cancel()
        #expect(await second.value == "end")
    }
}
