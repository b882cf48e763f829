import JSON
import ParseModel
import ParseStorage
import Rules

extension Sessions {
    /// Returns the user of a session token, with the user's roles.
    ///
    /// - Throws: 209 if the token is unknown or expired, or its user doesn't exist.
    public func user(token: String, now: ParseDate) async throws -> SessionUser {
        let entry: SessionCache.Entry
        if let known = services.sessionCache.find(token, now: now.milliseconds) {
            services.meters.sessionCache.add(.hit)
            entry = known
        } else {
            services.meters.sessionCache.add(.miss)
            entry = try await backend.timed(.session, "_Session", nil) { try await loadSession(token, now: now) }
        }
        if let expiresAt = entry.expiresAt, expiresAt < now.milliseconds {
            throw ParseError(ParseError.invalidSessionToken, "Session token is expired.")
        }
        await extendIfDue(entry, now: now)
        return entry.user
    }

    private func loadSession(_ token: String, now: ParseDate) async throws -> SessionCache.Entry {
        let generation = services.sessionCache.generation
        guard let stored = try await store.sessions.session(token: token) else {
            throw ParseError(ParseError.invalidSessionToken, "Invalid session token")
        }
        let entry = SessionCache.Entry(
            user: SessionUser(
                id: stored.userId, sessionId: stored.id, token: token, roles: try await roles(of: stored.userId),
                isAnonymous: stored.providers == ["anonymous"] && !stored.hasPassword),
            expiresAt: stored.expiresAt, updatedAt: stored.updatedAt ?? now.milliseconds, loadedAt: now.milliseconds)
        services.sessionCache.insert(entry, generation: generation)
        return entry
    }

    /// Returns a user with roles as if logged in, without creating or caching a session or calling triggers.
    ///
    /// - Throws: 101 if the user doesn't exist.
    public func user(viewedAs id: String) async throws -> SessionUser {
        guard let user = try await store.sessions.unopened(userId: id) else { throw ParseError.notFound }
        return SessionUser(
            id: user.userId, sessionId: "", token: "", roles: try await roles(of: user.userId),
            isAnonymous: user.providers == ["anonymous"] && !user.hasPassword)
    }

    /// Returns a user's roles, including inherited ones, as `role:<name>`.
    func roles(of userId: String) async throws -> [Name] {
        try await store.sessions.roleNames(of: userId).map { Name("role:\($0)") }
    }

    /// With `extendSessionOnUse`, renews a session in the second half of its life, once even if many requests use it at
    /// the same time.
    private func extendIfDue(_ entry: SessionCache.Entry, now: ParseDate) async {
        let length = Int64(configuration.sessionLength) * 1000
        guard configuration.extendSessionOnUse, entry.expiresAt != nil,
            now.milliseconds - entry.updatedAt > length / 2,
            services.sessionCache.claimExtension(
                of: entry.user.token, changedBefore: now.milliseconds - length / 2, now: now.milliseconds)
        else { return }
        do {
            try await store.sessions.extend(
                entry.user.sessionId, until: ParseDate(milliseconds: now.milliseconds + length), now: now,
                unlessChangedSince: ParseDate(milliseconds: entry.updatedAt))
            services.sessionCache.invalidate(user: entry.user.id)
        } catch {
            logger.warning("can't extend a session", metadata: ["error": "\(error)"])
        }
    }
}
