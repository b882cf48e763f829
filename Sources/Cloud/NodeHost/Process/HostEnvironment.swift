import ServerConfiguration

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What the process of an app's file finds in its environment: all but what configures the server.
package enum HostEnvironment {
    /// What configures the server and is no secret: code reads where the server is, and which app it serves.
    private static let handedOn: Set<String> = [
        "PORT", "PARSE_SERVER_APPLICATION_ID", "PARSE_SERVER_APP_NAME", "PARSE_SERVER_JAVASCRIPT_KEY",
        "PARSE_SERVER_URL", "PARSE_PUBLIC_SERVER_URL", "PARSE_SERVER_MOUNT_PATH", "HTTPS_PROXY",
    ]

    /// What changes of the server's environment; nil takes away. The code gets what it needs of keys by the socket, and its
    /// children nothing.
    ///
    /// - Parameter keepsAll: Whether the file configures the server itself, and so reads what does.
    package static func changes(socket: String, secret: String, keepsAll: Bool = false) -> [String: String?] {
        var changes: [String: String?] = [
            "ROOST_CLOUD_SOCKET": socket, "ROOST_CLOUD_SECRET": secret, "ROOST_CLOUD_SERVER": "\(getpid())",
        ]
        if keepsAll { return changes }
        for name in OptionTable.variables.subtracting(handedOn) { changes.updateValue(nil, forKey: name) }
        return changes
    }
}
