import Synchronization

/// What is measured of calls of cloud code.
public final class CloudMeters: Sendable {
    /// What was called.
    public enum Kind: Int, Label { case function, trigger, job }
    /// Where it runs.
    public enum Host: Int, Label { case node, webhook, swift }
    /// The outcome.
    public enum Result: Int, Label { case ok, error, timeout, unreachable }

    private let durations = Kind.allCases.map { _ in Host.allCases.map { _ in NumberedHistograms(.requests) } }
    /// How often processes of Node were started again.
    public let nodeRestarts = Counter()

    /// Nothing counted yet.
    public init() {}

    /// Counts a call.
    public func add(_ kind: Kind, _ host: Host, _ result: Result, _ duration: Duration) {
        durations[kind.rawValue][host.rawValue].record(duration, of: result.rawValue)
    }

    func write(to text: inout Exposition) {
        text.begin("roost_cloud_call_duration_seconds", .histogram, "How long calls of cloud code took.")
        for kind in Kind.allCases {
            for host in Host.allCases {
                let counts = durations[kind.rawValue][host.rawValue].counts
                for result in Result.allCases {
                    guard let counts = counts[result.rawValue] else { continue }
                    text.add(["kind": kind.text, "host": host.text, "result": result.text], counts, .requests)
                }
            }
        }
        text.single(
            "roost_node_restarts_total", .counter, "Processes of Node that ended and were started again.",
            nodeRestarts.value)
    }
}

/// Job metrics.
public final class JobMeters: Sendable {
    /// How a run ended.
    public enum Result: Int, Label { case succeeded, failed }

    /// The runs of this process that are under way.
    public let running = Gauge()
    private let runs = Counters<Result>()
    /// Last success of each job, in seconds since 1970. Jobs are declared, so there are few.
    private let lastSuccess = Mutex<[String: Double]>([:])
    private static let mostNames = 200

    /// Nothing counted yet.
    public init() {}

    /// Counts a run that has ended.
    ///
    /// - Parameter time: The time, in seconds since 1970.
    public func add(_ result: Result, job: String, at time: Double) {
        runs.add(result)
        guard result == .succeeded else { return }
        lastSuccess.withLock { last in
            if last[job] != nil || last.count < Self.mostNames { last[job] = time }
        }
    }

    func write(to text: inout Exposition) {
        text.single("roost_jobs_running", .gauge, "Jobs that this process runs.", running.value)
        text.counters("roost_job_runs_total", "Runs of jobs that have ended.", by: "result", runs)
        let last = lastSuccess.withLock { $0 }
        guard !last.isEmpty else { return }
        text.begin("roost_job_last_success_timestamp_seconds", .gauge, "When a job of this process last succeeded.")
        for (job, time) in last.sorted(by: { $0.key < $1.key }) { text.add(["job_name": job], time) }
    }
}

/// Mail metrics.
public final class MailMeters: Sendable {
    /// What became of an attempt to send one.
    public enum Result: Int, Label { case sent, postponed, failed }

    /// The mails, by what became of attempts to send them.
    public let results = Counters<Result>()
    /// How many wait, as the queue last found.
    public let waiting = Gauge()
    /// For how many seconds the oldest of them has waited.
    public let oldest = Gauge()

    /// Nothing counted yet.
    public init() {}

    func write(to text: inout Exposition) {
        text.counters("roost_mails_total", "Attempts to send mails.", by: "result", results)
        text.single("roost_mail_queue_length", .gauge, "Mails that wait in the database.", waiting.value)
        text.single(
            "roost_mail_queue_oldest_seconds", .gauge, "For how long the oldest of them has waited.", oldest.value)
    }
}

/// What is measured of requests to buckets of files.
public final class FileStoreMeters: Sendable {
    /// What was asked for.
    public enum Operation: Int, Label { case get, head, list, put, delete }
    /// What was answered: that there is no such file is an answer like another.
    public enum Result: Int, Label { case ok, absent, refused, unavailable }

    private let durations = Operation.allCases.map { _ in NumberedHistograms(.requests) }

    /// Nothing counted yet.
    public init() {}

    /// Counts a request.
    ///
    /// - Parameter duration: The time until the answer began.
    public func add(_ operation: Operation, _ result: Result, _ duration: Duration) {
        durations[operation.rawValue].record(duration, of: result.rawValue)
    }

    func write(to text: inout Exposition) {
        text.begin("roost_file_store_request_duration_seconds", .histogram, "How long requests to buckets took.")
        for operation in Operation.allCases {
            let counts = durations[operation.rawValue].counts
            for result in Result.allCases {
                guard let counts = counts[result.rawValue] else { continue }
                text.add(["operation": operation.text, "result": result.text], counts, .requests)
            }
        }
    }
}
