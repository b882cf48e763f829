public import JSON
public import Rules

/// The jobs that a deployment offers: work that administrators start and that runs on by itself.
///
/// What is offered may change while the server runs.
public protocol JobSet: Sendable {
    /// The names of all jobs.
    var jobNames: [Name] { get }

    /// The job of a name; nil when there is none.
    func job(named name: Name) -> Job?
}

/// A job.
public struct Job: Sendable {
    /// Whether it runs once at a time, of all processes on the database.
    public var isExclusive: Bool
    /// What it does. What it gives becomes the message of its row, unless that is nil or empty; so does the text of
    /// what it throws. When the server ends, the task is cancelled.
    public var run: @Sendable (JobCall) async throws -> String?

    /// Makes a job.
    public init(isExclusive: Bool = false, run: @escaping @Sendable (JobCall) async throws -> String?) {
        self.isExclusive = isExclusive
        self.run = run
    }
}

/// What a job gets.
public struct JobCall: Sendable {
    /// The name of the job.
    public let name: Name
    /// The id of its row in `_JobStatus`.
    public let id: String
    /// What it was started with, in the encoding of the wire.
    public let parameters: JSONObject
    /// The request that started it; for a schedule one of the server itself.
    public let context: RequestContext
    /// Reports how far it is: the text becomes the message of its row. Of several in short time the last is written.
    public let message: @Sendable (String) -> Void
}
