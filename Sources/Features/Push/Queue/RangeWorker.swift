import Logging
import ParseStorage
import ServerConfiguration
import Synchronization

/// Sends to the devices of the ranges that this process has leased, and settles their outcomes.
final class RangeWorker: Sendable {
    private let owner: String
    private let settings: Configuration.Push
    private let services: PushServices
    private let guardian = TokenGuard()
    private let verdicts = PushVerdicts()
    private let logger: Logger
    private let isStopping = Atomic(false)

    /// The maximum number of attempts to settle a range, one per second.
    private static let maxSettlings = 600
    /// The maximum number of attempts to settle a range while the server stops.
    private static let lastSettlings = 5

    /// - Parameter owner: Identifies this process as the owner of ranges.
    init(owner: String, settings: Configuration.Push, services: PushServices, logger: Logger) {
        self.owner = owner
        self.settings = settings
        self.services = services
        self.logger = logger
    }

    /// Limits the attempts to store the outcomes of a range to five, because the server is stopping.
    func stopSoon() { isStopping.store(true, ordering: .relaxed) }

    /// Sends to the devices of a range until each has an outcome or the task is cancelled.
    ///
    /// - Parameters:
    ///   - reportChange: Called when the row of the push has changed.
    ///   - reportWaiting: Called when all remaining devices start or stop waiting for a later attempt.
    /// - Returns: Whether the outcomes are stored in the database.
    func work(
        on range: PushRange, _ store: ObjectStore, reportChange: @escaping @Sendable () async -> Void,
        reportWaiting: @escaping @Sendable (_ isWaiting: Bool) -> Void
    ) async -> Bool {
        let isTrial = PushContent(body: range.body).isTrial
        let tally = RangeTally(range.devices, cleansTokens: settings.cleansTokens, isTrial: isTrial)
        let settle = { @Sendable (progress: PushProgress) in
            await self.settle(range, progress, tally, store, reportChange)
        }
        if settings.isAtMostOnce, range.isInterrupted {
            for row in range.devices {
                let device = PushDevice(objectId: row.objectId, token: row.token, type: row.type)
                tally.record(device, .failed("Interrupted"), isDead: false)
            }
        } else {
            let reports = Task {
                while (try? await Task.sleep(for: .seconds(1))) != nil {
                    if let progress = tally.consumeProgress(isEnd: false) { _ = await settle(progress) }
                }
            }
            let sender = RangeSender(
                services: services, guardian: guardian, verdicts: verdicts, isAtMostOnce: settings.isAtMostOnce,
                logger: logger)
            await sender.send(range, tally, reportWaiting: reportWaiting)
            reports.cancel()
            await reports.value
        }
        // Not cancelled when the server stops, so that sent notifications are recorded and not sent again.
        return await Task {
            for number in 1...Self.maxSettlings {
                guard let progress = tally.consumeProgress(isEnd: true) else { return true }
                if await settle(progress) { return true }
                if number >= Self.lastSettlings, self.isStopping.load(ordering: .relaxed) { return false }
                try? await Task.sleep(for: .seconds(1))
            }
            return false
        }.value
    }

    /// Settles a range's progress. Returns false if the database fails.
    private func settle(
        _ range: PushRange, _ progress: PushProgress, _ tally: RangeTally, _ store: ObjectStore,
        _ reportChange: @Sendable () async -> Void
    ) async -> Bool {
        do {
            try await store.pushes.settleRange(range, owner: owner, progress)
        } catch {
            tally.restore(progress)
            logger.warning("can't store push status", metadata: ["push": "\(range.pushId)", "error": "\(error)"])
            return false
        }
        await reportChange()
        let (sent, failed) = (progress.sent.values.reduce(0, +), progress.failed.values.reduce(0, +))
        logger.debug(
            "push batch sent",
            metadata: ["push": "\(range.pushId)", "sent": "\(sent)", "failed": "\(failed)"])
        return true
    }
}
