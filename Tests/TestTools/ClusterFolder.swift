import Foundation

/// Folders of PostgreSQL clusters that tests start.
public enum ClusterFolder {
    /// Returns the path of a folder to create, in memory if `make test` found room there. The user `postgres` can enter its
    /// parent, and the path is short enough for sockets.
    public static func path(_ name: String) -> String {
        let parent = ProcessInfo.processInfo.environment["ROOST_TEST_CLUSTERS"] ?? "/tmp"
        return "\(parent)/roost-\(name)-\(UUID().uuidString.prefix(8).lowercased())"
    }
}
