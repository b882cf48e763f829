import CloudCode
import JSON

/// The request of a cloud function.
public struct FunctionRequest<Params: Sendable>: CloudRequest {
    public var details: CallDetails
    public let functionName: String
    /// The parameters sent by the client.
    public let params: Params

    init(_ details: CallDetails, _ params: Params) {
        self.details = details
        self.params = params
        if case .function(let name) = details.call.target { functionName = name.text } else { functionName = "" }
    }
}

/// A function result with an HTTP status and header fields. The body is `{"result":…}`, or empty for 204, 205 and 304.
public struct FunctionAnswer: Encodable, Sendable {
    let value: JSONValue?
    let status: Int
    let headers: [(name: String, value: String)]

    /// Creates a response with a result.
    ///
    /// - Throws: `EncodingError` if JSON can't represent the value.
    public init(_ value: some Encodable, status: Int = 200, headers: [(name: String, value: String)] = []) throws {
        self.value = try ValueEncoder.encode(value)
        self.status = status
        self.headers = headers
    }

    /// Creates a response without a result.
    public init(status: Int, headers: [(name: String, value: String)] = []) {
        value = nil
        self.status = status
        self.headers = headers
    }

    public func encode(to encoder: any Encoder) throws { try (value ?? .null).encode(to: encoder) }
}

/// The request of a job.
public struct JobRequest<Params: Sendable>: CloudRequest {
    public var details: CallDetails
    public let jobName: String
    /// The id of the run's row in `_JobStatus`.
    public let jobId: String
    /// The parameters that the job was started with.
    public let params: Params

    init(_ details: CallDetails, _ params: Params) {
        self.details = details
        self.params = params
        jobId = details.call.jobId ?? ""
        if case .job(let name) = details.call.target { jobName = name.text } else { jobName = "" }
    }

    /// Reports progress as the `message` of the job's row. Returns immediately; if called in quick succession, only the
    /// last message is written.
    public func message(_ text: String) { details.call.message?(text) }
}
