import CoreMetrics
import NIOHTTP1
import Synchronization

/// Request metrics, named after OpenTelemetry's conventions for HTTP servers.
final class RequestMetrics: Sendable {
    private struct Key: Hashable {
        var method: String
        var status: Int
    }

    private let factory: any MetricsFactory
    private let active: Meter
    private let timers = Mutex<[Key: CoreMetrics.Timer]>([:])

    init(factory: any MetricsFactory) {
        self.factory = factory
        active = Meter(label: "http.server.active_requests", factory: factory)
    }

    func begin() {
        active.increment()
    }

    /// Records the end of a request. The status is 0 if the client left or the response could not be sent.
    ///
    /// - Parameter method: A method known to SwiftNIO's parser. Others would let clients create any number of metrics.
    func end(method: HTTPMethod, status: Int, duration: Duration) {
        active.decrement()
        let key = Key(method: method.rawValue, status: status)
        let timer = timers.withLock { timers in
            if let timer = timers[key] { return timer }
            let timer = CoreMetrics.Timer(
                label: "http.server.request.duration",
                dimensions: [("http.request.method", key.method), ("http.response.status_code", "\(status)")],
                factory: factory)
            timers[key] = timer
            return timer
        }
        let (seconds, attoseconds) = duration.components
        timer.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
