import FileStorage
import ServerConfiguration
import Synchronization
import Telemetry

/// Checks whether a file store on another machine answers.
///
/// The probe asks until the store has answered once. From then on the requests of clients show whether it answers, and
/// the probe asks again only after failures, since each request costs money.
final class FileStoreProbe: ReadinessProbe {
    let probeName = "fileStore"
    let isNeeded = false
    private let storage: any FileStorage
    private let hasAnswered = Atomic(false)

    init(storage: any FileStorage) { self.storage = storage }

    /// What looks at the store of a server; nothing for one that is as near as the server itself, or its database.
    static func all(of storage: any FileStorage, _ configuration: Configuration) -> [any ReadinessProbe] {
        if let own = storage as? any ReadinessProbe { return [own] }
        let isRemote = ([configuration.fileStore] + configuration.fileStoreFallbacks).contains { store in
            switch store {
            case .s3, .google: true
            case .disk, .postgres: false
            }
        }
        return isRemote ? [FileStoreProbe(storage: storage)] : []
    }

    func probe() async throws -> [(name: String, value: Double)] {
        if storage.isOutOfReach || !hasAnswered.load(ordering: .relaxed) {
            _ = try await storage.exists(name: "roost-readiness")
            hasAnswered.store(true, ordering: .relaxed)
        }
        return []
    }
}
