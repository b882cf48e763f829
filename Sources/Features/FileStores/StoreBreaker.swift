import FileStorage
import Logging
import Synchronization

/// Keeps requests from a store that cannot be reached: after some failures in a row it lets none through for a while, which
/// grows; then one, whose end decides.
///
/// A store that cannot be connected to is down. Bad answers, and none, say so where several objects get them: one may be
/// broken, or too large for the time that there is.
final class StoreBreaker: Sendable {
    private struct State {
        var failures = 0
        /// The objects among them.
        var objects: Set<String> = []
        /// For how long the door was closed last.
        var wait = Duration.zero
        /// Until when no request goes through; nil while all do.
        var closedUntil: ContinuousClock.Instant?
        var isProbing = false
    }

    private let state = Mutex(State())
    private let name: String
    private let logger: Logger

    private static let failuresInARow = 5
    private static let longestWait = Duration.seconds(30)

    /// - Parameter name: What the store is called in the log.
    init(name: String, logger: Logger) {
        self.name = name
        self.logger = logger
    }

    /// Whether requests are kept away.
    var isClosed: Bool { state.withLock { $0.closedUntil != nil } }

    /// Refuses what would be refused, without asking to be let through.
    ///
    /// - Throws: ``FileStorageError/unavailable(retryAfter:)``.
    func check() throws {
        try state.withLock { state in
            guard let until = state.closedUntil else { return }
            if state.isProbing || ContinuousClock.now < until { throw Self.refusal(until) }
        }
    }

    /// Lets a request through; its end must be reported; throws ``FileStorageError/unavailable(retryAfter:)``.
    func enter() throws {
        try state.withLock { state in
            guard let until = state.closedUntil else { return }
            if state.isProbing || ContinuousClock.now < until { throw Self.refusal(until) }
            state.isProbing = true
        }
    }

    func succeeded() {
        let opened = state.withLock { state in
            defer { state = State() }
            return state.closedUntil != nil
        }
        if opened { logger.notice("file store reachable again", metadata: ["store": "\(name)"]) }
    }

    /// The store has not answered, or said that it cannot.
    ///
    /// - Parameter object: What was asked for, where that may be the reason.
    func failed(_ reason: String, for object: String?) {
        let closed = state.withLock { state in
            let wasProbing = state.isProbing
            state.isProbing = false
            let isNew = object.map { state.objects.insert($0).inserted } ?? true
            if isNew { state.failures += 1 }
            guard isNew || wasProbing else { return false }
            guard wasProbing || state.failures == Self.failuresInARow else { return false }
            let wasOpen = state.closedUntil == nil
            state.wait = state.wait == .zero ? .seconds(1) : min(state.wait * 2, Self.longestWait)
            state.closedUntil = ContinuousClock.now + state.wait
            return wasOpen
        }
        if closed {
            logger.error(
                "file store unreachable, rejecting uploads until it responds",
                metadata: ["store": "\(name)", "reason": "\(reason)"])
        }
    }

    /// The caller has left before the store answered.
    func abandoned() { state.withLock { $0.isProbing = false } }

    private static func refusal(_ until: ContinuousClock.Instant) -> FileStorageError {
        .unavailable(retryAfter: max(1, Int((until - ContinuousClock.now).components.seconds) + 1))
    }
}
