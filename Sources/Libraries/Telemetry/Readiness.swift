import Limits
import Synchronization

/// The server's readiness for requests, according to the latest probes.
public final class Readiness: Sendable {
    /// The phase of the server between start and stop.
    public enum Phase: Sendable {
        case starting, serving, draining
    }

    /// The result of probing a dependency.
    public struct Check: Sendable {
        /// Whether the dependency works.
        public var isUp: Bool
        /// Measurements by name.
        public var figures: [(name: String, value: Double)]
        /// The failure, for operators.
        public var reason: String?

        public init(isUp: Bool, figures: [(name: String, value: Double)] = [], reason: String? = nil) {
            self.isUp = isUp
            self.figures = figures
            self.reason = reason
        }
    }

    /// The error of a probe whose dependency responds but doesn't work properly.
    public struct Shortfall: Error, CustomStringConvertible {
        /// Measurements by name.
        public var figures: [(name: String, value: Double)]
        /// The problem, for operators.
        public var reason: String

        public var description: String { reason }

        public init(_ reason: String, figures: [(name: String, value: Double)]) {
            (self.figures, self.reason) = (figures, reason)
        }
    }

    /// The readiness of the server.
    public enum Status: String, Sendable {
        case ready, degraded, unready
    }

    private struct State {
        var phase = Phase.starting
        var checks: [String: Check] = [:]
        var needed: Set<String> = []
        /// The names of the dependencies that must be probed before readiness is known.
        var expected: Set<String> = []
        /// The number of consecutive failures of each dependency.
        var failures: [String: Int] = [:]
    }

    private let state = Mutex(State())

    /// The number of consecutive failures after which a dependency counts as down. More than one, since a short network
    /// interruption can make a single probe fail.
    static let tolerated = 2

    public init() {}

    public var phase: Phase { state.withLock { $0.phase } }

    /// Adds dependencies that must be probed before readiness is known.
    public func expect(_ names: [String]) { state.withLock { $0.expected.formUnion(names) } }

    /// Whether at least one dependency and all expected ones have been probed.
    public var isKnown: Bool {
        state.withLock { !$0.checks.isEmpty && $0.expected.isSubset(of: $0.checks.keys) }
    }

    public func enter(_ phase: Phase) { state.withLock { $0.phase = phase } }

    /// Records the result of a probe.
    ///
    /// - Parameter isNeeded: Whether the server can't handle any request without the dependency.
    public func record(_ check: Check, of name: String, isNeeded: Bool) {
        state.withLock { state in
            state.checks[name] = check
            if isNeeded { state.needed.insert(name) }
            state.failures[name] = check.isUp ? 0 : state.failures[name, default: 0] + 1
        }
    }

    /// The status with the results of all probes, sorted by name.
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

    /// Returns whether a dependency counts as up, or nil if it hasn't been probed yet.
    public func isUp(_ name: String) -> Bool? {
        state.withLock { state in state.failures[name].map { $0 < Self.tolerated } }
    }
}

/// Probes a dependency of the server, such as the file store.
public protocol ReadinessProbe: Sendable {
    /// The name in the readiness response, such as `fileStore`.
    var probeName: String { get }
    /// Whether the server can't handle any request without the dependency.
    var isNeeded: Bool { get }

    /// Probes the dependency once.
    ///
    /// - Returns: Measurements by name.
    /// - Throws: ``Readiness/Shortfall``, or the error of the dependency.
    func probe() async throws -> [(name: String, value: Double)]
}

/// Runs probes periodically in the background, so that readiness requests return the latest results immediately.
public struct Prober: Sendable {
    private let probes: [any ReadinessProbe]
    private let readiness: Readiness
    private let pause: Duration
    private let limit: Duration

    /// - Parameters:
    ///   - pause: The interval between two probes of a working dependency.
    ///   - limit: The timeout of a probe.
    public init(
        _ probes: [any ReadinessProbe], _ readiness: Readiness, pause: Duration = .seconds(2),
        limit: Duration = .seconds(1)
    ) {
        self.probes = probes
        self.readiness = readiness
        self.pause = pause
        self.limit = limit
    }

    /// Runs all probes until the task is cancelled.
    public func run() async {
        await withDiscardingTaskGroup { group in
            for probe in probes { group.addTask { await self.run(probe) } }
        }
    }

    private func run(_ probe: any ReadinessProbe) async {
        while !Task.isCancelled {
            let start = ContinuousClock.now
            let check = await result(probe)
            if Task.isCancelled { return }
            readiness.record(check, of: probe.probeName, isNeeded: probe.isNeeded)
            // Probes a failed dependency again soon, so that a change is detected within twice the timeout.
            let next = check.isUp ? pause : min(pause, limit / 2)
            try? await Task.sleep(until: start + max(next, .now - start), clock: .continuous)
        }
    }

    private func result(_ probe: any ReadinessProbe) async -> Readiness.Check {
        let start = ContinuousClock.now
        do {
            guard let figures = try await withTimeLimit(limit, { try await probe.probe() }) else {
                return Readiness.Check(isUp: false, reason: "no response within \(limit)")
            }
            let milliseconds = Double((ContinuousClock.now - start).wholeNanoseconds / 1000) / 1000
            return Readiness.Check(isUp: true, figures: [("ms", milliseconds)] + figures)
        } catch let shortfall as Readiness.Shortfall {
            return Readiness.Check(isUp: false, figures: shortfall.figures, reason: shortfall.reason)
        } catch {
            return Readiness.Check(isUp: false, reason: "\(error)")
        }
    }
}
