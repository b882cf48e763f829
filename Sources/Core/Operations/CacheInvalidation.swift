public import JSON
import Logging
import ParseStorage
import Postgres
import ServerConfiguration
import Synchronization

/// Keeps cached users, roles, schemas, webhooks and stored options consistent across processes.
public struct CacheInvalidation: Sendable, BackendPart {
    let backend: Backend

    /// Listens for changes made by other processes and parse-server. Returns when the database client shuts down.
    public func follow() async {
        // Any number of notifications causes one schema reload, and user invalidations don't wait for it.
        let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (settings, setting) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let watch = SchemaWatch(
            catalog: catalog, period: configuration.databaseOptions.schemaCacheTtl, logger: logger
        ) {
            services.sessionCache.invalidateAll()
            setting.yield()
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await self.listen(watch, settingsChanged: { setting.yield() }, classesChanged: { change.yield() })
            }
            group.addTask { for await _ in settings { await self.reloadSettings() } }
            group.addTask { await watch.run() }
            group.addTask { for await _ in changes { await self.reloadSchema(watch) } }
            // Listening ends only when the database client is shut down.
            await group.next()
            group.cancelAll()
        }
    }

    private func listen(
        _ watch: SchemaWatch, settingsChanged: @Sendable () -> Void, classesChanged: @Sendable () -> Void
    ) async {
        for await event in store.client.listen(channels: [Self.cacheChannel, "schema.change"]) {
            switch event {
            case .connected:
                watch.announcements(arrive: true)
                // Notifications sent while this process wasn't listening are lost, so everything is invalidated.
                services.sessionCache.invalidateAll()
                classesChanged()
                settingsChanged()
                // In a separate task, so that incoming notifications don't wait.
                if let question = services.peerFolders.question { Task { await announce(question) } }
            case .notification("schema.change", let payload):
                if catalog.concerns(announcement: payload) { classesChanged() }
            case .notification(_, Self.settingsPayload): settingsChanged()
            case .notification(_, let payload):
                if PeerFolders.isAnnouncement(payload) {
                    checkFolder(in: payload)
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

    /// Sets the mark of this process's upload folder. The process announces it whenever its listener connects. Processes
    /// with a different folder reply, and both log a warning.
    public func begin(filesIn mark: String) { services.peerFolders.begin(mark) }

    private func checkFolder(in payload: String) {
        guard let other = services.peerFolders.other(in: payload) else { return }
        if let answer = other.answer { Task { await announce(answer) } }
        guard other.isNew else { return }
        logger.warning(
            """
            another process on this database stores uploads in a different folder, so each misses the other's files. Set \
            filesDirectory of all processes to one shared folder, or use another filesAdapter
            """)
    }

    private func reloadSchema(_ watch: SchemaWatch) async {
        do {
            try await catalog.reload()
        } catch {
            watch.missedChange()
            guard !Task.isCancelled else { return }
            logger.warning("schema could not be read", metadata: ["error": "\(error)"])
        }
    }

    /// The notification channel for cache invalidation between processes.
    static let cacheChannel = "roost.cache"

    /// Invalidates a user's cached sessions in all processes, or defers that until the transaction ends.
    func invalidate(user id: String) async {
        if let deferred = backend.deferred { return deferred.add(user: id) }
        services.sessionCache.invalidate(user: id)
        services.userChanges.notify(id)
        await announce("user:\(id)")
    }

    /// Invalidates all cached sessions in all processes after roles changed, or defers that until the transaction ends.
    func invalidateRoles() async {
        if let deferred = backend.deferred { return deferred.addRoles() }
        services.sessionCache.invalidateAll()
        await announce("roles")
    }

    /// Reloads the declared webhooks and the stored options in all processes.
    func settingsChanged() async {
        await reloadSettings()
        await announce(Self.settingsPayload)
    }

    private func reloadSettings() async {
        await services.hookChanges.notify()
        do {
            try await backend.options.load()
        } catch {
            guard !Task.isCancelled else { return }
            logger.warning("can't read the stored options", metadata: ["error": "\(error)"])
        }
    }

    /// The notification payload for changed webhooks and options.
    static let settingsPayload = "hooks"

    private func announce(_ payload: String) async {
        do {
            try await store.client.notify(channel: Self.cacheChannel, payloads: [payload])
        } catch let error as PostgresError where error.kind == .shutdown {
        } catch {
            // Other processes serve stale entries until these expire.
            logger.warning("other processes not notified of a change", metadata: ["error": "\(error)"])
        }
    }
}

/// Notifies followers when a user's fields or sessions change, in this or another process.
public final class UserChanges: Sendable {
    private struct Follower: Sendable {
        let record: @Sendable (Name) -> Void
        let settle: @Sendable (Name) async -> Void
    }

    private let followers = Mutex<[Follower]>([])

    /// Adds a follower of user changes.
    ///
    /// - Parameters:
    ///   - record: Records the id of the changed user. The change waits for it, so it must return quickly.
    ///   - settle: Waits until the recorded changes of a user have taken effect, or until a short timeout.
    public func follow(_ record: @escaping @Sendable (Name) -> Void, settle: @escaping @Sendable (Name) async -> Void) {
        followers.withLock { $0.append(Follower(record: record, settle: settle)) }
    }

    func notify(_ userId: String) {
        for follower in followers.withLock({ $0 }) { follower.record(Name(userId)) }
    }

    /// Waits until the recorded changes of a user have taken effect, or until a short timeout.
    func settle(_ userId: String) async {
        for follower in followers.withLock({ $0 }) { await follower.settle(Name(userId)) }
    }
}

/// Notifies followers when the declared webhooks or stored options change, in this or another process.
public final class HookChanges: Sendable {
    private let followers = Mutex<[@Sendable () async -> Void]>([])

    public func follow(_ follower: @escaping @Sendable () async -> Void) {
        followers.withLock { $0.append(follower) }
    }

    func notify() async {
        for follower in followers.withLock({ $0 }) { await follower() }
    }
}
