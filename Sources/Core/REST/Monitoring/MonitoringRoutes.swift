import Encoding
import HTTP
import JSON
import Synchronization
package import Telemetry

extension RouteTable {
    static let monitoring = [
        Route.unread(.get, "health", .anyMethod) { unread in
            unread.request.record.lowerLogLevel()
            return unread.request.isDraining ? .object(["status": "error"], status: 503) : .object(["status": "ok"])
        },
        Route.unread(.get, "health/live", .anyMethod) { $0.monitoring?.live($0.request) },
        Route.unread(.get, "health/ready", .anyMethod) { await $0.monitoring?.ready($0.request, showsReasons: false) },
        Route.unread(.get, "metrics", .anyMethod) { unread in
            guard let monitoring = unread.monitoring, monitoring.isOnMainPort else { return nil }
            return monitoring.metrics(unread.request, needsKey: true)
        },
    ]
}

/// Serves metrics, liveness and readiness.
package final class MonitoringRoutes: Sendable {
    private let readiness: Readiness
    private let page: @Sendable (Exposition.Format) -> Exposition
    private let isLive: @Sendable () -> Bool
    private let beginProbing: @Sendable () async -> Void
    private let key: String?
    /// Whether the main port serves `/metrics`.
    let isOnMainPort: Bool
    private let start = ContinuousClock.now
    private let isReading = Atomic(false)

    /// - Parameters:
    ///   - page: Renders the metrics.
    ///   - isLive: Whether all event loops respond.
    ///   - beginProbing: Starts the readiness probes and waits for their first results.
    ///   - key: The key for reading metrics, or nil if none is configured.
    ///   - isOnMainPort: Whether the main port serves `/metrics`.
    package init(
        readiness: Readiness, page: @escaping @Sendable (Exposition.Format) -> Exposition,
        isLive: @escaping @Sendable () -> Bool, beginProbing: @escaping @Sendable () async -> Void, key: String?,
        isOnMainPort: Bool
    ) {
        self.readiness = readiness
        self.page = page
        self.isLive = isLive
        self.beginProbing = beginProbing
        self.key = key
        self.isOnMainPort = isOnMainPort
    }

    /// Returns the metrics, 401 if the key is missing or wrong, or 503 while another request reads them.
    ///
    /// - Parameter needsKey: Whether the request must contain the metrics key.
    package func metrics(_ request: IncomingRequest, needsKey: Bool) -> Reply {
        request.record.lowerLogLevel()
        if needsKey, !hasKey(request) {
            return Reply(
                status: 401, headers: [("WWW-Authenticate", "Bearer, Basic realm=\"metrics\"")],
                body: .text("The metrics key is required.\n", contentType: Self.plainText))
        }
        guard !isReading.exchange(true, ordering: .acquiring) else {
            return Reply(
                status: 503, headers: [("Retry-After", "1")],
                body: .text("Another scrape is in progress.\n", contentType: Self.plainText))
        }
        defer { isReading.store(false, ordering: .releasing) }
        let text = page(Exposition.Format(accept: Self.field("accept", request)))
        let type = text.format.contentType
        let takesGzip = (Self.field("accept-encoding", request) ?? "").split(separator: ",").contains { coding in
            let parts = coding.split(separator: ";").map { $0.filter { $0 != " " } }
            return parts.first?.asciiLowercased == "gzip" && !parts.contains("q=0")
        }
        guard takesGzip, let packed = Gzip.packed(Array(text.text.utf8), level: 1) else {
            return Reply(headers: [("Vary", Self.vary)], body: .text(text.text, contentType: type))
        }
        return Reply(
            headers: [("Content-Type", type), ("Content-Encoding", "gzip"), ("Vary", Self.vary)],
            body: .json(packed))
    }

    private static let vary = "Accept, Accept-Encoding"

    /// Reads a field that `HeaderName` lacks, because only the monitoring routes use it.
    private static func field(_ name: String, _ request: IncomingRequest) -> String? {
        let values = request.headers.all.filter { $0.name.asciiLowercased == name }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ",")
    }

    /// Reports whether the event loops respond. Ignores the database, because a restart wouldn't repair it.
    package func live(_ request: IncomingRequest) -> Reply {
        request.record.lowerLogLevel()
        let seconds = (Double((ContinuousClock.now - start).wholeNanoseconds) / 1e8).rounded() / 10
        let isLive = isLive()
        return .object(
            ["status": .string(isLive ? "live" : "stuck"), "uptime": .number(seconds)], status: isLive ? 200 : 503)
    }

    /// Reports whether the process should receive requests.
    ///
    /// - Parameter showsReasons: Whether the response includes the reasons for failed checks.
    package func ready(_ request: IncomingRequest, showsReasons: Bool) async -> Reply {
        request.record.lowerLogLevel()
        let answer = await findings(showsReasons: showsReasons)
        let isUnready = answer["status"]?.stringValue == Readiness.Status.unready.rawValue
        var reply = Reply.object(answer, status: isUnready ? 503 : 200)
        if readiness.phase == .starting { reply.headers.append(("Retry-After", "1")) }
        return reply
    }

    /// Returns the latest probe results. Waits for the first ones if necessary.
    package func findings(showsReasons: Bool) async -> JSONObject {
        if !readiness.isKnown { await beginProbing() }
        let (status, phase, found) = readiness.summary
        var checks: JSONObject = [:]
        for (name, check) in found {
            var object: JSONObject = ["status": check.isUp ? "up" : "down"]
            for (name, value) in check.figures { object[Name(name)] = .number(value) }
            if showsReasons, let reason = check.reason { object["reason"] = .string(reason) }
            checks[Name(name)] = .object(object)
        }
        var answer: JSONObject = ["status": .string(status.rawValue), "checks": .object(checks)]
        if phase != .serving { answer["phase"] = .string("\(phase)") }
        return answer
    }

    private func hasKey(_ request: IncomingRequest) -> Bool {
        guard let key, let given = request.headers[.authorization] else { return false }
        let parts = given.split(separator: " ", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return false }
        switch parts[0].asciiLowercased {
        case "bearer": return ConstantTime.areEqual(parts[1], key)
        case "basic":
            return ConstantTime.areEqual(
                String(decoding: Base64.decode(parts[1].utf8), as: UTF8.self), "metrics:\(key)")
        default: return false
        }
    }

    private static let plainText = "text/plain; charset=utf-8"
}

/// Serves `/metrics`, `/live` and `/ready` on a separate port.
package struct MonitoringHandler: HTTPHandler {
    private let routes: MonitoringRoutes
    private let needsKey: Bool

    /// - Parameter needsKey: Whether reading the metrics requires the key.
    package init(_ routes: MonitoringRoutes, needsKey: Bool) {
        self.routes = routes
        self.needsKey = needsKey
    }

    package func answer(_ request: IncomingRequest) async -> Reply {
        let path = request.target.prefix { $0 != "?" }
        guard request.isConditional else { return Self.nothing(405) }
        switch path {
        case "/metrics": return routes.metrics(request, needsKey: needsKey)
        case "/live": return routes.live(request)
        case "/ready": return await routes.ready(request, showsReasons: true)
        default: return Self.nothing(404)
        }
    }

    package func mayTake(_ body: IncomingBody, headers: RequestHeaders) -> Bool { false }

    package var overloaded: Reply { Self.nothing(503) }

    private static func nothing(_ status: Int) -> Reply {
        Reply(status: status, body: .text("/metrics, /live, /ready\n", contentType: "text/plain; charset=utf-8"))
    }
}
