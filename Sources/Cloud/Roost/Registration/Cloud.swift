import CloudCode
import JSON
public import OrderedCollections
import ParseModel
import Synchronization

/// The cloud code of an app: functions, jobs, and what is called around saves, deletions, finds, log-ins and files.
///
/// All is registered before the server starts. What code throws refuses what it was called for: a ``ParseError`` goes
/// to the client as it is, everything else as 141 with its text. A call that takes longer than ``timeLimit`` is
/// cancelled, and the client gets 124.
public final class Cloud: Sendable {
    /// What is called, with the call and what it may use of the server.
    typealias Handler = @Sendable (CloudCall, CallDetails) async throws -> CloudResult

    struct Entry: Sendable {
        let registration: CloudRegistration
        let handler: Handler
    }

    struct State {
        var entries: [CloudTarget: Entry] = [:]
        var duplicates: [CloudTarget] = []
        var timeLimit: Duration? = .seconds(60)
        var hasStarted = false
    }

    private let state = Mutex(State())

    package init() {}

    /// How long a call may take; nil for as long as it takes. Jobs have no limit. 60 seconds unless it is set.
    public var timeLimit: Duration? {
        get { state.withLock { $0.timeLimit } }
        set { state.withLock { $0.timeLimit = newValue } }
    }

    /// Registers what is called for a target. Of two for the same, the last one counts.
    func register(
        _ target: CloudTarget, _ requirements: Requirements = [], isExclusive: Bool = false,
        _ handler: @escaping Handler
    ) {
        state.withLock { state in
            precondition(!state.hasStarted, "Cloud code is registered before the server starts.")
            var registration = CloudRegistration(target, validator: requirements.registered)
            registration.isExclusive = isExclusive
            let entry = Entry(registration: registration, handler: handler)
            if state.entries.updateValue(entry, forKey: target) != nil { state.duplicates.append(target) }
        }
    }

    /// All that is registered, from now on for good.
    func seal() -> (entries: [CloudTarget: Entry], duplicates: [CloudTarget]) {
        state.withLock { state in
            state.hasStarted = true
            return (state.entries, state.duplicates)
        }
    }

    /// Registers a function: `POST /functions/<name>`.
    ///
    /// - Parameters:
    ///   - requirements: What is checked before it is called.
    ///   - body: Gives the result, or a ``FunctionAnswer``.
    public func define<Output: Encodable & Sendable>(
        _ name: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (FunctionRequest<JSONObject>) async throws -> Output
    ) {
        register(.function(Name(name)), requirements) { call, details in
            try CloudResult(try await body(FunctionRequest(details, call.params)))
        }
    }

    /// Registers a function that gives nothing.
    public func define(
        _ name: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (FunctionRequest<JSONObject>) async throws -> Void
    ) {
        register(.function(Name(name)), requirements) { call, details in
            try await body(FunctionRequest(details, call.params))
            return CloudResult()
        }
    }

    /// Registers a function whose parameters are a type of the app. Others are refused with 142.
    public func define<Params: Decodable & Sendable, Output: Encodable & Sendable>(
        _ name: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (FunctionRequest<Params>) async throws -> Output
    ) {
        register(.function(Name(name)), requirements) { call, details in
            let params: Params = try ValueDecoder.params(call.params)
            return try CloudResult(try await body(FunctionRequest(details, params)))
        }
    }

    /// Registers a function whose parameters are a type of the app, and that gives nothing.
    public func define<Params: Decodable & Sendable>(
        _ name: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (FunctionRequest<Params>) async throws -> Void
    ) {
        register(.function(Name(name)), requirements) { call, details in
            try await body(FunctionRequest(details, try ValueDecoder.params(call.params)))
            return CloudResult()
        }
    }

    /// Registers a job: `POST /jobs/<name>`, and schedules.
    ///
    /// - Parameters:
    ///   - oneAtATime: Whether it runs once at a time, of all processes on the database.
    ///   - body: Gives the message that its row ends with; nil for the last one that was reported.
    public func job(
        _ name: String, oneAtATime: Bool = false,
        _ body: @escaping @Sendable (JobRequest<JSONObject>) async throws -> String?
    ) {
        register(.job(Name(name)), isExclusive: oneAtATime) { call, details in
            let message = try await body(JobRequest(details, call.params))
            return CloudResult(value: message.map { .string($0) })
        }
    }

    /// Registers a job that ends without a message.
    public func job(
        _ name: String, oneAtATime: Bool = false,
        _ body: @escaping @Sendable (JobRequest<JSONObject>) async throws -> Void
    ) {
        register(.job(Name(name)), isExclusive: oneAtATime) { call, details in
            try await body(JobRequest(details, call.params))
            return CloudResult()
        }
    }
}

extension CloudResult {
    fileprivate init(_ output: some Encodable) throws {
        guard let answer = output as? FunctionAnswer else {
            self.init(value: try ValueEncoder.encode(output))
            return
        }
        self.init(value: answer.value)
        status = answer.status
        headers = answer.headers
    }
}
