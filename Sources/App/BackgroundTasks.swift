import Mail
import Operations
internal import Push

/// What the server does beside requests: it sends mails and pushes, looks after jobs, and notes what is slow.
struct BackgroundTasks {
    private let mails: Task<Void, Never>?
    private let pushes: Task<Void, Never>
    private let jobs: Task<Void, Never>
    private let advice: Task<Void, Never>

    /// Begins all of it.
    init(_ backend: Backend, mails: MailQueue?, pushes: PushQueue?) {
        self.mails = mails.map { queue in Task { await queue.run(backend.store) } }
        self.pushes = Task {
            await pushes?.run(backend.store) { [backend] in
                try backend.pushes.filter($0, now: backend.clock.now)
            } noteChange: { [backend] in
                await backend.pushes.noteChange(of: $0)
            }
        }
        jobs = Task {
            // Jobs of this process are looked after, and those that are due are started.
            async let runs: Void? = backend.jobRunner?.run()
            await backend.jobs.followSchedules()
            _ = await runs
        }
        advice = Task { await backend.indexAdvising.run() }
    }

    /// Ends all of it. What was sent is noted as sent, and jobs that end with the server are marked, before the database is
    /// left.
    func end() async {
        mails?.cancel()
        pushes.cancel()
        await mails?.value
        await pushes.value
        jobs.cancel()
        await jobs.value
        advice.cancel()
        await advice.value
    }

    /// Ends all of it without waiting.
    func cancel() {
        mails?.cancel()
        pushes.cancel()
        jobs.cancel()
        advice.cancel()
    }
}
