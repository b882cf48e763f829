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
    private static let readOfRow = Mailbox.Command.submit(Request(.statements([]), isReadOnly: true, effort: .row))
    private static let change = Mailbox.Command.submit(Request(.statements([]), row: "Song:1"))
    private static let write = Mailbox.Command.submit(Request(.statements([])))

    /// Which of commands that are handed in one after the other it wakes up for.
    private static func wakes(_ attention: Attention, _ commands: [Mailbox.Command]) -> [Bool] {
        var attention = attention
        return commands.map { attention.isDrawn(by: $0) }
    }

    @Test("For everything, when nothing is said", arguments: [read, readOfRow, change, write, .shutDown])
    func everything(command: Mailbox.Command) {
        #expect(Self.wakes(Attention(), [command]) == [true])
    }

    @Test("Not for reads while no connection has room for them, but for everything else")
    func reads() {
        let commands = [Self.read, Self.read, Self.write, Self.change, .shutDown]
        #expect(Self.wakes(Attention(reads: false), commands) == [false, false, true, true, true])
    }

    @Test("For reads of single rows, and for other reads, each when there is room for them")
    func readsOfRows() {
        let commands = [Self.read, Self.readOfRow, Self.readOfRow, Self.read]
        #expect(Self.wakes(Attention(reads: false), commands) == [false, true, true, false])
        #expect(Self.wakes(Attention(readsOfRows: false), commands) == [true, false, false, true])
    }

    @Test("For changes of rows when as many came as are waited for")
    func changes() {
        let commands = [Self.change, Self.read, Self.change, Self.change, Self.change]
        #expect(Self.wakes(Attention(changes: 3), commands) == [false, true, false, true, true])
        #expect(Self.wakes(Attention(changes: .max), commands) == [false, true, false, false, false])
    }

    @Test("A thread that sleeps is not woken by what it is not attentive to, and finds it nevertheless")
    func mailbox() {
        let mailbox = Mailbox()
        #expect(mailbox.fallAsleep(PostgresStatistics(), Attention(reads: false, changes: 2)))
        #expect(mailbox.send(Self.read))
        #expect(mailbox.send(Self.change))
        #expect(!mailbox.isSignalled)
        #expect(mailbox.send(Self.change))
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
