import Logging
import Outgoing
import Platform
import ServerConfiguration
import Telemetry
import Tracing

struct TraceExport: Feature {
    let tracer: RequestTracer
    let exporter: SpanExporter
    private let caller: HTTPCaller

    /// Creates the tracer and the export of its spans, or returns nil if no collector is configured or tracing is off.
    ///
    /// - Throws: An error if the file of trusted certificates can't be read.
    init?(_ configuration: Configuration, logger: Logger) throws {
        let options = configuration.tracing
        guard let endpoint = options.endpoint, !options.isDisabled else { return nil }
        let caller = try HTTPCaller(configuration.outgoing, connectionsPerHost: 1)
        self.caller = caller
        var resource: SpanAttributes = [
            "service.name": .string(options.serviceName), "service.version": .string(Version.text),
            "host.name": .string(ProcessInfo.processInfo.hostName),
            "process.pid": .int32(ProcessInfo.processInfo.processIdentifier),
        ]
        for pair in options.resource { resource[pair.name] = pair.value }
        let headers = [("Content-Type", "application/x-protobuf")] + options.headers.map { ($0.name, $0.value) }
        let lastWarning = Gauge()
        exporter = SpanExporter(resource: resource, version: Version.text) { request, timeLimit in
            let call = HTTPCall("POST", endpoint, headers: headers, body: request)
            let reply = try await caller.send(call, timeLimit: min(timeLimit, .seconds(10)))
            return (reply.status, reply.header("Retry-After").flatMap(Double.init))
        } warn: { reason in
            let now = Int(Date().timeIntervalSince1970)
            guard now - lastWarning.value >= 60 else { return }
            lastWarning.set(now)
            logger.warning("can't send trace spans", metadata: ["reason": "\(reason)"])
        }
        var settings = RequestTracer.Settings()
        settings.followsParent = options.sampler.followsParent
        settings.slow = options.keepsSlow ? .milliseconds(configuration.slowRequest) : nil
        settings.ratio =
            switch options.sampler {
            case .alwaysOn, .parentOn: 1
            case .alwaysOff, .parentOff: 0
            case .ratio, .parentRatio: options.ratio
            }
        settings.trust =
            switch options.trust {
            case .proxy: .proxy
            case .all: .all
            case .none: .none
            }
        tracer = RequestTracer(settings, exporter: exporter)
    }

    func run() async { await exporter.run() }

    /// Sends the remaining spans and closes the connections.
    func stop() async {
        await exporter.flush()
        await caller.shutdown()
    }
}
