import NIOCore
import Synchronization
import Telemetry

/// Checks that event loops run: each measures its delay once a second.
final class EventLoopWatch: Sendable {
    private final class Loop: Sendable {
        let lastBeat = Gauge()
        let lag = Gauge()

        init() { lastBeat.set(Int(NIODeadline.now().uptimeNanoseconds)) }
    }

    private let loops: [Loop]
    private let tasks: Mutex<[RepeatedTask]>

    private static let pause: TimeAmount = .seconds(1)
    /// The time without a heartbeat after which an event loop, and thus the process, counts as stuck.
    private static let longest: TimeAmount = .seconds(10)

    init(_ group: any EventLoopGroup) {
        var loops: [Loop] = []
        var tasks: [RepeatedTask] = []
        for eventLoop in group.makeIterator() {
            let loop = Loop()
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

    /// Whether every event loop ran within the last ten seconds.
    var isLive: Bool {
        let now = Int(NIODeadline.now().uptimeNanoseconds)
        return loops.allSatisfy { now - $0.lastBeat.value < Int(Self.longest.nanoseconds) }
    }

    /// Returns the maximum delay of an event loop since the last call, in seconds.
    func consumeMaxLag() -> Double { Double(loops.map { $0.lag.drain() }.max() ?? 0) / 1e9 }

    func stop() {
        for task in tasks.withLock({ $0 }) { task.cancel() }
    }
}
