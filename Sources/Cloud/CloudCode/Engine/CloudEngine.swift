public import JSON
import Limits
public import Logging
import Operations
import ParseModel
import Rules
public import ServerConfiguration
import Synchronization
public import Telemetry
import Tracing

/// Runs cloud code: selects the host, applies validators and time limits, and maps failures to errors.
public final class CloudEngine: Sendable {
    private struct State {
        var hosts: [CloudHostKind: any CloudHost] = [:]
        var registry = CloudRegistry()
        var rateLimits: [RateLimit] = []
        var perform: (@Sendable (InternalRequest) async -> InternalReply)?
    }

    /// Maximum nesting depth of calls. Prevents endless recursion of triggers whose saves run the same trigger again.
    static let deepest = 16

    /// The nesting depth assigned to adapter calls. Each depth has its own slots and other calls seldom nest this deep,
    /// so adapter calls rarely wait for them.
    package static let adapterDepth = deepest / 2

    private let state = Mutex(State())
    private let callsTriggers = Atomic(false)
    private let callsFindTriggers = Atomic(false)
    private let limitChanges = Atomic(0)
    let logger: Logger
    private let callLog: CallLog
    let callCounts = CloudCallCounts()
    public let meters: CloudMeters

    /// Creates an engine without hosts.
    ///
    /// - Parameter levels: The log levels of calls.
    public init(
        meters: CloudMeters = CloudMeters(), levels: Configuration.EventLevels = Configuration.EventLevels(),
        logger: Logger
    ) {
        self.meters = meters
        self.logger = logger
        callLog = CallLog(levels: levels, logger: logger)
    }

    /// Adds a host. Must be called before ``start()``.
    public func attach(_ host: any CloudHost) { state.withLock { $0.hosts[host.kind] = host } }

    /// Sets the handler of requests made by cloud code.
    public func serve(_ perform: @escaping @Sendable (InternalRequest) async -> InternalReply) {
        state.withLock { $0.perform = perform }
    }

    /// Starts all hosts in order of precedence.
    ///
    /// - Throws: The error of a host that fails to start.
    public func start() async throws {
        for host in hosts { try await host.start(CloudServices(engine: self, kind: host.kind)) }
    }

    public func shutdown() async {
        for host in hosts { await host.shutdown() }
    }

    private var hosts: [any CloudHost] {
        state.withLock { state in CloudHostKind.allCases.compactMap { state.hosts[$0] } }
    }

    func register(_ registrations: [CloudRegistration], of kind: CloudHostKind) {
        let duplicates = state.withLock { state in
            let duplicates = state.registry.register(registrations, of: kind)
            callsFindTriggers.store(state.registry.hasFindTriggers, ordering: .releasing)
            callsTriggers.store(state.registry.hasTriggers, ordering: .releasing)
            let limits = state.registry.rateLimits
            // Another Node process may register the same limits again, which must not reset the counts.
            if limits != state.rateLimits {
                state.rateLimits = limits
                limitChanges.add(1, ordering: .releasing)
            }
            return duplicates
        }
        for duplicate in duplicates { logger.warning("cloud code defined more than once \(duplicate)") }
    }

    func perform(_ request: InternalRequest) async -> InternalReply {
        guard let perform = state.withLock({ $0.perform }) else {
            let body = JSONValue.object(["error": "Invalid server state: starting"]).serialized()
            return InternalReply(status: 503, body: body)
        }
        return await perform(request)
    }

    /// The names of all functions, sorted.
    public var functionNames: [Name] {
        state.withLock { $0.registry.names { if case .function(let name) = $0 { name } else { nil } } }
    }

    /// The names of all jobs, sorted.
    public var jobNames: [Name] {
        state.withLock { $0.registry.names { if case .job(let name) = $0 { name } else { nil } } }
    }

    /// Returns whether a host has code for a target.
    public func offers(_ target: CloudTarget) -> Bool { entry(target) != nil }

    func entry(_ target: CloudTarget) -> (host: any CloudHost, validator: CloudValidator?, isExclusive: Bool)? {
        state.withLock { state in
            guard let entry = state.registry.entries[target], let host = state.hosts[entry.kind] else { return nil }
            return (host, entry.validator, entry.isExclusive)
        }
    }

    /// All registered targets and the hosts.
    var inventory: (entries: [CloudTarget: CloudRegistry.Entry], hosts: [any CloudHost]) {
        (state.withLock { $0.registry.entries }, hosts)
    }

    /// The rate limits declared by validators.
    public var rateLimits: [RateLimit] { state.withLock { $0.rateLimits } }

    /// A counter that increases with each change of ``rateLimits``. 0 until the first limit is declared.
    public var rateLimitChanges: Int { limitChanges.load(ordering: .acquiring) }

    /// Whether any trigger is registered.
    public var isActive: Bool { callsTriggers.load(ordering: .acquiring) }

    /// Whether any beforeFind or afterFind trigger is registered.
    public var hasFindTriggers: Bool { callsFindTriggers.load(ordering: .acquiring) }

    /// Calls cloud code after its validator passes, with the host's time limit.
    ///
    /// - Returns: The result, or nil if no host has code for the target.
    /// - Throws: `ParseError` if the call is rejected or fails, or `CancellationError` if the task is cancelled.
    public func call(_ call: CloudCall) async throws -> CloudResult? {
        guard let entry = entry(call.target) else { return nil }
        return try await self.call(call, entry.host, entry.validator)
    }

