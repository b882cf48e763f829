import Testing

@testable import Postgres

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

@Suite("What the I/O thread wakes up for")
struct AttentionTests {
    private static let read = Mailbox.Command.submit(Request(.statements([]), isReadOnly: true))
    private static let change = Mailbox.Command.submit(
        Request(.statements([]), row: "Song:1", sharesTransaction: true))
    private static let write = Mailbox.Command.submit(Request(.statements([])))

    /// Which of commands that are handed in one after the other it wakes up for.
    private static func wakes(_ attention: Attention, _ commands: [Mailbox.Command]) -> [Bool] {
        commands.map { attention.isDrawn(by: $0) }
    }

    @Test("For everything, when nothing is said", arguments: [read, change, write, .shutDown])
    func everything(command: Mailbox.Command) {
        #expect(Self.wakes(Attention(), [command]) == [true])
    }

    @Test("Not for reads while no connection has room for them, but for everything else")
    func reads() {
        let commands = [Self.read, Self.read, Self.write, Self.change, .shutDown]
        #expect(Self.wakes(Attention(reads: false), commands) == [false, false, true, true, true])
    }

    @Test("Not for changes of rows while those before them are under way, but for everything else")
    func changes() {
        let commands = [Self.change, Self.read, Self.change, Self.write, .shutDown]
        #expect(Self.wakes(Attention(changes: false), commands) == [false, true, false, true, true])
    }

    @Test("A thread that sleeps is not woken by what it is not attentive to, and finds it nevertheless")
    func mailbox() {
        let mailbox = Mailbox()
        #expect(mailbox.fallAsleep(PostgresStatistics(), Attention(reads: false, changes: false)))
        #expect(mailbox.send(Self.read))
        #expect(mailbox.send(Self.change))
        #expect(!mailbox.isSignalled)
        #expect(mailbox.send(Self.write))
        #expect(mailbox.isSignalled)
        var commands: [Mailbox.Command] = []
        mailbox.take(&commands)
        #expect(commands.count == 3)
    }
}

extension Mailbox {
    /// Whether the thread would be woken from its sleep.
    fileprivate var isSignalled: Bool {
        var descriptor = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, 0) == 1
    }
}
