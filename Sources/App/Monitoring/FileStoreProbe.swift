import FileStorage
import ServerConfiguration
import Synchronization
import Telemetry

/// Checks whether a remote file store responds.
///
/// The probe sends requests until the store has responded once. From then on, client requests show whether it responds,
/// and the probe sends requests only after failures, since each request costs money.
final class FileStoreProbe: ReadinessProbe {
    let probeName = "fileStore"
    let isNeeded = false
    private let storage: any FileStorage
    private let hasAnswered = Atomic(false)

    init(storage: any FileStorage) { self.storage = storage }

    /// Returns the probes of a file store: the store itself if it is a probe, a new probe for a remote store, or none.
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
