import JSON
import Operations
import ParseModel
import Rules

/// The sessions with whose eyes a client of live queries sees.
extension LiveQueryConnection {
    /// How long a client has to connect.
    private static let timeToConnect = Duration.seconds(30)
    /// How often sessions are looked at, of which no news came.
    private static let sessionPause = Duration.seconds(60)

    /// Whose eyes a subscription sees with, now; throws `ParseError` 209 for a session that is none, or has ended.
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

    /// Ends the subscriptions whose sessions have ended; with the connection, when that was opened with such a session.
    func checkSessions() async throws {
        // A session that had ended before the client came is no news.
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

    /// Looks at the sessions again and again; returns when the client does not say in time who it is.
    func watchSessions() async throws {
        try await Task.sleep(for: Self.timeToConnect)
        while client != nil {
            subscriptions.forgetSessions()
            if !subscriptions.users.isEmpty { inbox.put(.userChanged) }
            try await Task.sleep(for: Self.sessionPause)
        }
    }
}
