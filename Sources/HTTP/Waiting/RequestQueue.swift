import Tasks

/// Where and when requests are carried out, by the sizes of their bodies.
///
/// What is small is carried out at once, on the event loop of its connection. What is larger takes a place among others
/// of its size, and what would keep an event loop busy for long runs on threads of its own (``LongWork``): small bodies
/// never wait for large ones. What a body becomes on its way to the database, values and statements, takes ten times its
/// size: a wave of batches would fill the memory with work that the database cannot do any faster for being begun.
///
/// The sender whose requests took the least time comes first, and none has all slots. A request gives its slot back while
/// cloud code runs for it (``HeldPlace``).
package final class RequestQueue: Sendable {
    private let medium = Gate(capacity: mediumBytes, share: mediumBytes / 4 * 3, countsTime: true)
    private let large = Gate(capacity: largeBytes, share: largeBytes / 4 * 3, countsTime: true)
    private let huge = Gate(capacity: 3, share: 2, countsTime: true)
    private let giant = Gate(capacity: 2, share: 1, countsTime: true)

    package init() {}

    /// How many bytes of bodies are carried out at a time, and how many medium ones at most.
    private static let (mediumBytes, largeBytes) = (2 * 1024 * 1024, 2 * 1024 * 1024)
    private static let mostMedium = 32

    /// From how many bytes on a body takes a place.
    package static let mediumSize = 8 * 1024
    /// From how many bytes on reading a body takes longer than an event loop should.
    package static let longSize = HeavyWork.size
    /// From how many bytes on a body waits among others of its kind.
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
