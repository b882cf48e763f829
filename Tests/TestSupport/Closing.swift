import NIOCore
import TestTools

extension Channel {
    /// Closes the channel after `body`.
    public func closing<R>(_ body: () async throws -> R) async throws -> R {
        let result = await Result.awaiting(body)
        try? await close()
        return try result.get()
    }
}
