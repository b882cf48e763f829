import Platform
import ServerConfiguration

/// The environment of a Node process: without most server settings, unless the file configures the server itself.
package enum HostEnvironment {
    /// Server settings that aren't secret and that cloud code uses.
    private static let handedOn: Set<String> = [
        "PORT", "PARSE_SERVER_APPLICATION_ID", "PARSE_SERVER_APP_NAME", "PARSE_SERVER_JAVASCRIPT_KEY",
        "PARSE_SERVER_URL", "PARSE_PUBLIC_SERVER_URL", "PARSE_SERVER_MOUNT_PATH", "HTTPS_PROXY",
    ]

    /// Returns the changes to the server's environment, with nil for variables to remove. The code receives the
    /// required keys over the socket, so its child processes don't inherit them.
    ///
    /// - Parameter keepsAll: Whether to keep the server's settings, because the file configures the server itself.
    package static func changes(socket: String, secret: String, keepsAll: Bool = false) -> [String: String?] {
        var changes: [String: String?] = [
            "ROOST_CLOUD_SOCKET": socket, "ROOST_CLOUD_SECRET": secret, "ROOST_CLOUD_SERVER": "\(getpid())",
        ]
        if keepsAll { return changes }
        for name in OptionTable.variables.subtracting(handedOn) { changes.updateValue(nil, forKey: name) }
        return changes
    }
}
