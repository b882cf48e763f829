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

/// Cloud code: the engine and its hosts.
struct CloudFeature: Feature {
    let engine: CloudEngine
    /// Runs `cloud/main.js`, or nil if there is none.
    private let nodeHost: NodeHost?
    private let configuration: Configuration
    private let logger: Logger

    /// Makes the engine and the hosts that need no backend, and adds what they offer to a backend.
    init(
        _ configuration: Configuration, hosts: [any CloudHost], caller: HTTPCaller?, meters: CloudMeters,
        _ additions: inout BackendExtensions, logger: Logger
    ) throws {
        self.configuration = configuration
        self.logger = logger
        engine = CloudEngine(meters: meters, levels: configuration.eventLevels, logger: logger)
        for host in hosts { engine.attach(host) }
        nodeHost = try NodeHost(
            configuration, sendMail: Deployment.codeMail(configuration, caller),
            noteRestart: { meters.nodeRestarts.add() }, logger: logger)
        if let nodeHost {
            engine.attach(nodeHost)
            additions.addProviders(nodeHost.authProviders)
            additions.askOption = { try await nodeHost.ask($0, $1) }
        }
        if additions.triggers == nil { additions.triggers = engine }
        if additions.jobs == nil { additions.jobs = engine }
    }

    /// Sends mails by an adapter of the app, or nil without Node.
    var mailAdapter: MailAdapterCall? {
        guard let nodeHost else { return nil }
        return { try await nodeHost.sendByAdapter($0) }
    }

    /// The way to an app's own routes, or nil if it has none.
    func proxy() throws -> AppProxy? {
        guard let nodeHost, configuration.cloudMain.servesRoutes else { return nil }
        return try AppProxy(configuration) { await nodeHost.appSocket(within: $0) }
    }

    /// Adds webhooks and the requests of cloud code to its own server.
    func connect(_ routes: ParseRoutes) throws {
        engine.attach(try WebhookHost(configuration, backend: routes.backend, logger: logger))
        engine.serve(try InternalDispatcher(routes))
    }

    func prepare() async throws { try await engine.start() }

    /// Cloud code uploads files by HTTP. With TLS it does so at an address that the certificate can name.
    func listening(on port: Int) { nodeHost?.serve(at: Deployment.ownAddress(configuration, port: port)) }

    func stop() async { await engine.shutdown() }
}

/// Jobs of cloud code, and their schedules.
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
