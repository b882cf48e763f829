import Logging
import ParseModel
import ParseStorage
import ServerConfiguration

/// Periodically deletes expired sessions, request counts, trash and audit entries.
public struct Sweeps: Sendable, BackendPart {
    let backend: Backend

    /// The milliseconds that an expired session is retained, so that its client gets the error for expired sessions.
    private static let sessionGrace = 86_400_000
    private static let maxCounts = 1_000_000

    /// Runs the cleanup about once a minute, and for sessions and audit once an hour, until the task is cancelled.
    public func run() async {
        let countsRequests = configuration.rateLimitStore == .database
        var minute = 0
        // Lets startup work go first.
        guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
        repeat {
            if countsRequests {
                await attempt("request counts") { try await store.requests.sweepCounts(limit: Self.maxCounts) }
            }
            if configuration.hasTrash {
                await attempt("the trash") { try await backend.trash.sweep() }
            }
            if minute % 60 == 0 {
                let end = ParseDate(milliseconds: services.clock.now.milliseconds - Int64(Self.sessionGrace))
                await attempt("sessions") { try await store.sessions.remove(endedBefore: end) }
                if let days = configuration.auditDays {
                    await attempt("audit") { try await store.audit.sweep(days: days) }
                }
            }
            minute += 1
            // The random pause spreads processes that started together.
        } while (try? await Task.sleep(for: .milliseconds(Int.random(in: 50_000...70_000)))) != nil
    }

    private func attempt(_ what: String, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch is CancellationError {
            return
        } catch {
            // Not a warning, because the next run of this cleanup retries.
            logger.info("cleanup failed", metadata: ["what": "\(what)", "error": "\(error)"])
        }
    }
}
