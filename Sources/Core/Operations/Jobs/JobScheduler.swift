import JSON
import Logging
import ParseModel
import ParseStorage
import Rules

/// Runs jobs on their schedules.
///
/// Every process checks the schedules. The process that finds a due job updates the schedule's last run and inserts the
/// run in one transaction under a cross-process lock, so no scheduled run starts twice, even after a crash.
struct JobScheduler {
    let runner: JobRunner
    let clock: WallClock
    /// The interval between checks.
    let pause: Duration

    func run() async {
        // Invalid schedules already logged. A schedule is logged again only if it changes.
        var reported: Set<JSONValue> = []
        while !Task.isCancelled {
            do {
                try await startDueJobs(&reported)
            } catch {
                if !Task.isCancelled {
                    runner.logger.warning("can't read job schedules", metadata: ["error": "\(error)"])
                }
            }
            try? await Task.sleep(for: pause)
        }
    }

    private func startDueJobs(_ reported: inout Set<JSONValue>) async throws {
        let names = runner.jobs.jobNames
        guard !names.isEmpty else { return }
        let rows = try await runner.store.jobs.schedules(of: names)
        reported.formIntersection(rows.map { .object($0) })
        for row in rows where !Task.isCancelled {
            do {
                let schedule = try JobSchedule(row)
                try await runIfDue(schedule)
            } catch let error as JobSchedule.Unreadable {
                guard reported.insert(.object(row)).inserted else { continue }
                runner.logger.warning(
                    "job schedule skipped",
                    metadata: [
                        "schedule": "\(row["objectId"]?.stringValue ?? "")", "job": "\(row["jobName"]?.text ?? "")",
                        "reason": "\(error.reason)",
                    ])
            }
        }
    }

    private func runIfDue(_ schedule: JobSchedule) async throws {
        let now = clock.now
        guard schedule.isDue(at: now), let job = runner.jobs.job(named: schedule.jobName) else { return }
        let context = RequestContext(caller: .server, mountURL: "", now: now)
        do {
            _ = try await runner.start(job, schedule.jobName, schedule.parameters, source: "schedule", context) {
                try await runner.store.jobs.start(
                    $0, of: schedule.objectId, lastRun: schedule.lastRun, now: Double(now.milliseconds))
            }
        } catch is JobRunner.Refusal {
            // The job can't start now or another process has started it. A schedule still due is tried again.
            try await runner.sweep()
        }
    }
}
