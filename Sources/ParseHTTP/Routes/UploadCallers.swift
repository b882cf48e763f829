import Backend
import JSON
import ParseModel
import Rules

/// Who uploads a file, as the file routes ask.
extension ParseRoutes: CallerResolver {
    /// Looks up the session of an upload.
    ///
    /// - Throws: 209 for a token that is not of a session.
    public func uploader(for envelope: Envelope) async throws -> Uploader {
        let context = try await context(of: envelope)
        switch context.caller.power {
        case .master: return .master
        case .maintenance: return .maintenance
        case .readOnlyMaster: return .readOnlyMaster
        case .client: break
        }
        guard let user = context.caller.user else { return .publicCaller }
        return user.isAnonymous ? .anonymousUser : .user
    }

    /// Refuses words in a file's metadata or tags that the deployment does not want.
    ///
    /// - Throws: 105.
    public func check(fileDetails details: JSONObject) throws {
        try configuration.requestKeywordDenylist.check(details)
    }
}
