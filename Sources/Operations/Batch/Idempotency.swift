import Foundation
import JSON
import ParseModel
import ParseStorage
import Rules

/// Requests that must not be served twice, by the id that the client gives them.
extension Transactions {
    /// Takes note of a request's id where the deployment wants it for the path.
    ///
    /// - Throws: 159 when the id was used before.
    public func claim(request id: String, path: String, _ context: RequestContext) async throws {
        let options = configuration.idempotencyOptions
        guard options.paths.contains(where: { Self.matches(path, $0) }) else { return }
        let end = ParseDate(milliseconds: context.now.milliseconds + Int64(options.ttl * 1000))
        let isNew = try await store.requests.claim(
            requestId: id, objectId: Identifiers.alphanumeric(10), until: end, now: context.now)
        guard isNew else { throw ParseError(ParseError.duplicateRequest, "Duplicate request") }
    }

    /// Patterns are anchored at the start of the path.
    private static func matches(_ path: String, _ pattern: String) -> Bool {
        path.range(of: pattern, options: [.regularExpression, .anchored]) != nil
    }
}
