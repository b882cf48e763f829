import Tasks

/// Where and when requests are carried out, by the sizes of their bodies.
///
/// What is small is carried out at once, on the event loop of its connection. What is large takes a place among others
/// of its size, and what would keep an event loop busy for long runs on threads of its own (``LongWork``). What a body
/// becomes on its way to the database, values and statements, takes ten times its size: a wave of batches would fill
/// the memory with work that the database cannot do any faster for being begun.
///
/// One sender never has all slots. A request gives its slot back while cloud code runs for it (``HeldPlace``).
package final class RequestQueue: Sendable {
    private let large = Gate(capacity: largeBytes, share: largeBytes / 4 * 3)
    private let huge = Gate(capacity: 3, share: 2)

    package init() {}

    /// How many bytes of large bodies are carried out at a time, and how many such bodies at most.
    private static let largeBytes = 4 * 1024 * 1024
    private static let mostLarge = 32

    /// From how many bytes on a body takes a place.
    package static let largeSize = 8 * 1024
    /// From how many bytes on reading a body takes longer than an event loop should.
    package static let longSize = HeavyWork.size
    /// From how many bytes on a body waits among others of its kind, so that the merely large ones need not wait for
    /// it.
    package static let hugeSize = 1024 * 1024

    /// Carries out a request with a body of so many bytes.
    ///
    /// - Throws: What `body` throws; `CancellationError` when the caller left before it was its turn.
    package func take<R: Sendable>(bytes: Int, _ body: () async throws -> R) async throws -> R {
        guard bytes >= Self.largeSize else { return try await body() }
        let weight = max(bytes, Self.largeBytes / Self.mostLarge)
        if bytes < Self.longSize { return try await HeldPlace.run(in: large, weight: weight, body) }
        let isHuge = bytes >= Self.hugeSize
        return try await HeldPlace.run(in: isHuge ? huge : large, weight: isHuge ? 1 : weight) {
            try await (isHuge ? LongWork.huge : LongWork.large).carryOut(body)
        }
    }
}
