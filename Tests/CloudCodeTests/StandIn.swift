import CloudCode
import JSON
import Logging
import ParseModel
import Synchronization

/// An in-process host whose functions and triggers run a closure.
final class PlainHost: CloudHost {
    typealias Body = @Sendable (CloudCall) async throws -> CloudResult

    let kind: CloudHostKind
    private let limit: Duration?
    private let registrations: [CloudRegistration]
    private let body: Body
    private let services = Mutex<CloudServices?>(nil)

    init(
        _ registrations: [CloudRegistration], kind: CloudHostKind = .swift, limit: Duration? = nil,
        _ body: @escaping Body
    ) {
        self.kind = kind
        self.registrations = registrations
        self.limit = limit
        self.body = body
    }

    func start(_ services: CloudServices) async throws {
        self.services.withLock { $0 = services }
        services.offer(registrations)
    }

    func offer(_ registrations: [CloudRegistration]) { services.withLock { $0?.offer(registrations) } }

    func timeLimit(of target: CloudTarget) -> Duration? { limit }

    func call(_ call: CloudCall) async throws -> CloudResult { try await body(call) }

    func validate(_ call: CloudCall) async throws {
        if call.params["host"] == "refuses" { throw CloudFailure("The host refuses.") }
    }
}

extension CloudEngine {
    static func with(_ hosts: PlainHost...) async throws -> CloudEngine {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let engine = CloudEngine(logger: logger)
        for host in hosts { engine.attach(host) }
        try await engine.start()
        return engine
    }
}
