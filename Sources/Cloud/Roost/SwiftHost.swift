import CloudCode
import Logging
import ParseModel
import Synchronization
import Tracing

/// Runs the cloud code registered in a ``Cloud`` inside the server process.
package final class SwiftHost: CloudHost {
    private let entries: [CloudTarget: Cloud.Entry]
    private let duplicates: [CloudTarget]
    private let timeLimit: Duration?
    private let logger: Logger
    private let services = Mutex<CloudServices?>(nil)

    package init(_ cloud: Cloud, logger: Logger) {
        timeLimit = cloud.timeLimit
        (entries, duplicates) = cloud.seal()
        self.logger = logger
    }

    package var kind: CloudHostKind { .swift }

    package func start(_ services: CloudServices) async throws {
        self.services.withLock { $0 = services }
        for target in duplicates {
            logger.warning("cloud code: \(target) is registered twice, the last registration wins")
        }
        services.offer(entries.values.map(\.registration))
    }

    package func timeLimit(of target: CloudTarget) -> Duration? {
        if case .job = target { nil } else { timeLimit }
    }

    package func call(_ call: CloudCall) async throws -> CloudResult {
        guard let entry = entries[call.target] else { return CloudResult() }
        do {
            let details = CallDetails(call, services.withLock { $0 }, logger)
            guard let span = call.span else { return try await entry.handler(call, details) }
            return try await InstrumentationContext.$current.withValue(span.context) {
                try await entry.handler(call, details)
            }
        } catch let error where error is ParseError || error is CancellationError {
            throw error
        } catch {
            throw CloudFailure("\(error)")
        }
    }
}
