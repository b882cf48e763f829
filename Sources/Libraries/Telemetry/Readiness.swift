import Synchronization

/// Whether requests should be sent to this server, as its probers last found.
public final class Readiness: Sendable {
    /// Where the server is between its start and its end.
    public enum Phase: Sendable {
        case starting, serving, draining
    }

    /// What was found of something that the server needs or uses.
    public struct Check: Sendable {
        /// Whether it answered.
        public var isUp: Bool
        /// Numbers about it, by their names.
        public var figures: [(name: String, value: Double)]
        /// Why it did not answer, for operators.
        public var reason: String?

        /// A result.
        public init(isUp: Bool, figures: [(name: String, value: Double)] = [], reason: String? = nil) {
            self.isUp = isUp
            self.figures = figures
            self.reason = reason
        }
    }

    /// Something answers, but not well enough.
    public struct Shortfall: Error {
        /// Numbers about it, by their names.
        public var figures: [(name: String, value: Double)]
        /// What is wrong, for operators.
        public var reason: String

        /// Says what is wrong.
        public init(_ reason: String, figures: [(name: String, value: Double)]) {
            (self.figures, self.reason) = (figures, reason)
        }
    }

    /// The answer to whether requests should be sent.
    public enum Status: String, Sendable {
        case ready, degraded, unready
    }

    private struct State {
        var phase = Phase.starting
        var checks: [String: Check] = [:]
        var needed: Set<String> = []
        /// The names of what must be looked at before readiness is known.
        var expected: Set<String> = []
        /// How often in a row what is needed did not answer.
        var failures: [String: Int] = [:]
    }

    private let state = Mutex(State())

    /// After how many failures in a row something counts as down: a pause of the network takes no server out.
    static let tolerated = 2

    /// The readiness of a server that starts.
    public init() {}

    /// The server's phase.
    public var phase: Phase { state.withLock { $0.phase } }

    /// Adds parts that must be looked at before readiness is known.
    public func expect(_ names: [String]) { state.withLock { $0.expected.formUnion(names) } }

    /// Whether there is a first result, also of every part that is expected.
    public var isKnown: Bool {
        state.withLock { !$0.checks.isEmpty && $0.expected.isSubset(of: $0.checks.keys) }
    }

    /// Notes where the server is.
    public func enter(_ phase: Phase) { state.withLock { $0.phase = phase } }

    /// Notes what was found.
    ///
    /// - Parameter isNeeded: Whether no request can be served without it.
    public func note(_ check: Check, of name: String, isNeeded: Bool) {
        state.withLock { state in
            state.checks[name] = check
            if isNeeded { state.needed.insert(name) }
            state.failures[name] = check.isUp ? 0 : state.failures[name, default: 0] + 1
        }
    }

    /// The status, and its causes by name.
    public var summary: (status: Status, phase: Phase, checks: [(name: String, check: Check)]) {
        state.withLock { state in
            let down = state.failures.filter { $0.value >= Self.tolerated }.map(\.key)
            let checks = state.checks.sorted { $0.key < $1.key }.map { (name: $0.key, check: $0.value) }
            guard state.phase == .serving, down.allSatisfy({ !state.needed.contains($0) }) else {
                return (.unready, state.phase, checks)
            }
            return (down.isEmpty ? .ready : .degraded, state.phase, checks)
        }
    }

    /// Whether something counts as up; nil where it was not looked at yet.
    public func isUp(_ name: String) -> Bool? {
        state.withLock { state in state.failures[name].map { $0 < Self.tolerated } }
    }
}

/// Looks whether something that the server needs or uses answers. A file storage, or any other part, may be one.
public protocol ReadinessProbe: Sendable {
    /// The name in the answer, as `fileStore`.
    var probeName: String { get }
    /// Whether no request can be served without it.
    var isNeeded: Bool { get }

    /// Looks once.
    ///
    /// - Returns: Numbers about it, by their names.
    /// - Throws: ``Readiness/Shortfall``, or why it does not answer.
    func probe() async throws -> [(name: String, value: Double)]
}

/// Has probes look again and again, beside all requests: who asks for readiness gets what was found last.
public struct Prober: Sendable {
    private let probes: [any ReadinessProbe]
    private let readiness: Readiness
    private let pause: Duration
    private let limit: Duration

    /// - Parameters:
    ///   - pause: How long it takes from one look to the next.
    ///   - limit: How long something may take to answer.
    public init(
        _ probes: [any ReadinessProbe], _ readiness: Readiness, pause: Duration = .seconds(2),
        limit: Duration = .seconds(1)
    ) {
        self.probes = probes
        self.readiness = readiness
        self.pause = pause
        self.limit = limit
    }

    /// Looks until the task is cancelled.
    public func run() async {
        await withDiscardingTaskGroup { group in
            for probe in probes { group.addTask { await self.run(probe) } }
        }
    }

    private func run(_ probe: any ReadinessProbe) async {
        while !Task.isCancelled {
            let start = ContinuousClock.now
            let check = await look(probe)
            if Task.isCancelled { return }
            readiness.note(check, of: probe.probeName, isNeeded: probe.isNeeded)
            // What did not answer is asked once more soon, so that its end is noticed within twice the limit.
            let next = check.isUp ? pause : min(pause, limit / 2)
            try? await Task.sleep(until: start + max(next, .now - start), clock: .continuous)
        }
    }

    private func look(_ probe: any ReadinessProbe) async -> Readiness.Check {
        let start = ContinuousClock.now
        return await withTaskGroup(of: Readiness.Check.self) { group in
            group.addTask {
                do {
                    let figures = try await probe.probe()
                    let milliseconds = Double((ContinuousClock.now - start).wholeNanoseconds / 1000) / 1000
                    return Readiness.Check(isUp: true, figures: [("ms", milliseconds)] + figures)
                } catch let shortfall as Readiness.Shortfall {
                    return Readiness.Check(isUp: false, figures: shortfall.figures, reason: shortfall.reason)
                } catch {
                    return Readiness.Check(isUp: false, reason: "\(error)")
                }
            }
            group.addTask { [limit] in
                try? await Task.sleep(for: limit)
                return Readiness.Check(isUp: false, reason: "no answer within \(limit)")
            }
            let first = await group.next() ?? Readiness.Check(isUp: false)
            group.cancelAll()
            return first
        }
    }
}
