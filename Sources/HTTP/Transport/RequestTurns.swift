import Tasks

/// Where and when requests are carried out, by the sizes of their bodies.
///
/// What is small is carried out at once, on the event loop of its connection. What is large takes a place among others of
/// its size, and what would keep an event loop busy for long runs on threads of its own (``LongWork``).
package final class RequestTurns: Sendable {
    private let large = AdmissionLimiter(places: 32)
    private let huge = AdmissionLimiter(places: 2)

    package init() {}

    /// From how many bytes on reading a body takes longer than an event loop should.
    package static let longSize = HeavyWork.size
    /// From how many bytes on a body waits among others of its kind, so that the merely large ones need not wait for it.
    package static let hugeSize = 1024 * 1024

    /// Carries out a request with a body of so many bytes.
    package func take<R: Sendable>(bytes: Int, _ body: () async throws -> R) async rethrows -> R {
        guard bytes >= AdmissionLimiter.size else { return try await body() }
        if bytes < Self.longSize { return try await large.inTurn(bytes: bytes, body) }
        let isHuge = bytes >= Self.hugeSize
        return try await (isHuge ? huge : large).inTurn(bytes: bytes) {
            try await (isHuge ? LongWork.huge : LongWork.large).carryOut(body)
        }
    }
}
