import Limits

/// Schedules requests by the size of their bodies.
///
/// Small requests run at once on the event loop of their connection. Larger ones need a slot for their size, and those
/// that would block an event loop run on separate threads (``LongWork``), so small bodies never wait for large ones.
/// The values and statements created from a body take ten times its size, so unlimited batches would fill the memory
/// without speeding up the database.
///
/// The sender that has used the least time goes first, and no sender gets all slots. A request releases its slot while
/// cloud code runs for it (``HeldPlace``).
package final class RequestQueue: Sendable {
    private let medium = Gate(capacity: mediumBytes, share: mediumBytes / 4 * 3, countsTime: true)
    private let large = Gate(capacity: largeBytes, share: largeBytes / 4 * 3, countsTime: true)
    private let huge = Gate(capacity: 3, share: 2, countsTime: true)
    private let giant = Gate(capacity: 2, share: 1, countsTime: true)

    package init() {}

    /// The maximum total body size in bytes of the medium requests in progress, and of the large ones.
    private static let (mediumBytes, largeBytes) = (2 * 1024 * 1024, 2 * 1024 * 1024)
    private static let maxMediumBodies = 32

    /// The size in bytes from which a body needs a slot.
    package static let mediumSize = 8 * 1024
    /// The size in bytes from which reading a body takes too long for an event loop.
    package static let longSize = HeavyWork.size
    /// The minimum size in bytes of a large body. Large, huge and giant bodies each have a queue of their own.
    package static let largeSize = 128 * 1024
    package static let hugeSize = 1024 * 1024
    package static let giantSize = 4 * 1024 * 1024

    /// Runs a request with a body of this size as soon as it gets a slot.
    ///
    /// - Throws: The error of `body`, or `CancellationError` if the caller left while waiting.
    package func run<R: Sendable>(bytes: Int, _ body: () async throws -> R) async throws -> R {
        let weight = max(bytes, Self.mediumBytes / Self.maxMediumBodies)
        return switch bytes {
        case ..<Self.mediumSize: try await body()
        case ..<Self.longSize: try await HeldPlace.run(in: medium, weight: weight, body)
        case ..<Self.largeSize: try await carryOut(in: medium, weight: weight, on: .medium, body)
        case ..<Self.hugeSize: try await carryOut(in: large, weight: bytes, on: .large, body)
        case ..<Self.giantSize: try await carryOut(in: huge, weight: 1, on: .huge, body)
        default: try await carryOut(in: giant, weight: 1, on: .giant, body)
        }
    }

    private func carryOut<R: Sendable>(
        in gate: Gate, weight: Int, on threads: LongWork, _ body: () async throws -> R
    ) async throws -> R {
        try await HeldPlace.run(in: gate, weight: weight) { try await threads.carryOut(body) }
    }
}
