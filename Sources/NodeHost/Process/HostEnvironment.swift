import Foundation
import ServerConfiguration

/// What the process of an app's file finds in its environment.
enum HostEnvironment {
    /// Options that are secrets: the code gets what it needs of them by the socket, and its children nothing.
    private static let secrets = [
        "masterKey", "maintenanceKey", "readOnlyMasterKey", "databaseURI", "readReplicaURI", "encryptionKey",
        "webhookKey", "emailAdapter", "liveQueryServerOptions",
    ]

    /// What changes of the server's environment; nil takes away.
    static func changes(socket: String, secret: String) -> [String: String?] {
        var changes: [String: String?] = [
            "ROOST_CLOUD_SOCKET": socket, "ROOST_CLOUD_SECRET": secret, "ROOST_CLOUD_SERVER": "\(getpid())",
        ]
        for name in secrets {
            if let variable = OptionTable.find(name)?.environment { changes.updateValue(nil, forKey: variable) }
        }
        return changes
    }
}
