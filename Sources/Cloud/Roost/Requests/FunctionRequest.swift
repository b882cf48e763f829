import CloudCode
import JSON

/// A function call.
public struct FunctionRequest<Params: Sendable>: CloudRequest {
    public var details: CallDetails
    /// The name of the function.
    public let functionName: String
    /// What the client sent.
    public let params: Params

    init(_ details: CallDetails, _ params: Params) {
        self.details = details
        self.params = params
        if case .function(let name) = details.call.target { functionName = name.text } else { functionName = "" }
    }
}

/// An answer of a function with a status or header fields of its own. The body stays `{"result":…}`.
public struct FunctionAnswer: Encodable, Sendable {
    let value: JSONValue?
    let status: Int
    let headers: [(name: String, value: String)]

    /// An answer with a value.
    ///
    /// - Throws: `EncodingError` for what JSON cannot say.
    public init(_ value: some Encodable, status: Int = 200, headers: [(name: String, value: String)] = []) throws {
        self.value = try ValueEncoder.encode(value)
        self.status = status
        self.headers = headers
    }

    /// An answer without a value.
    public init(status: Int, headers: [(name: String, value: String)] = []) {
        value = nil
        self.status = status
        self.headers = headers
    }

    public func encode(to encoder: any Encoder) throws { try (value ?? .null).encode(to: encoder) }
}

/// A job run.
public struct JobRequest<Params: Sendable>: CloudRequest {
    public var details: CallDetails
    /// The name of the job.
    public let jobName: String
    /// The id of its row in `_JobStatus`.
    public let jobId: String
    /// What it was started with.
    public let params: Params

    init(_ details: CallDetails, _ params: Params) {
        self.details = details
        self.params = params
        jobId = details.call.jobId ?? ""
        if case .job(let name) = details.call.target { jobName = name.text } else { jobName = "" }
    }

    /// Reports how far it is: the text becomes the message of its row. It returns at once; of several in short time the
    /// last is written.
    public func message(_ text: String) { details.call.message?(text) }
}
