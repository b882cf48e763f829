import Synchronization
import Telemetry

/// What is found out about a request while it is answered, for metrics and for its log line.
///
/// A connection has one, since its requests follow one another: nothing is allocated for a request.
package final class RequestRecord: Sendable {
    private let meters: RequestMeters.Shard?
    private let row = Atomic<Int>(0)
    private let quiet = Atomic<Bool>(false)
    private let isKnown = Atomic<Bool>(false)
    private let knownCaller = Mutex(Caller())

    /// Who sent the request, as lines have it.
    package struct Caller: Sendable {
        package var user: String?
        /// The SDK, as `js8.2.0`.
        package var client: String?
        /// What the key is worth, where it is no client's.
        package var power: String?

        /// A caller of whom nothing is known, or what is.
        package init(user: String? = nil, client: String? = nil, power: String? = nil) {
            self.user = user
            self.client = client
            self.power = power
        }
    }

    /// - Parameter meters: The numbers of the connection's event loop; nil where none are kept.
    package init(_ meters: RequestMeters.Shard? = nil) { self.meters = meters }

    /// Notes which row of the metrics the request belongs to.
    package func note(row number: Int) { row.store(number, ordering: .relaxed) }

    /// The row of the metrics that the request belongs to.
    var rowNumber: Int { row.load(ordering: .relaxed) }

    /// Notes who sent the request.
    @inline(never)
    package func note(_ caller: Caller) {
        knownCaller.withLock { $0 = caller }
        isKnown.store(true, ordering: .releasing)
    }

    /// Who sent the request, as far as that is known.
    @inline(never)
    func takeCaller() -> Caller {
        guard isKnown.exchange(false, ordering: .acquiring) else { return Caller() }
        return knownCaller.withLock { caller in
            defer { caller = Caller() }
            return caller
        }
    }

    /// Has the request logged at the level debug: probes would push all other lines out.
    package func keepQuiet() { quiet.store(true, ordering: .relaxed) }

    /// Whether the request is logged at the level debug.
    var isQuiet: Bool { quiet.load(ordering: .relaxed) }

    func begin(method: String) {
        quiet.store(false, ordering: .relaxed)
        isKnown.store(false, ordering: .relaxed)
        row.store(RequestMeters.row(ofMethod: method), ordering: .relaxed)
        meters?.begin()
    }

    /// Counts the request that has ended.
    ///
    /// - Parameter status: The status of the answer; 0 when the client left before it.
    func end(status: Int, duration: Duration, received: Int, sent: Int) {
        meters?.end(
            row: row.load(ordering: .relaxed), status: status, duration: duration, received: received, sent: sent)
    }
}
