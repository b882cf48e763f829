import Foundation
import Logging
import Outgoing
import ServerConfiguration
import Synchronization
import Telemetry

/// Traces of a server, and their way to a collector.
final class TraceExport: Sendable {
    let tracing: TraceRecording
    let exporter: SpanExporter
    private let caller: HTTPCaller
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// The export that a configuration asks for; nil where it asks for none.
    ///
    /// - Throws: When the file of certificates cannot be read.
    init?(_ configuration: Configuration, logger: Logger) throws {
        let options = configuration.tracing
        guard let endpoint = options.endpoint, !options.isDisabled else { return nil }
        let caller = try HTTPCaller(configuration.outgoing, connectionsPerHost: 1)
        self.caller = caller
        var resource: [SpanField] = [
            .text("service.name", options.serviceName), .text("service.version", Version.text),
            .text("host.name", ProcessInfo.processInfo.hostName),
            .number("process.pid", Int(ProcessInfo.processInfo.processIdentifier)),
        ]
        resource += options.resource.map { .text($0.name, $0.value) }
        let lastWarning = Gauge()
        exporter = SpanExporter(
            resource: resource, version: Version.text,
            send: { bytes in
                let call = HTTPCall(
                    "POST", endpoint,
                    headers: [("Content-Type", "application/x-protobuf")] + options.headers.map { ($0.name, $0.value) },
                    body: bytes)
                let reply = try await caller.send(call, timeLimit: .seconds(10))
                return SpanExporter.Answer(
                    status: reply.status, retryAfter: reply.header("Retry-After").flatMap(Double.init))
            },
            warn: { reason in
                let now = Int(Date().timeIntervalSince1970)
                guard now - lastWarning.value >= 60 else { return }
                lastWarning.set(now)
                logger.warning("spans could not be sent", metadata: ["reason": "\(reason)"])
            })
        var settings = TraceRecording.Settings()
        settings.followsParent = options.sampler.followsParent
        settings.keepsSlow = options.keepsSlow
        settings.sampler =
            switch options.sampler {
            case .alwaysOn, .parentOn: .always
            case .alwaysOff, .parentOff: .never
            case .ratio, .parentRatio: .ratio(options.ratio)
            }
        settings.trust =
            switch options.trust {
            case .proxy: .proxy
            case .all: .all
            case .none: .none
            }
        tracing = TraceRecording(settings, exporter: exporter)
    }

    func start() {
        let task = Task { [exporter] in await exporter.run() }
        self.task.withLock { $0 = task }
    }

    /// Sends what is left, and ends.
    func stop() async {
        let task = task.withLock { $0.take() }
        task?.cancel()
        await task?.value
        await exporter.flush()
        await caller.shutdown()
    }
}
