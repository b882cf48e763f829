public import JSON
import Logging
import ParseStorage
import Postgres
import ServerConfiguration
import Synchronization

/// What other processes announce, and what they keep silent about.
public struct CacheInvalidation: Sendable, BackendPart {
    let backend: Backend

    /// Follows what other processes and parse-server do to users and classes; returns when the client is shut down.
    public func follow() async {
        let watch = SchemaWatch(
            catalog: catalog, sessions: services.sessionCache, period: configuration.databaseOptions.schemaCacheTtl,
            logger: logger)
        // Classes are read once for however many announcements came meanwhile, and users do not wait for it.
        let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (hooks, hook) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await self.listen(watch, hooksChanged: { hook.yield() }, classesChanged: { change.yield() })
            }
            group.addTask { for await _ in hooks { await self.services.hookChanges.notify() } }
            group.addTask { await watch.run() }
            group.addTask { for await _ in changes { await self.reloadSchema(watch) } }
            // Listening ends only with the client.
            await group.next()
            group.cancelAll()
        }
    }

    private func listen(
        _ watch: SchemaWatch, hooksChanged: @Sendable () -> Void, classesChanged: @Sendable () -> Void
    ) async {
        for await event in store.client.listen(channels: [Self.cacheChannel, "schema.change"]) {
            switch event {
            case .connected:
                watch.announcements(arrive: true)
                // Whatever was announced while this process did not listen is lost: forget everything.
                services.sessionCache.invalidateAll()
                classesChanged()
                hooksChanged()
                // In a task of its own: what others announce meanwhile is not kept waiting.
                if let question = services.peerFolders.question { Task { await announce(question) } }
            case .notification("schema.change", let payload):
                if catalog.concerns(announcement: payload) { classesChanged() }
            case .notification(_, Self.hooksPayload): hooksChanged()
            case .notification(_, let payload):
                if PeerFolders.isAnnouncement(payload) {
                    note(folder: payload)
                } else if let id = payload.dropping(prefix: "user:") {
                    services.sessionCache.invalidate(user: id)
                    services.userChanges.notify(id)
                } else {
                    services.sessionCache.invalidateAll()
                }
            case .disconnected: watch.announcements(arrive: false)
            }
        }
    }

    /// Has the folder of uploaded files known to other processes, which say so when theirs is another.
    public func begin(filesIn mark: String) { services.peerFolders.begin(mark) }

    private func note(folder payload: String) {
        guard let other = services.peerFolders.other(in: payload) else { return }
        if let answer = other.answer { Task { await announce(answer) } }
        guard other.isNew else { return }
        logger.warning(
            """
            another process on this database stores uploads in another folder, so each misses the other's files. Point \
            filesDirectory of all processes at one folder, or use another filesAdapter
            """)
    }

    private func reloadSchema(_ watch: SchemaWatch) async {
        do {
            try await catalog.reload()
        } catch {
            watch.missedChange()
            // The server is stopping.
            guard !Task.isCancelled else { return }
            logger.warning("schema could not be read", metadata: ["error": "\(error)"])
        }
    }

    /// The channel by which processes invalidate what others have cached of users.
    static let cacheChannel = "roost.cache"

    /// Forgets what is remembered of a user, here and in every other process.
    func invalidate(user id: String) async {
        if let deferred = backend.deferred { return deferred.add(user: id) }
        services.sessionCache.invalidate(user: id)
        services.userChanges.notify(id)
        await announce("user:\(id)")
    }

    /// Forgets everybody's roles, here and in every other process.
    func invalidateRoles() async {
        if let deferred = backend.deferred { return deferred.addRoles() }
        services.sessionCache.invalidateAll()
        await announce("roles")
    }

    /// Has the declared webhooks read anew, here and in every other process.
    func hooksChanged() async {
        await services.hookChanges.notify()
        await announce(Self.hooksPayload)
    }

    /// What processes announce when the declared webhooks changed.
    static let hooksPayload = "hooks"

    private func announce(_ payload: String) async {
        do {
            try await store.client.notify(channel: Self.cacheChannel, payload: payload)
        } catch let error as PostgresError where error.kind == .shutdown {
            // The server is stopping.
        } catch {
            // Others learn of it when their entries grow too old.
            logger.warning("other processes not notified of a change", metadata: ["error": "\(error)"])
        }
    }
}

/// Who wants to know that something about a user changed, in this process or another: fields, roles, sessions that ended.
public final class UserChanges: Sendable {
    private struct Follower: Sendable {
        let note: @Sendable (Name) -> Void
        let settle: @Sendable (Name) async -> Void
    }

    private let followers = Mutex<[Follower]>([])

    /// Has something called after each change.
    ///
    /// - Parameters:
    ///   - note: Is given the id of the user. It only takes note: the change waits for it.
    ///   - settle: Returns when what was noted of a user had its effect, or after a short time.
    public func follow(_ note: @escaping @Sendable (Name) -> Void, settle: @escaping @Sendable (Name) async -> Void) {
        followers.withLock { $0.append(Follower(note: note, settle: settle)) }
    }

    func notify(_ userId: String) {
        for follower in followers.withLock({ $0 }) { follower.note(Name(userId)) }
    }

    /// Waits until what was noted of a user had its effect, for a short time at most.
    func settle(_ userId: String) async {
        for follower in followers.withLock({ $0 }) { await follower.settle(Name(userId)) }
    }
}

/// Who wants to know that the declared webhooks changed, in this process or another.
public final class HookChanges: Sendable {
    private let followers = Mutex<[@Sendable () async -> Void]>([])

    /// Has something called after each change.
    public func follow(_ follower: @escaping @Sendable () async -> Void) {
        followers.withLock { $0.append(follower) }
    }

    func notify() async {
        for follower in followers.withLock({ $0 }) { await follower() }
    }
}
