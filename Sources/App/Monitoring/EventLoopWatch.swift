import NIOCore
import Synchronization
import Telemetry

/// Watches whether event loops turn: each notes once a second how late it is.
final class EventLoopWatch: Sendable {
    private final class Loop: Sendable {
        let lastBeat: Gauge
        let lag = Gauge()

        init(_ now: NIODeadline) {
            lastBeat = Gauge()
            lastBeat.set(Int(now.uptimeNanoseconds))
        }
    }

    private let loops: [Loop]
    private let tasks: Mutex<[RepeatedTask]>

    /// How often a loop notes that it runs.
    private static let pause: TimeAmount = .seconds(1)
    /// For how long a loop may be silent until the process counts as stuck.
    private static let longest: TimeAmount = .seconds(10)

    init(_ group: any EventLoopGroup) {
        var loops: [Loop] = []
        var tasks: [RepeatedTask] = []
        for eventLoop in group.makeIterator() {
            let loop = Loop(.now())
            loops.append(loop)
            tasks.append(
                eventLoop.scheduleRepeatedTask(initialDelay: Self.pause, delay: Self.pause) { _ in
                    let now = Int(NIODeadline.now().uptimeNanoseconds)
                    loop.lag.raise(to: now - loop.lastBeat.value - Int(Self.pause.nanoseconds))
                    loop.lastBeat.set(now)
                })
        }
        self.loops = loops
        self.tasks = Mutex(tasks)
    }

    /// Whether all loops turn.
    var isLive: Bool {
        let now = Int(NIODeadline.now().uptimeNanoseconds)
        return loops.allSatisfy { now - $0.lastBeat.value < Int(Self.longest.nanoseconds) }
    }

    /// How late a loop was at most since this was last asked, in seconds.
    func takeLag() -> Double { Double(loops.map { $0.lag.take() }.max() ?? 0) / 1e9 }

    func stop() {
        for task in tasks.withLock({ $0 }) { task.cancel() }
    }
}
