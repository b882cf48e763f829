import Postgres
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

@Suite("Wake conditions of the I/O thread")
struct WakeConditionTests {
    private static let read = CommandQueue.Command.submit(Request(.statements([]), isReadOnly: true))
    private static let change = CommandQueue.Command.submit(
        Request(.statements([]), conflictKey: "Song:1", sharesTransaction: true))
    private static let write = CommandQueue.Command.submit(Request(.statements([])))

    /// For each of consecutive commands, whether the condition wakes the thread.
    private static func wakes(_ wakeCondition: WakeCondition, _ commands: [CommandQueue.Command]) -> [Bool] {
        commands.map { wakeCondition.isMet(by: $0) }
    }

    @Test("Wakes for every command by default", arguments: [read, change, write, .shutDown])
    func everything(command: CommandQueue.Command) {
        #expect(Self.wakes(WakeCondition(), [command]) == [true])
    }

    @Test("Wakes for every command but reads while no connection has room for reads")
    func reads() {
        let commands = [Self.read, Self.read, Self.write, Self.change, .shutDown]
        #expect(Self.wakes(WakeCondition(reads: false), commands) == [false, false, true, true, true])
    }

    @Test("Treats ordinary reads, potentially slow reads and reads of unknown cost separately")
    func searches() throws {
        let shape = ReadShape(try EncodedStatement(Statement("SELECT 1")).key, maxRows: 1, leadsToMore: false)
        let search = CommandQueue.Command.submit(
            Request(.statements([]), isReadOnly: true, shape: shape, isSearch: true))
        #expect(Self.wakes(WakeCondition(searches: false), [search, Self.read]) == [false, true])
        let unknown = CommandQueue.Command.submit(
            Request(.statements([]), isReadOnly: true, shape: shape, isSearch: true, isUnknown: true))
        #expect(Self.wakes(WakeCondition(searches: false), [unknown]) == [true])
        #expect(Self.wakes(WakeCondition(reads: false), [search, Self.read]) == [true, false])
    }

    @Test("Wakes for every command but row changes while earlier changes are in flight")
    func changes() {
        let commands = [Self.change, Self.read, Self.change, Self.write, .shutDown]
        #expect(Self.wakes(WakeCondition(changes: false), commands) == [false, true, false, true, true])
    }

    @Test("Commands outside the wake condition are queued without waking the thread")
    func commandQueue() {
        let commandQueue = CommandQueue()
        var statistics = PostgresStatistics()
        let isAsleep = commandQueue.fallAsleep(&statistics, WakeCondition(reads: false, changes: false))
        #expect(isAsleep)
        #expect(commandQueue.send(Self.read))
        #expect(commandQueue.send(Self.change))
        #expect(!commandQueue.isSignalled)
        #expect(commandQueue.send(Self.write))
        #expect(commandQueue.isSignalled)
        var commands: [CommandQueue.Command] = []
        commandQueue.drain(&commands)
        #expect(commands.count == 3)
    }
}

extension CommandQueue {
    fileprivate var isSignalled: Bool {
        var descriptor = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, 0) == 1
    }
}
