import FileStorage
import Logging
import Synchronization

/// Stops sending requests to a store that is down. After several consecutive failures it rejects all requests for an
/// increasing time, then lets one through as a probe.
///
/// Each failed connection counts. A failed or missing response counts once per object, because a single object may be
/// broken or too large for the time limit.
package final class StoreBreaker: Sendable {
    private struct State {
        var failures = 0
        /// The objects whose failures have been counted.
        var objects: Set<String> = []
        /// The length of the latest period in which requests were rejected.
        var wait = Duration.zero
        /// The time until which requests are rejected, or nil if they are let through.
        var closedUntil: ContinuousClock.Instant?
        var isProbing = false
    }

    private let state = Mutex(State())
    private let name: String
    private let logger: Logger

    private static let failuresInARow = 5
    private static let longestWait = Duration.seconds(30)

    /// - Parameter name: The store's name in the log.
    package init(name: String, logger: Logger) {
        self.name = name
        self.logger = logger
    }

    /// Whether the store counts as down, so that all requests but a probe are rejected.
    var isClosed: Bool { state.withLock { $0.closedUntil != nil } }

    /// Rejects a request that ``enter()`` would reject, without starting a probe.
    ///
    /// - Throws: ``FileStorageError/unavailable(retryAfter:)``.
    func check() throws { try state.withLock { try Self.check($0) } }

    /// Lets a request through, or throws ``FileStorageError/unavailable(retryAfter:)`` if the store is down. The caller
    /// must report the result of the request.
    ///
    /// - Returns: Whether the request is the probe.
    package func enter() throws -> Bool {
        try state.withLock { state in
            try Self.check(state)
            state.isProbing = state.closedUntil != nil
            return state.isProbing
        }
    }

    package func succeeded() {
        let opened = state.withLock { state in
            defer { state = State() }
            return state.closedUntil != nil
        }
        if opened { logger.notice("file store works again", metadata: ["store": "\(name)"]) }
    }

    /// Records a failed connection, a missing response, or an error response that a retry may resolve. Ignores requests
    /// that began before the store was found to be down.
    ///
    /// - Parameter object: The requested object, if it may be the cause.
    package func failed(_ reason: String, for object: String?, isProbe: Bool) {
        let closed = state.withLock { state in
            let wasOpen = state.closedUntil == nil
            if isProbe {
                state.isProbing = false
            } else {
                guard wasOpen, object.map({ state.objects.insert($0).inserted }) ?? true else { return false }
                state.failures += 1
                guard state.failures == Self.failuresInARow else { return false }
            }
            state.wait = state.wait == .zero ? .seconds(1) : min(state.wait * 2, Self.longestWait)
            state.closedUntil = ContinuousClock.now + state.wait
            return wasOpen
        }
        if closed {
            logger.error(
                "file store not working, rejecting all requests until it recovers",
                metadata: ["store": "\(name)", "reason": "\(reason)"])
        }
    }

    /// Records that a request ended without showing whether the store works.
    func abandoned(isProbe: Bool) {
        if isProbe { state.withLock { $0.isProbing = false } }
    }

    private static func check(_ state: State) throws {
        guard let until = state.closedUntil, state.isProbing || ContinuousClock.now < until else { return }
        let seconds = Int((until - ContinuousClock.now).components.seconds)
        throw FileStorageError.unavailable(retryAfter: max(1, seconds + 1))
    }
}
