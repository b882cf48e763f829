import Synchronization
import Telemetry

/// Facts about a request for metrics, the access log and the span, collected while the server answers it.
///
/// Each connection reuses one record, because it handles one request at a time.
package final class RequestRecord: Sendable {
    private let meters: RequestMeters.Shard?
    private let row = Atomic<Int>(0)
    private let quiet = Atomic<Bool>(false)
    private let isKnown = Atomic<Bool>(false)
    private let knownCaller = Mutex(Caller())

    /// The caller, for the access log.
    package struct Caller: Sendable {
        package var user: String?
        /// The SDK and its version, such as `js8.2.0`.
        package var client: String?
        /// The rights beyond a client's: `master`, `readOnlyMaster` or `maintenance`, or nil if the caller has none.
        package var power: String?

        package init(user: String? = nil, client: String? = nil, power: String? = nil) {
            self.user = user
            self.client = client
            self.power = power
        }
    }

    /// - Parameter meters: The meters of the connection's event loop, or nil to count nothing.
    package init(_ meters: RequestMeters.Shard? = nil) { self.meters = meters }

    /// Sets the metrics row that counts the request. Each route has its own row.
    package func set(row number: Int) { row.store(number, ordering: .relaxed) }

    var rowNumber: Int { row.load(ordering: .relaxed) }

    @inline(never)
    package func setCaller(_ caller: Caller) {
        knownCaller.withLock { $0 = caller }
        isKnown.store(true, ordering: .releasing)
    }

    /// Returns the recorded caller, empty if none was recorded, and resets it.
    @inline(never)
    func removeCaller() -> Caller {
        guard isKnown.exchange(false, ordering: .acquiring) else { return Caller() }
        return knownCaller.withLock { caller in
            defer { caller = Caller() }
            return caller
        }
    }

    /// Lowers the request's log line to level debug. Lines of probes and CORS preflights would crowd out others.
    package func lowerLogLevel() { quiet.store(true, ordering: .relaxed) }

    var isQuiet: Bool { quiet.load(ordering: .relaxed) }

    func begin(method: String) {
        quiet.store(false, ordering: .relaxed)
        isKnown.store(false, ordering: .relaxed)
        row.store(RequestMeters.row(ofMethod: method), ordering: .relaxed)
        meters?.begin()
    }

    /// Counts a request that has ended.
    ///
    /// - Parameter status: The response status, or 0 if the client left or the response could not be sent.
    func end(status: Int, duration: Duration, received: Int, sent: Int) {
        meters?.end(
            row: row.load(ordering: .relaxed), status: status, duration: duration, received: received, sent: sent)
    }
}
