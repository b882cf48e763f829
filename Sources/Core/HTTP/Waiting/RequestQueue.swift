import Tasks

/// Where and when requests are carried out, by the sizes of their bodies.
///
/// Small requests run at once on the event loop of their connection. Larger ones take a slot among those of their size,
/// and those that would block an event loop run on separate threads (``LongWork``), so small bodies never wait for
/// large ones. The values and statements made of a body take ten times its size, so an unbounded wave of batches would
/// fill the memory without speeding up the database.
///
/// The sender that has used the least time goes first, and no sender gets all slots. A request releases its slot while
/// cloud code runs for it (``HeldPlace``).
package final class RequestQueue: Sendable {
    private let medium = Gate(capacity: mediumBytes, share: mediumBytes / 4 * 3, countsTime: true)
    private let large = Gate(capacity: largeBytes, share: largeBytes / 4 * 3, countsTime: true)
    private let huge = Gate(capacity: 3, share: 2, countsTime: true)
    private let giant = Gate(capacity: 2, share: 1, countsTime: true)

    package init() {}

    /// The maximum bytes of medium and of large bodies at a time, and the maximum number of medium ones.
    private static let (mediumBytes, largeBytes) = (2 * 1024 * 1024, 2 * 1024 * 1024)
    private static let mostMedium = 32

    /// From how many bytes on a body takes a place.
    package static let mediumSize = 8 * 1024
    /// From how many bytes on reading a body takes longer than an event loop should.
    package static let longSize = HeavyWork.size
    /// The sizes from which bodies wait in separate queues.
    package static let largeSize = 128 * 1024
    package static let hugeSize = 1024 * 1024
    package static let giantSize = 4 * 1024 * 1024

    /// Carries out a request with a body of so many bytes.
    ///
    /// - Throws: What `body` throws; `CancellationError` when the caller left before it was its turn.
    package func take<R: Sendable>(bytes: Int, _ body: () async throws -> R) async throws -> R {
        let weight = max(bytes, Self.mediumBytes / Self.mostMedium)
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
