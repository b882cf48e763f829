import Logging
import ParseStorage
import Postgres

/// What other processes tell, and what they keep silent about.
extension Backend {
    /// Follows what other processes and parse-server do to users and classes; returns when the client is shut down.
    public func followInvalidations() async {
        let watch = SchemaWatch(
            catalog: catalog, sessions: sessions, period: configuration.databaseOptions.schemaCacheTtl, logger: logger)
        // Classes are read once for however many announcements came meanwhile, and users do not wait for it.
        let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (hooks, hook) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await self.listen(watch, hooksChanged: { hook.yield() }, classesChanged: { change.yield() })
            }
            group.addTask { for await _ in hooks { await self.hookChanges.tell() } }
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
                // Whatever was announced while nobody listened is lost: forget everything.
                sessions.invalidateAll()
                classesChanged()
                hooksChanged()
            case .notification("schema.change", let payload):
                if !payload.contains(catalog.senderId) { classesChanged() }
            case .notification(_, Self.hooksPayload): hooksChanged()
            case .notification(_, let payload):
                if let id = payload.dropping(prefix: "user:") {
                    sessions.invalidate(user: id)
                    userChanges.tell(id)
                } else {
                    sessions.invalidateAll()
                }
            case .disconnected: watch.announcements(arrive: false)
            }
        }
    }

    private func reloadSchema(_ watch: SchemaWatch) async {
        do {
            try await catalog.reload()
        } catch {
            watch.missedChange()
            logger.warning("the schema could not be read", metadata: ["error": "\(error)"])
        }
    }
}