    /// Calls a target of a host after its validator passes.
    ///
    /// - Throws: `ParseError` if the call is rejected or fails, or `CancellationError` if the task is cancelled.
    func call(_ call: CloudCall, _ host: any CloudHost, _ validator: CloudValidator?) async throws -> CloudResult {
        var call = call
        call.size = call.measured()
        guard call.depth <= Self.deepest else {
            throw ParseError(ParseError.scriptFailed, "Trigger recursion is too deep.")
        }
        let measured = call
        return try await admitted(call) { try await self.validated(measured, host, validator) }
    }

    /// Reserves memory for the call and releases the request's slot while the code runs.
    private func admitted(
        _ call: CloudCall, _ body: nonisolated(nonsending) () async throws -> CloudResult
    ) async throws -> CloudResult {
        let place = HeldPlace.current
        let isAlone = HeldMemory.current == nil
        let memory = HeldMemory.current ?? HeldMemory(in: .values, depth: call.isNested ? call.depth - 1 : 0)
        if call.size >= HeldMemory.smallest { try await memory.hold(call.size) }
        place?.goOutside()
        let result: Result<CloudResult, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        // A request may wait for memory while it holds its slot, so it must not wait for the slot while it holds
        // memory. Otherwise requests could wait for each other.
        if isAlone || !Self.isFollowedByAnswer(call) { memory.leave() }
        await place?.comeBack(takingPlace: Self.isFollowedByWrite(call, result))
        return try result.get()
    }

    private func counted(
        _ call: CloudCall, _ host: CloudHostKind, _ body: nonisolated(nonsending) () async throws -> CloudResult
    ) async throws -> CloudResult {
        let start = ContinuousClock.now
        do {
            let result = try await body()
            let duration = ContinuousClock.now - start
            record(.ok, call, host, duration)
            callLog.record(call, duration, nil)
            return result
        } catch {
            let outcome: CloudMeters.Result =
                switch error {
                case let error as ParseError where error.message == TimeLimit.exceeded.message: .timeout
                case let failure as CloudFailure where failure.isUnreachable: .unreachable
                default: .error
                }
            let duration = ContinuousClock.now - start
            record(outcome, call, host, duration)
            callLog.record(call, duration, error)
            throw error
        }
    }

    private func record(
        _ result: CloudMeters.Result, _ call: CloudCall, _ host: CloudHostKind, _ duration: Duration
    ) {
        let (kind, name): (CloudMeters.Kind, String) =
            switch call.target {
            case .function(let name): (.function, "function \(name)")
            case .job(let name): (.job, "job \(name)")
            case .trigger(let event, let className): (.trigger, "\(event.rawValue) \(className)")
            }
        meters.add(kind, host.measured, result, duration)
        callCounts.add(call.target, duration, isFailed: result != .ok)
        guard let span = call.span else { return }
        span.operationName = name
        span.attributes["roost.cloud.host"] = "\(host.measured)"
        if result != .ok { span.setStatus(SpanStatus(code: .error)) }
        span.end()
    }

    private static func isFollowedByAnswer(_ call: CloudCall) -> Bool {
        switch call.target {
        case .function, .trigger(.afterFind, _): true
        default: false
        }
    }

    private static func isFollowedByWrite(_ call: CloudCall, _ result: Result<CloudResult, any Error>) -> Bool {
        if case .trigger(.beforeSave, _) = call.target, case .success = result { true } else { false }
    }

    private func validated(
        _ call: CloudCall, _ host: any CloudHost, _ validator: CloudValidator?
    ) async throws -> CloudResult {
        var call = call
        do {
            var validation: CloudValidation?
            if let validator {
                let made = try CloudValidation(validator, call)
                validation = made
                if call.object == nil { call.params = made.params } else { call.object = made.params }
                for name in made.reverted { call.changes[name] = nil }
                call.changes.merge(made.set) { $1 }
                let checked = call
                if validator.asksHost {
                    try await TimeLimit.run(.seconds(10)) { try await host.validate(checked) }
                }
                if validator.skipWithMasterKey, call.caller.isMaster, case .trigger = call.target {
                    return CloudResult().adding(made)
                }
            }
            let limit = host.timeLimit(of: call.target)
            call.deadline = limit.map { .now + $0 }
            call.span = call.requestSpan.map { request in
                RequestTracer().startSpan("cloud code", context: request.context, ofKind: .client)
            }
            let ready = call
            let result = try await counted(call, host.kind) {
                try await TimeLimit.run(limit) { try await host.call(ready) }
            }
            return validation.map { result.adding($0) } ?? result
        } catch let failure as CloudFailure {
            throw failure.parseError(for: call)
        }
    }
}

extension CloudResult {
    /// Returns the result with the validator's defaults and reverted fields added to the write, unless the code
    /// returned all fields. Values set by the code take precedence.
    func adding(_ validation: CloudValidation) -> CloudResult {
        guard !validation.set.isEmpty || !validation.reverted.isEmpty else { return self }
        var result = self
        switch write {
        case nil: result.write = .operations(validation.set, reverted: validation.reverted)
        case .operations(let operations, let reverted):
            result.write = .operations(
                validation.set.merging(operations) { $1 },
                reverted: reverted + validation.reverted.filter { operations[$0] == nil })
        case .fields: break
        }
        return result
    }
}

extension CloudHostKind {
    /// The label in metrics.
    var measured: CloudMeters.Host {
        switch self {
        case .webhooks: .webhook
        case .swift: .swift
        case .node: .node
        }
    }
}
