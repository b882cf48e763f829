import Synchronization

/// Durations of cloud-code calls.
public final class CloudMeters: Sendable {
    public enum Kind: Int, Label { case function, trigger, job }
    public enum Host: Int, Label { case node, webhook, swift }
    public enum Result: Int, Label { case ok, error, timeout, unreachable }

    private let durations = Kind.allCases.map { _ in Host.allCases.map { _ in NumberedHistograms(.requests) } }
    /// The number of times that Node.js processes were restarted.
    public let nodeRestarts = Counter()

    public init() {}

    public func add(_ kind: Kind, _ host: Host, _ result: Result, _ duration: Duration) {
        durations[kind.rawValue][host.rawValue].record(duration, of: result.rawValue)
    }

    func write(to text: inout Exposition) {
        text.begin("roost_cloud_call_duration_seconds", .histogram, "Cloud code call duration.")
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
            "roost_node_restarts_total", .counter, "Node.js processes that were restarted.",
            nodeRestarts.value)
    }
}

public final class JobMeters: Sendable {
    /// The outcome of a job run.
    public enum Result: Int, Label { case succeeded, failed }

    /// The number of jobs running in this process.
    public let running = Gauge()
    private let runs = Counters<Result>()
    /// The time of each job's last success in seconds since 1970. Few entries, because jobs are declared.
    private let lastSuccess = Mutex<[String: Double]>([:])
    private static let maxNames = 200

    /// Counts a run that has ended.
    ///
    /// - Parameter time: The end of the run, in seconds since 1970.
    public func add(_ result: Result, job: String, at time: Double) {
        runs.add(result)
        guard result == .succeeded else { return }
        lastSuccess.withLock { last in
            if last[job] != nil || last.count < Self.maxNames { last[job] = time }
        }
    }

    func write(to text: inout Exposition) {
        text.single("roost_jobs_running", .gauge, "Jobs running in this process.", running.value)
        text.counters("roost_job_runs_total", "Finished job runs.", by: "result", runs)
        let last = lastSuccess.withLock { $0 }
        guard !last.isEmpty else { return }
        text.begin("roost_job_last_success_timestamp_seconds", .gauge, "Time of the last successful run.")
        for (job, time) in last.sorted(by: { $0.key < $1.key }) { text.add(["job_name": job], time) }
    }
}

public final class MailMeters: Sendable {
    /// The outcome of an attempt to send an email.
    public enum Result: Int, Label { case sent, postponed, failed }

    /// Attempts to send emails, by outcome.
    public let results = Counters<Result>()
    /// The number of queued emails when the queue was last checked.
    public let waiting = Gauge()
    /// The age of the oldest queued email in seconds.
    public let oldest = Gauge()

    public init() {}

    func write(to text: inout Exposition) {
        text.counters("roost_mails_total", "Attempts to send emails.", by: "result", results)
        text.single("roost_mail_queue_length", .gauge, "Emails queued in the database.", waiting.value)
        text.single(
            "roost_mail_queue_oldest_seconds", .gauge, "Age of the oldest queued email.", oldest.value)
    }
}

/// Durations of requests to file buckets.
public final class FileStoreMeters: Sendable {
    public enum Operation: Int, Label { case get, head, list, put, delete }
    /// The outcome of a request. A missing file is `absent`, which isn't an error.
    public enum Result: Int, Label { case ok, absent, refused, unavailable }

    private let durations = Operation.allCases.map { _ in NumberedHistograms(.requests) }

    public init() {}

    /// Counts a request.
    ///
    /// - Parameter duration: The time until the response began or the request failed.
    public func add(_ operation: Operation, _ result: Result, _ duration: Duration) {
        durations[operation.rawValue].record(duration, of: result.rawValue)
    }

    func write(to text: inout Exposition) {
        text.begin("roost_file_store_request_duration_seconds", .histogram, "Bucket request duration.")
        for operation in Operation.allCases {
            let counts = durations[operation.rawValue].counts
            for result in Result.allCases {
                guard let counts = counts[result.rawValue] else { continue }
                text.add(["operation": operation.text, "result": result.text], counts, .requests)
            }
        }
    }
}
