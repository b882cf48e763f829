import Logging
import ParseStorage
import Postgres

/// What other processes tell, and what they keep silent about.
extension Backend {
    /// Follows what other processes and parse-server do to users and classes; returns when the client is shut down.
    public func followAnnouncements() async {
        let watch = SchemaWatch(
            catalog: catalog, period: configuration.databaseOptions.schemaCacheTtl, logger: logger)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.listen(watch) }
            group.addTask { await watch.run() }
            // Listening ends only with the client.
            await group.next()
            group.cancelAll()
        }
    }

    private func listen(_ watch: SchemaWatch) async {
        for await event in store.client.listen(channels: [Self.cacheChannel, "schema.change"]) {
            switch event {
            case .connected:
                watch.announcements(arrive: true)
                // Whatever was announced while nobody listened is lost: forget everything.
                sessions.forgetAll()
                await reloadSchema()
            case .notification("schema.change", let payload):
                if !payload.contains(catalog.senderId) { await reloadSchema() }
            case .notification(_, let payload):
                if payload.hasPrefix("user:") {
                    sessions.forget(user: String(payload.dropFirst(5)))
                } else {
                    sessions.forgetAll()
                }
            case .disconnected: watch.announcements(arrive: false)
            }
        }
    }

    private func reloadSchema() async {
        do {
            try await catalog.reload()
        } catch {
            logger.warning("the schema could not be read", metadata: ["error": "\(error)"])
        }
    }
}
