import JSON
import Operations
import ParseModel
import Rules

/// Checks the sessions of a live-query client.
extension LiveQueryConnection {
    private static let timeToConnect = Duration.seconds(30)
    /// The interval for checking sessions whose end was not announced.
    private static let sessionPause = Duration.seconds(60)

    /// Returns the context of a connection or subscription, with the current permissions of its session, if any.
    ///
    /// - Throws: `ParseError` 209 if the session is invalid or has ended, or another error if it can't be looked up.
    func context(_ token: String?, of client: Client?) async throws -> RequestContext {
        let now = server.backend.clock.now
        var caller = Caller(
            power: client?.isMaster == true ? .master : .client, installationId: client?.installationId)
        if caller.power == .client, let token {
            let user = try await server.backend.sessions.user(token: token, now: now)
            caller.user = user
            subscriptions.follow(user: Name(user.id), of: token)
        }
        return RequestContext(caller: caller, mountURL: mountURL, now: now, address: address)
    }

    /// Ends the subscriptions whose sessions have ended, and the connection if its own session has ended.
    func checkSessions() async throws {
        // A session that had ended before the client connected was already ignored.
        if let client, client.hasSession {
            do {
                _ = try await context(client.sessionToken, of: client)
            } catch let error as ParseError where error.code == ParseError.invalidSessionToken {
                try await endSession(error)
            }
        }
        for (id, subscription) in subscriptions.all where subscription.sessionToken != nil {
            do {
                _ = try await context(subscription.sessionToken, of: client)
            } catch let error as ParseError where error.code == ParseError.invalidSessionToken {
                try await end(id, subscription, error)
            }
        }
    }

    /// Checks the sessions at intervals. Returns if the client doesn't connect in time.
    func watchSessions() async throws {
        try await Task.sleep(for: Self.timeToConnect)
        while client != nil {
            subscriptions.forgetSessions()
            if !subscriptions.users.isEmpty { inbox.put(.userChanged) }
            try await Task.sleep(for: Self.sessionPause)
        }
    }
}
