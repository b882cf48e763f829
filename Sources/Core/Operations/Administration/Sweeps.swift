import JSON
import Logging
import ParseModel
import ParseStorage
import ServerConfiguration

/// What is over and would pile up: sessions that cannot be used any more, and counts of requests.
public struct Sweeps: Sendable, BackendPart {
    let backend: Backend

    /// Milliseconds that a session stays after its end, so that its client learns of it.
    private static let sessionGrace = 86_400_000
    /// Maximum request counts kept in the database.
    private static let mostCounts = 1_000_000

    /// Removes what is over, soon after the start and from then on, until the task is cancelled.
    public func run() async {
        let countsRequests = configuration.rateLimitStore == .database
        var minute = 0
        // What the start waits for comes first.
        guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
        repeat {
            if countsRequests {
                await attempt("request counts") { try await store.requests.sweepCounts(most: Self.mostCounts) }
            }
            if configuration.console.reach != .closed {
                await attempt("the trash") { try await backend.trash.sweep() }
            }
            if minute % 60 == 0 {
                let end = ParseDate(milliseconds: services.clock.now.milliseconds - Int64(Self.sessionGrace))
                await attempt("sessions") { try await store.sessions.remove(endedBefore: end) }
                if configuration.console.reach != .closed {
                    await attempt("audit") { try await store.audit.sweep(days: configuration.console.auditDays) }
                }
            }
            minute += 1
            // Processes that started together do not go on together.
        } while (try? await Task.sleep(for: .milliseconds(Int.random(in: 50_000...70_000)))) != nil
    }

    private func attempt(_ what: String, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch is CancellationError {
            return
        } catch {
            // The next minute brings another attempt.
            logger.info("cleanup failed", metadata: ["what": "\(what)", "error": "\(error)"])
        }
    }
}
