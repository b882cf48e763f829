import CoreMetrics
import NIOHTTP1
import Synchronization

/// What is measured of requests, by the names of OpenTelemetry's conventions for HTTP servers.
final class RequestMetrics: Sendable {
    private struct Key: Hashable {
        var method: String
        var status: Int
    }

    private let factory: any MetricsFactory
    private let active: Meter
    private let timers = Mutex<[Key: CoreMetrics.Timer]>([:])

    /// - Parameter factory: Makes what keeps the figures.
    init(factory: any MetricsFactory) {
        self.factory = factory
        active = Meter(label: "http.server.active_requests", factory: factory)
    }

    /// Notes that a request is answered from now on.
    func begin() {
        active.increment()
    }

    /// Notes that a request was answered.
    ///
    /// - Parameter method: One of those that SwiftNIO's parser knows, so that clients cannot make up more figures.
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
