import CloudCode
import JSON
public import OrderedCollections
import ParseModel
import Synchronization

/// The cloud code of an app: functions, jobs and triggers.
///
/// Register everything before the server starts. Errors thrown by before triggers and functions reject the request: the
/// client gets a ``ParseError`` unchanged and any other error as 141 with its text, or as 130 or 153 from file
/// triggers. Errors of triggers for file reads become HTTP 403 without a code. A call that exceeds ``timeLimit`` is
/// cancelled and fails with 124.
public final class Cloud: Sendable {
    /// A function that handles a call. `CallDetails` gives access to the server.
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

    /// The time limit of calls, or nil for none. 60 seconds by default. Doesn't apply to jobs.
    public var timeLimit: Duration? {
        get { state.withLock { $0.timeLimit } }
        set { state.withLock { $0.timeLimit = newValue } }
    }

    /// Registers the handler of a target. A second registration replaces the first and is logged as a warning.
    func register(
        _ target: CloudTarget, _ requirements: Requirements = [], isExclusive: Bool = false,
        _ handler: @escaping Handler
    ) {
        state.withLock { state in
            precondition(!state.hasStarted, "Register cloud code before the server starts.")
            var registration = CloudRegistration(target, validator: requirements.registered)
            registration.isExclusive = isExclusive
            let entry = Entry(registration: registration, handler: handler)
            if state.entries.updateValue(entry, forKey: target) != nil { state.duplicates.append(target) }
        }
    }

    /// Returns all registrations. Registering more afterward traps.
    func seal() -> (entries: [CloudTarget: Entry], duplicates: [CloudTarget]) {
        state.withLock { state in
            state.hasStarted = true
            return (state.entries, state.duplicates)
        }
    }

    /// Registers a function, which clients call with `POST /functions/<name>`.
    ///
    /// - Parameters:
    ///   - name: The name that clients call.
    ///   - requirements: Conditions checked before each call.
    ///   - body: Returns the result, or a ``FunctionAnswer`` to set the status and header fields.
    public func define<Output: Encodable & Sendable>(
        _ name: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (FunctionRequest<JSONObject>) async throws -> Output
    ) {
        register(.function(Name(name)), requirements) { call, details in
            try CloudResult(try await body(FunctionRequest(details, call.params)))
        }
    }

    /// Registers a function without a result.
    public func define(
        _ name: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (FunctionRequest<JSONObject>) async throws -> Void
    ) {
        register(.function(Name(name)), requirements) { call, details in
            try await body(FunctionRequest(details, call.params))
            return CloudResult()
        }
    }

    /// Registers a function with typed parameters. If they can't be decoded, the client gets 142.
    public func define<Params: Decodable & Sendable, Output: Encodable & Sendable>(
        _ name: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (FunctionRequest<Params>) async throws -> Output
    ) {
        register(.function(Name(name)), requirements) { call, details in
            let params: Params = try ValueDecoder.params(call.params)
            return try CloudResult(try await body(FunctionRequest(details, params)))
        }
    }

    /// Registers a function with typed parameters and no result. If they can't be decoded, the client gets 142.
    public func define<Params: Decodable & Sendable>(
        _ name: String, requires requirements: Requirements = [],
        _ body: @escaping @Sendable (FunctionRequest<Params>) async throws -> Void
    ) {
        register(.function(Name(name)), requirements) { call, details in
            try await body(FunctionRequest(details, try ValueDecoder.params(call.params)))
            return CloudResult()
        }
    }

    /// Registers a job, which is started by `POST /jobs/<name>` or a schedule.
    ///
    /// - Parameters:
    ///   - name: The name that starts the job.
    ///   - oneAtATime: Whether at most one run is active at a time, across all processes on the database.
    ///   - body: Returns the final message of the job's row, or nil to keep the last reported message.
    public func job(
        _ name: String, oneAtATime: Bool = false,
        _ body: @escaping @Sendable (JobRequest<JSONObject>) async throws -> String?
    ) {
        register(.job(Name(name)), isExclusive: oneAtATime) { call, details in
            let message = try await body(JobRequest(details, call.params))
            return CloudResult(value: message.map { .string($0) })
        }
    }

    /// Registers a job without a final message.
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
