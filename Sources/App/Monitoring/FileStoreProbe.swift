import FileStorage
import ServerConfiguration
import Telemetry

/// Looks whether a store of files answers that is on another machine.
///
/// As long as it does, the requests of clients find out by themselves, and it is asked for nothing besides: each request
/// costs money. When it does not, it is asked until it does.
struct FileStoreProbe: ReadinessProbe {
    let probeName = "fileStore"
    let isNeeded = false
    let storage: any FileStorage

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
        if storage.isOutOfReach { _ = try await storage.exists(name: "roost-readiness") }
        return []
    }
}
