import Postgres
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

@Suite("What the I/O thread wakes up for")
struct WakeConditionTests {
    private static let read = CommandQueue.Command.submit(Request(.statements([]), isReadOnly: true))
    private static let change = CommandQueue.Command.submit(
        Request(.statements([]), conflictKey: "Song:1", sharesTransaction: true))
    private static let write = CommandQueue.Command.submit(Request(.statements([])))

    /// For each of consecutive commands, whether the condition wakes the thread.
    private static func wakes(_ wakeCondition: WakeCondition, _ commands: [CommandQueue.Command]) -> [Bool] {
        commands.map { wakeCondition.isMet(by: $0) }
    }

    @Test("For everything, when nothing is said", arguments: [read, change, write, .shutDown])
    func everything(command: CommandQueue.Command) {
        #expect(Self.wakes(WakeCondition(), [command]) == [true])
    }

    @Test("Not for reads while no connection has room for them, but for everything else")
    func reads() {
        let commands = [Self.read, Self.read, Self.write, Self.change, .shutDown]
        #expect(Self.wakes(WakeCondition(reads: false), commands) == [false, false, true, true, true])
    }

    @Test("Reads that may take long are woken for by themselves")
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

    @Test("Not for changes of rows while those before them are under way, but for everything else")
    func changes() {
        let commands = [Self.change, Self.read, Self.change, Self.write, .shutDown]
        #expect(Self.wakes(WakeCondition(changes: false), commands) == [false, true, false, true, true])
    }

    @Test("A thread that sleeps is not woken by what its wake condition leaves out, and finds it nevertheless")
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
