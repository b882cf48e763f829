import CloudCode
import Logging
import Mail
import NodeHost
import Operations
import Outgoing
import REST
import ServerConfiguration
import Telemetry
import Webhooks

/// The cloud-code engine and its hosts.
struct CloudFeature: Feature {
    let engine: CloudEngine
    private let nodeHost: NodeHost?
    private let configuration: Configuration
    private let logger: Logger

    /// Creates the engine and the hosts that need no backend, and adds their triggers, jobs and sign-in providers.
    init(
        _ configuration: Configuration, hosts: [any CloudHost], mails: MailWriter?, caller: HTTPCaller?,
        meters: CloudMeters, _ additions: inout BackendExtensions, logger: Logger
    ) throws {
        self.configuration = configuration
        self.logger = logger
        engine = CloudEngine(meters: meters, levels: configuration.eventLevels, logger: logger)
        for host in hosts { engine.attach(host) }
        let sendMail = try Deployment.codeMail(configuration, mails, caller)
        nodeHost = try NodeSettings(configuration).map {
            NodeHost($0, sendMail: sendMail, onRestart: { meters.nodeRestarts.add() }, logger: logger)
        }
        if let nodeHost {
            engine.attach(nodeHost)
            additions.authProviders.merge(nodeHost.authProviders(replacing: additions.authProviders)) { $1 }
            additions.askOption = { try await nodeHost.ask($0, $1) }
        }
        if additions.triggers == nil { additions.triggers = engine }
        if additions.jobs == nil { additions.jobs = engine }
    }

    /// The function that sends emails with the app's own adapter, or nil without Node.js.
    var mailAdapter: MailAdapterCall? {
        guard let nodeHost else { return nil }
        return { try await nodeHost.sendByAdapter($0) }
    }

    /// Returns the proxy to the app's own HTTP routes, or nil if it has none.
    func proxy() throws -> AppProxy? {
        guard let nodeHost, configuration.cloudMain.servesRoutes else { return nil }
        return try AppProxy(configuration) { await nodeHost.appSocket(within: $0) }
    }

    /// Connects the hosts that need the server: webhooks, and requests of cloud code to its own server.
    func connect(_ routes: ParseRoutes) throws {
        engine.attach(try WebhookHost(configuration, backend: routes.backend, logger: logger))
        engine.serve(try InternalDispatcher(routes).perform)
    }

    func prepare() async throws { try await engine.start() }

    /// Passes the server's own address to cloud code, which needs it for file uploads. With TLS, it is the configured
    /// URL, whose host the certificate covers.
    func listening(on port: Int) { nodeHost?.serve(at: Deployment.ownAddress(configuration, port: port)) }

    func stop() async { await engine.shutdown() }
}

struct JobFeature: Feature {
    let backend: Backend

    func prepare() async throws {
        guard !backend.jobs.names.isEmpty, !backend.configuration.readOnly else { return }
        try await backend.jobRunner?.prepare()
    }

    func run() async {
        guard !backend.configuration.readOnly else { return }
        async let runs: Void? = backend.jobRunner?.run()
        await backend.jobs.followSchedules()
        _ = await runs
    }

    func stop() async { await backend.jobRunner?.stop() }
}
